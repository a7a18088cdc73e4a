"""Estimators of numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from swarmwood import _core
from swarmwood._estimator import Estimator


class Regressor(RegressorMixin, Estimator):
    """The base of the regressors."""

    def _encoded(self, X: Any, y: Any, weight: Any) -> tuple[NDArray[Any], Any, None]:
        return self._later(X, y), weight, None

    def _later(self, X: Any, y: Any) -> NDArray[Any]:
        y = self._checked_y(X, y)
        return y if y.dtype.kind in "fiu" else y.astype(np.float64)

    def _adopt(self, model: _core.Model) -> None:
        if model.classes:
            raise ValueError("the model predicts classes; load it into a classifier")
        super()._adopt(model)

    def predict(self, X: Any, *, pred_contribs: bool = False) -> NDArray[np.float64]:
        """Predict numbers, or what each feature adds to the raw score.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.
        pred_contribs : bool, default=False
            Whether to return contributions (TreeSHAP) instead: one a feature, and last the score that is expected of a
            row nothing is known of; they sum to the raw score.

        Returns
        -------
        ndarray of shape (n_samples,), or of contributions: (n_samples, n_features + 1)
        """
        if pred_contribs:
            return self._contributions(X)
        return self._predict(X, "numbers")[:, 0]

    def staged_predict(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Predict by the first round, by the first two, and so on."""
        for values in self._staged(X, "numbers"):
            yield values[:, 0]
