"""Objectives of one's own: functions for the derivatives of a loss, and for its values."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swarmwood._errors import parameter_error

#: The links between raw scores and predicted numbers.
LINKS = ("identity", "log")

Array = NDArray[np.float64]


class Objective:
    """A custom objective: derivatives of a loss, and what else is known of it.

    Parameters
    ----------
    derivatives : callable
        Called as `derivatives(y_true, raw_score)`, returns the first and the second derivatives
        of the loss by the raw scores: two arrays of the shape of `raw_score`. They are multiplied
        by the sample weights. A function with a third parameter is called with the sample weights
        (None if there are none) and returns weighted derivatives. Second derivatives must not be
        negative.
    loss : callable, default=None
        Called as `loss(y_true, raw_score)`, returns the loss of each row: an array of shape
        (n_samples,). The default method of `SwarmBoost` compares fits by it and needs it;
        otherwise it is what `eval_metric="auto"` evaluates.
    link : {'identity', 'log'}, default='identity'
        What turns raw scores into the predictions of regressors: 'log' predicts the exponential
        of the raw score. Those of classifiers are turned into probabilities as always.

    Notes
    -----
    `y_true` has the targets as doubles; those of classifiers are indices into `classes_`.
    `raw_score` has the shape (n_samples,), or (n_samples, n_classes) for three or more classes.
    Rows may come in another order than those of X, and more than once (whole weights); the default
    method of `SwarmBoost` also fits to parts of the rows, on several threads. If only the
    difference of score and target matters to the derivatives, which is tried on the training
    rows, both may be passed less a constant.

    Examples
    --------
    >>> import numpy as np
    >>> from swarmwood import GreedyBoostRegressor, Objective
    >>> def log_cosh(y_true, raw_score):
    ...     slope = np.tanh(raw_score - y_true)
    ...     return slope, 1 - slope**2
    >>> model = GreedyBoostRegressor(objective=log_cosh)
    >>> model = GreedyBoostRegressor(objective=Objective(log_cosh, link="identity"))
    """

    def __init__(
        self,
        derivatives: Callable[..., Any],
        loss: Callable[..., Any] | None = None,
        *,
        link: str = "identity",
    ) -> None:
        for name, function in (("derivatives", derivatives), ("loss", loss)):
            if not callable(function) and (function is not None or name == "derivatives"):
                raise parameter_error(name, f"is {function!r}, must be callable")
        if link not in LINKS:
            raise parameter_error("link", f"is {link!r}, must be one of {', '.join(LINKS)}")
        self.derivatives = derivatives
        self.loss = loss
        self.link = link

    def __repr__(self) -> str:
        return f"Objective({self.derivatives!r}, loss={self.loss!r}, link={self.link!r})"


class CoreLoss:
    """An objective as the core calls it: with bytes of doubles."""

    def __init__(self, objective: Objective | Callable[..., Any]) -> None:
        if not isinstance(objective, Objective):
            objective = Objective(objective)
        self._objective = objective
        self.has_losses = objective.loss is not None
        self.is_weighted = takes_weight(objective.derivatives)
        self.has_log_link = objective.link == "log"

    def derivatives(self, target: bytes, score: bytes, weight: bytes) -> tuple[Array, Array]:
        """Return the derivatives, checked, in the order of the core."""
        y_true, raw_score, sample_weight = arrays(target, score, weight)
        given = (y_true, raw_score, sample_weight) if self.is_weighted else (y_true, raw_score)
        returned = self._objective.derivatives(*given)
        if not isinstance(returned, (tuple, list)) or len(returned) != 2:
            raise parameter_error(
                "objective",
                f"returned {type(returned).__name__}, must return two arrays: the gradient and "
                "the hessian",
            )
        gradient, hessian = returned
        return (
            _checked("gradient", gradient, raw_score.shape),
            _checked("hessian", hessian, raw_score.shape),
        )

    def losses(self, target: bytes, score: bytes, weight: bytes) -> Array:
        """Return the losses of all rows, checked."""
        y_true, raw_score, _ = arrays(target, score, weight)
        loss = self._objective.loss
        return _checked("loss", loss(y_true, raw_score) if loss else None, y_true.shape)


def arrays(target: bytes, score: bytes, weight: bytes) -> tuple[Array, Array, Array | None]:
    """Return the rows of the core as arrays; scores have one column per class, if several."""
    y_true = np.frombuffer(target, dtype=np.float64)
    raw_score = np.frombuffer(score, dtype=np.float64)
    if len(raw_score) > len(y_true):
        raw_score = raw_score.reshape(-1, len(y_true)).T
    return y_true, raw_score, np.frombuffer(weight, dtype=np.float64) if weight else None


def takes_weight(function: Callable[..., Any]) -> bool:
    """Whether a function has a third parameter, for sample weights."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        # Some functions of extension modules have no signature.
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(parameter.kind in positional for parameter in parameters) >= 3


def _checked(what: str, values: Any, shape: tuple[int, ...]) -> Array:
    """Return an array of doubles, column after column; its shape and type must be right."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise parameter_error(
            "objective", f"returned a {what} of the type {array.dtype}, must be numbers"
        )
    if array.shape != shape:
        raise parameter_error(
            "objective", f"returned a {what} of shape {array.shape}, must be of shape {shape}"
        )
    return np.ascontiguousarray(array.T, dtype=np.float64).ravel()
