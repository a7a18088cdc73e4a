"""Estimators of classes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from swarmwood import _core
from swarmwood._estimator import Estimator
from swarmwood._table import spelled


class Classifier(ClassifierMixin, Estimator):
    """The base of the classifiers."""

    class_weight: Any

    def _encoded(self, X: Any, y: Any, weight: Any) -> tuple[NDArray[np.int32], Any, list[str]]:
        y = self._checked_y(X, y)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        held = np.unique(codes if weight is None else codes[weight > 0])
        if len(held) < 2:
            raise ValueError(
                f"{type(self).__name__} needs rows of at least two classes; the data contains only one class: "
                f"{classes[held[0]]!r}"
            )
        self.classes_ = classes
        if self.class_weight is not None:
            balance = compute_sample_weight(self.class_weight, y)
            weight = balance if weight is None else weight * balance
        return codes.astype(np.int32), weight, [spelled(name) for name in classes]

    def _later(self, X: Any, y: Any) -> NDArray[np.int32]:
        y = self._checked_y(X, y)
        codes = np.searchsorted(self.classes_, y)
        codes = np.minimum(codes, len(self.classes_) - 1)
        strange = self.classes_[codes] != y
        if np.any(strange):
            raise ValueError(f"y contains previously unseen labels: {sorted(set(y[strange].tolist()))}")
        return codes.astype(np.int32)

    def _adopt(self, model: _core.Model) -> None:
        if not model.classes:
            raise ValueError("the model predicts numbers; load it into a regressor")
        super()._adopt(model)
        self.classes_ = _values(model.classes)

    def predict(self, X: Any, *, pred_contribs: bool = False) -> NDArray[Any]:
        """Predict classes, or what each feature adds to the raw scores.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.
        pred_contribs : bool, default=False
            Whether to return contributions (TreeSHAP) instead: one a feature, and last the score that is expected of a
            row nothing is known of; they sum to the raw score.

        Returns
        -------
        ndarray of shape (n_samples,), or of contributions: (n_samples, n_features + 1), with a second axis of the
        classes if there are three or more
        """
        if pred_contribs:
            return self._contributions(X)
        codes = self._predict(X, "classes")[:, 0]
        return self.classes_[codes]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the probability of each class, in the order of `classes_`."""
        return self._predict(X, "probabilities")

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Predict classes by the first round, by the first two, and so on."""
        for codes in self._staged(X, "classes"):
            yield self.classes_[codes[:, 0]]

    def staged_predict_proba(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Predict probabilities by the first round, by the first two, and so on."""
        yield from self._staged(X, "probabilities")


def _values(names: list[str]) -> NDArray[Any]:
    """Return the classes of a file as numbers or truth values, if all of them are."""
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
