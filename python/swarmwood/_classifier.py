"""Classifiers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from swarmwood import _core
from swarmwood._errors import parameter_error
from swarmwood._estimator import Estimator
from swarmwood._table import category_text


class Classifier(ClassifierMixin, Estimator):
    """Base class of the classifiers."""

    class_weight: Any
    scale_pos_weight: float

    def _encode_training(
        self, X: Any, y: Any, weight: Any
    ) -> tuple[NDArray[np.int32], Any, list[str]]:
        y = self._validate_y(X, y)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        present = np.unique(codes if weight is None else codes[weight > 0])
        if len(present) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least two classes; the data contains "
                "only one class: "
                f"{classes[present[0]]!r}"
            )
        self.classes_ = classes
        if self.class_weight is not None:
            balance = compute_sample_weight(self.class_weight, y)
            weight = balance if weight is None else weight * balance
        if self.scale_pos_weight != 1.0:
            positive = self._positive_weight(codes)
            weight = positive if weight is None else weight * positive
        return codes.astype(np.int32), weight, [category_text(name) for name in classes]

    def _positive_weight(self, codes: NDArray[Any]) -> NDArray[np.float64]:
        """Return the factors of `scale_pos_weight`."""
        factor = self.scale_pos_weight
        if not isinstance(factor, (int, float, np.number)) or not 0 < factor < np.inf:
            raise parameter_error("scale_pos_weight", f"is {factor!r}, must be a number above 0")
        if len(self.classes_) != 2:
            raise parameter_error(
                "scale_pos_weight",
                f"is for two classes, but y has {len(self.classes_)}; use class_weight",
            )
        return np.where(codes == 1, float(factor), 1.0)

    def _encode_validation(self, X: Any, y: Any) -> NDArray[np.int32]:
        y = self._validate_y(X, y)
        codes = np.searchsorted(self.classes_, y)
        codes = np.minimum(codes, len(self.classes_) - 1)
        unseen = self.classes_[codes] != y
        if np.any(unseen):
            raise ValueError(
                f"y contains previously unseen labels: {sorted(set(y[unseen].tolist()))}"
            )
        return codes.astype(np.int32)

    def _set_model(self, model: _core.Model) -> None:
        if not model.classes:
            raise ValueError("the model is a regression model; load it into a regressor")
        super()._set_model(model)
        self.classes_ = _class_labels(model.classes)

    def predict(self, X: Any, *, pred_contribs: bool = False) -> NDArray[Any]:
        """Predict class labels, or the contributions of the features to the raw scores.

        Of two classes the second one is predicted where its probability is greater than
        `threshold_`.

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
            With `pred_contribs`: of shape (n_samples, n_features + 1) for two classes, else
            (n_samples, n_classes, n_features + 1).
        """
        if pred_contribs:
            return self._contributions(X)
        codes = self._predict(X, "classes")[:, 0]
        return self.classes_[codes]

    def predict_set(self, X: Any) -> NDArray[np.bool_]:
        """Predict sets of classes that contain the class of the share `interval` of the rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Whether each class is in the set, in the order of `classes_`.
        """
        self._check_interval("predict_set")
        return self._predict(X, "sets").astype(np.bool_)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict class probabilities, in the order of `classes_`."""
        return self._predict(X, "probabilities")

    @property
    def threshold_(self) -> float | None:
        """The decision threshold of two classes; None for more classes."""
        check_is_fitted(self, "_model")
        if len(self.classes_) != 2:
            return None
        return 0.5 if self._model.threshold is None else self._model.threshold

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Predict class labels after each boosting round."""
        for codes in self._staged_predictions(X, "classes"):
            yield self.classes_[codes[:, 0]]

    def staged_predict_proba(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Predict class probabilities after each boosting round."""
        yield from self._staged_predictions(X, "probabilities")


def _class_labels(names: list[str]) -> NDArray[Any]:
    """Return the class labels of a model file as numbers or booleans, if all of them are."""
    if set(names) <= {"false", "true"}:
        return np.array([name == "true" for name in names])
    try:
        return np.array([int(name) for name in names])
    except ValueError:
        pass
    try:
        return np.array([float(name) for name in names])
    except ValueError:
        return np.array(names, dtype=object)
