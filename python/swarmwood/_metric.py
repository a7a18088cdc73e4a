"""Metrics of one's own for early stopping."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from swarmwood._errors import parameter_error
from swarmwood._objective import takes_weight


class Metric:
    """A custom metric of early stopping.

    Parameters
    ----------
    function : callable
        Called as `function(y_true, y_pred)`, returns a number. `y_pred` has predictions: numbers,
        probabilities of the second of two classes, or an array of shape (n_samples, n_classes).
        `y_true` has the targets; those of classifiers are indices into `classes_`. A function
        with a third parameter is called with the sample weights (None if there are none), unless
        that parameter has to be passed by name, as those of scikit-learn's metrics.
    greater_is_better : bool, default=False
        Whether more is better, as in `sklearn.metrics.make_scorer`.
    name : str, default=None
        The name in `evals_result_`; by default that of the function.

    Examples
    --------
    >>> from sklearn.metrics import roc_auc_score
    >>> from swarmwood import GreedyBoostClassifier, Metric
    >>> metric = Metric(roc_auc_score, greater_is_better=True)
    >>> model = GreedyBoostClassifier(early_stopping_rounds=20, eval_metric=metric)
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        greater_is_better: bool = False,
        name: str | None = None,
    ) -> None:
        if not callable(function):
            raise parameter_error("function", f"is {function!r}, must be callable")
        self.function = function
        self.greater_is_better = greater_is_better
        self.name = name

    def __repr__(self) -> str:
        return (
            f"Metric({self.function!r}, greater_is_better={self.greater_is_better!r}, "
            f"name={self.name!r})"
        )


class CoreMetric:
    """A metric as the core calls it: with bytes of doubles."""

    def __init__(self, metric: Metric | Callable[..., Any]) -> None:
        if not isinstance(metric, Metric):
            metric = Metric(metric)
        self._function = metric.function
        self._is_weighted = takes_weight(metric.function)
        self.greater_is_better = bool(metric.greater_is_better)
        self.name = str(metric.name or getattr(metric.function, "__name__", "metric"))

    def value(self, prediction: bytes, target: bytes, weight: bytes) -> float:
        """Return the value of the metric; what goes wrong is an error of the parameter."""
        y_true = np.frombuffer(target, dtype=np.float64)
        y_pred = np.frombuffer(prediction, dtype=np.float64)
        if len(y_pred) > len(y_true):
            y_pred = y_pred.reshape(len(y_true), -1)
            y_pred = y_pred[:, 1] if y_pred.shape[1] == 2 else y_pred
        weights = np.frombuffer(weight, dtype=np.float64) if weight else None
        given = (y_true, y_pred, weights) if self._is_weighted else (y_true, y_pred)
        try:
            returned = self._function(*given)
        except Exception as error:
            message = f"raised {type(error).__name__}: {error}"
            raise parameter_error("eval_metric", message) from error
        value = np.asarray(returned)
        if value.ndim != 0 or value.dtype.kind not in "fiub":
            raise parameter_error(
                "eval_metric", f"returned {returned!r}, must return a single number"
            )
        if np.isnan(value):
            raise parameter_error("eval_metric", "returned NaN, must return a number")
        return float(value)
