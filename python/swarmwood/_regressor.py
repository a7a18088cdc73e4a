"""Regressors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from swarmwood import _core
from swarmwood._estimator import Estimator


class Regressor(RegressorMixin, Estimator):
    """Base class of the regressors."""

    def _encode_training(self, X: Any, y: Any, weight: Any) -> tuple[NDArray[Any], Any, None]:
        return self._encode_validation(X, y), weight, None

    def _encode_validation(self, X: Any, y: Any) -> NDArray[Any]:
        y = self._validate_y(X, y)
        return y if y.dtype.kind in "fiu" else y.astype(np.float64)

    def _set_model(self, model: _core.Model) -> None:
        if model.classes:
            raise ValueError("the model is a classification model; load it into a classifier")
        super()._set_model(model)

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
        ndarray of shape (n_samples,)
            With `pred_contribs`: of shape (n_samples, n_features + 1).
        """
        if pred_contribs:
            return self._contributions(X)
        return self._predict(X, "numbers")[:, 0]

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
            yield values[:, 0]
