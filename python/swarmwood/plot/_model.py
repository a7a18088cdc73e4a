"""Feature importance and learning curves."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from sklearn.utils.validation import check_is_fitted

from swarmwood._errors import parameter_error
from swarmwood._estimator import IMPORTANCES, Estimator
from swarmwood.plot._style import (
    TEXT_COLOUR,
    axes,
    colour,
    groups,
    integer_ticks,
    legend,
    style_axes,
)


def importance(
    models: Any,
    *,
    ax: Axes | None = None,
    importance_type: str | None = None,
    max_features: int | None = 20,
) -> Axes:
    """Plot feature importances, the most important feature on top.

    Parameters
    ----------
    models : estimator or list of estimators
        Fitted models. Of several, such as the folds of a cross-validation, the mean is drawn, with
        a line from the minimum to the maximum.
    ax : Axes, default=None
        Axes to draw into; None creates a figure.
    importance_type : str, default=None
        'gain', 'cover' or 'splits'; None is `importance_type` of the estimator.
    max_features : int, default=20
        Maximum number of features; None draws all.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from swarmwood import GreedyBoostClassifier, plot
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> ax = plot.importance(GreedyBoostClassifier(n_estimators=5).fit(X, y), max_features=2)
    >>> sorted(label.get_text() for label in ax.get_yticklabels())
    ['petal length (cm)', 'petal width (cm)']
    """
    (estimators,) = groups(
        models if not isinstance(models, dict) else list(models.values()), Estimator
    ).values()
    for model in estimators:
        check_is_fitted(model, "_model")
    names = estimators[0]._model_features()
    if any(model._model_features() != names for model in estimators):
        raise ValueError(
            "the models were fitted to different features; their importances cannot be averaged"
        )
    kind = estimators[0].importance_type if importance_type is None else importance_type
    if kind not in IMPORTANCES:
        allowed = ", ".join(IMPORTANCES)
        raise parameter_error("importance_type", f"is {kind!r}, must be one of {allowed}")
    shares = np.array([_shares(model, kind) for model in estimators])
    means = shares.mean(axis=0)
    order = np.argsort(-means, kind="stable")[:max_features][::-1]
    ax = axes(ax, (6.4, max(1.6, 0.9 + 0.28 * len(order))))
    places = np.arange(len(order))
    ax.barh(places, 100 * means[order], height=0.7, color=colour(0))
    if len(estimators) > 1:
        low, high = shares.min(axis=0)[order], shares.max(axis=0)[order]
        ax.hlines(places, 100 * low, 100 * high, color=TEXT_COLOUR, linewidth=1.4)
    ax.set_yticks(places, [_shortened(names[at]) for at in order])
    ax.set_ylim(-0.6, len(order) - 0.4)
    ax.set_xlim(left=0)
    left_out = len(names) - len(order)
    ax.set_xlabel(f"{kind}, % of all" + (f" ({left_out} features left out)" if left_out else ""))
    style_axes(ax, "x")
    ax.tick_params(axis="y", length=0)
    return ax


def _shares(model: Any, kind: str) -> Any:
    values = np.array(
        [one[IMPORTANCES[kind]] for one in model._model.importances()], dtype=np.float64
    )
    total = values.sum()
    return values / total if total > 0 else values


def _shortened(name: str, most: int = 40) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def learning_curve(model: Any, *, ax: Axes | None = None) -> Axes:
    """Plot the training loss and the validation metric per boosting round.

    Parameters
    ----------
    model : estimator
        Fitted model; the validation metric is drawn if `fit` had validation data.
    ax : Axes, default=None
        Axes to draw into; None creates a figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from swarmwood import GreedyBoostClassifier, plot
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GreedyBoostClassifier(n_estimators=5, eval_metric="logloss")
    >>> model = model.fit(X, y, eval_set=(X, y))
    >>> ax = plot.learning_curve(model)
    >>> [line.get_label() for line in ax.lines]
    ['training: loss', 'validation: logloss']
    """
    check_is_fitted(model, "_model")
    results = model.evals_result_
    if not results:
        raise ValueError(
            f"{type(model).__name__} has no losses to plot: its method '{model._model.method}' "
            "reports none, or the model was read from a file"
        )
    ax = axes(ax)
    for at, (rows, metrics) in enumerate(results.items()):
        for metric, values in metrics.items():
            name = f"{rows.removesuffix('_0')}: {metric}"
            rounds = model._evaluated_rounds[rows]
            # Each stage of a run counts from one; several stages are counted through.
            rounds = rounds if (np.diff(rounds) > 0).all() else np.arange(1, len(values) + 1)
            ax.plot(rounds, values, color=colour(at), linewidth=1.8, label=name)
    if "validation_0" in results and model.best_iteration_ < max(
        len(one) for one in results["validation_0"].values()
    ):
        ax.axvline(
            model.best_iteration_,
            color=TEXT_COLOUR,
            linestyle=":",
            linewidth=1.2,
            label="best round",
        )
    ax.set_xlabel("round")
    integer_ticks(ax)
    style_axes(ax)
    legend(ax, 2)
    return ax
