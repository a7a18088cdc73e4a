"""Regressors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import check_is_fitted

from swarmwood import _core
from swarmwood._estimator import Estimator


class Regressor(RegressorMixin, Estimator):
    """Base class of the regressors.

    They predict several columns where `y` has several: by one run per column, all with the same
    parameters, so that sizes such as `total_leaves` are per column.
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _encode_training(self, X: Any, y: Any, weight: Any) -> tuple[NDArray[Any], Any, None]:
        encoded = self._encoded(X, y)
        self.n_outputs_ = 1 if encoded.ndim == 1 else encoded.shape[1]
        self._target_names = _names_of(y, self.n_outputs_)
        return encoded, weight, None

    def _encode_validation(self, X: Any, y: Any) -> NDArray[Any]:
        y = self._encoded(X, y)
        columns = 1 if y.ndim == 1 else y.shape[1]
        if columns != self.n_outputs_:
            raise ValueError(
                f"y of validation data has {columns} columns, must have the {self.n_outputs_} of y"
            )
        return y

    def _encoded(self, X: Any, y: Any) -> NDArray[Any]:
        array = y if y is None or hasattr(y, "shape") else np.asarray(y)
        is_wide = _is_wide(getattr(array, "shape", ()))
        y = self._validate_columns(X, array) if is_wide else self._validate_y(X, y)
        return y if y.dtype.kind in "fiu" else y.astype(np.float64)

    def _validate_columns(self, X: Any, y: Any) -> NDArray[Any]:
        """Validate several columns as scikit-learn does."""
        y = check_array(
            y, dtype="numeric", estimator=type(self).__name__, input_name="y", copy=False
        )
        check_consistent_length(X, y)
        return np.asarray(y)

    def _target_columns(self, y: NDArray[Any]) -> list[str] | None:
        return None if y.ndim == 1 else self._target_names

    def _set_model(self, model: _core.Model) -> None:
        if model.classes:
            raise ValueError("the model is a classification model; load it into a classifier")
        super()._set_model(model)
        self.n_outputs_ = model.outputs
        self._target_names = model.columns

    @property
    def target_names_(self) -> list[str]:
        """Names of the predicted columns: those of a data frame, or y0, y1, ..."""
        check_is_fitted(self, "_model")
        return self._model.columns or [self._model.target]

    def predict(self, X: Any, *, pred_contribs: bool = False) -> NDArray[np.float64]:
        """Predict target values, or the contributions of the features to the raw score.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Samples.
        pred_contribs : bool, default=False
            Whether to return contributions (TreeSHAP): one per feature, then the expected score.
            They sum to the raw score.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            With `pred_contribs`: of shape (n_samples, n_features + 1), or of shape (n_samples,
            n_outputs, n_features + 1).
        """
        if pred_contribs:
            return self._contributions(X)
        values = self._predict(X, "numbers")
        return values if self._model.columns else values[:, 0]

    def predict_interval(self, X: Any) -> NDArray[np.float64]:
        """Predict intervals that contain the share `interval` of the targets.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Lower and upper ends.
        """
        self._check_interval("predict_interval")
        return self._predict(X, "intervals")

    def staged_predict(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Predict target values after each boosting round."""
        for values in self._staged_predictions(X, "numbers"):
            yield values if self._model.columns else values[:, 0]


def _is_wide(shape: tuple[int, ...]) -> bool:
    """Whether targets of this shape have several columns."""
    return len(shape) == 2 and shape[1] > 1


def _names_of(y: Any, outputs: int) -> list[str]:
    """Return the names of the columns of a data frame, or y0, y1, ..."""
    # The columns of a table of pyarrow are its data.
    names = getattr(y, "column_names", getattr(y, "columns", None))
    names = [f"y{at}" for at in range(outputs)] if names is None else [str(one) for one in names]
    if len(set(names)) < len(names):
        raise ValueError(f"the columns of y must have different names, got {names}")
    return names
