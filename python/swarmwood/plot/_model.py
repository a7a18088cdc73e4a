"""What a model is made of: which features matter, and how its loss fell."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from sklearn.utils.validation import check_is_fitted

from swarmwood._estimator import IMPORTANCES, Estimator
from swarmwood.plot._ink import INK, axes, colour, groups, legend, tidy, whole_steps


def importance(
    models: Any,
    *,
    ax: Axes | None = None,
    importance_type: str | None = None,
    max_features: int | None = 20,
) -> Axes:
    """Draw which features matter, the most important on top.

    Parameters
    ----------
    models : estimator or list of estimators
        What was fitted. Of several, folds of a cross-validation say, the mean is drawn, and a line from the least to
        the greatest.
    ax : Axes, default=None
        Where to draw; None makes a figure.
    importance_type : str, default=None
        'gain', 'cover' or 'splits'; None is what the estimator says itself.
    max_features : int, default=20
        How many features to draw; None draws all.

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
    (found,) = groups(
        models if not isinstance(models, dict) else list(models.values()), Estimator
    ).values()
    for model in found:
        check_is_fitted(model, "_model")
    names = found[0]._feature_names()
    if any(model._feature_names() != names for model in found):
        raise ValueError(
            "the models were fitted to different features, so their importances cannot be drawn together"
        )
    kind = found[0].importance_type if importance_type is None else importance_type
    if kind not in IMPORTANCES:
        raise ValueError(f"importance_type: is {kind!r}, must be one of {', '.join(IMPORTANCES)}")
    shares = np.array([_shares(model, kind) for model in found])
    means = shares.mean(axis=0)
    order = np.argsort(-means, kind="stable")[:max_features][::-1]
    ax = axes(ax, (6.4, max(1.6, 0.9 + 0.28 * len(order))))
    places = np.arange(len(order))
    ax.barh(places, 100 * means[order], height=0.7, color=colour(0))
    if len(found) > 1:
        low, high = shares.min(axis=0)[order], shares.max(axis=0)[order]
        ax.hlines(places, 100 * low, 100 * high, color=INK, linewidth=1.4)
    ax.set_yticks(places, [_shortened(names[at]) for at in order])
    ax.set_ylim(-0.6, len(order) - 0.4)
    ax.set_xlim(left=0)
    left_out = len(names) - len(order)
    ax.set_xlabel(f"{kind}, % of all" + (f" ({left_out} features left out)" if left_out else ""))
    tidy(ax, "x")
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
    """Draw the loss on the training rows, and the metric of the validation rows, round by round.

    Parameters
    ----------
    model : estimator
        What was fitted; validation rows are drawn if `fit` had some.
    ax : Axes, default=None
        Where to draw; None makes a figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from swarmwood import GreedyBoostClassifier, plot
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GreedyBoostClassifier(n_estimators=5, eval_metric="logloss").fit(X, y, eval_set=(X, y))
    >>> ax = plot.learning_curve(model)
    >>> [line.get_label() for line in ax.lines]
    ['training: loss', 'validation: logloss']
    """
    check_is_fitted(model, "_model")
    told = model.evals_result_
    if not told:
        raise ValueError(
            f"{type(model).__name__} has no losses to show: its method '{model._model.method}' tells none, or the model"
            " comes from a file"
        )
    ax = axes(ax)
    for at, (rows, metrics) in enumerate(told.items()):
        for metric, values in metrics.items():
            name = f"{rows.removesuffix('_0')}: {metric}"
            rounds = model._evaluated_rounds[rows]
            # Stages of a run that follow each other count from one again; then their steps are counted through.
            rounds = rounds if (np.diff(rounds) > 0).all() else np.arange(1, len(values) + 1)
            ax.plot(rounds, values, color=colour(at), linewidth=1.8, label=name)
    if "validation_0" in told and model.best_iteration_ < max(
        len(one) for one in told["validation_0"].values()
    ):
        ax.axvline(
            model.best_iteration_, color=INK, linestyle=":", linewidth=1.2, label="best round"
        )
    ax.set_xlabel("round")
    whole_steps(ax)
    tidy(ax)
    legend(ax, 2)
    return ax
