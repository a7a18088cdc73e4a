"""Effects of features, and contributions to one prediction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.utils.validation import check_is_fitted

from swarmwood import _core
from swarmwood._errors import parameter_error
from swarmwood._table import table_of, validated
from swarmwood.plot._style import GREY, colour, legend, style_axes
from swarmwood.plot._style import axes as new_axes

#: Rows that effects are means over.
MOST_ROWS = 1000


def effects(
    model: Any,
    X: Any,
    features: Sequence[str | int] | None = None,
    *,
    kind: str = "both",
    max_features: int = 6,
) -> Figure:
    """Plot how the mean prediction depends on single features.

    Partial dependence is the mean prediction when a feature has a given value in all rows; a model
    of trees is constant between its thresholds, so that the curve is exact. Accumulated local
    effects (ALE) add up changes within the rows that have such values, and are not misled by
    correlated features. For classes the predictions are probabilities: of the second of two, or of
    each.

    Parameters
    ----------
    model : estimator
        Fitted model.
    X : array-like or data frame
        Rows; at most the first 1000 are used.
    features : list of str or int, default=None
        Features by name or position; None is those with the largest importances.
    kind : str, default="both"
        'partial', 'accumulated' or 'both'.
    max_features : int, default=6
        Number of panels if `features` is None.

    Returns
    -------
    Figure

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from swarmwood import GreedyBoostClassifier, plot
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = GreedyBoostClassifier(n_estimators=5).fit(X, y == 2)
    >>> figure = plot.effects(model, X, ["petal width (cm)"])
    >>> figure.axes[0].get_xlabel()
    'petal width (cm)'
    """
    check_is_fitted(model, "_model")
    if kind not in ("partial", "accumulated", "both"):
        raise parameter_error("kind", f"is {kind!r}, must be 'partial', 'accumulated' or 'both'")
    names = model._model_features()
    chosen = _chosen(model, names, features, max_features)
    rows = validated(model, X, reset=False)[:MOST_ROWS]
    mask = np.array(model._model.categorical, dtype=bool)
    table = table_of(rows, model._feature_names(), mask if mask.any() else None)
    found = {at: _core.effect(model._model, table, at) for at in chosen}
    drawn = {at: effect for at, effect in found.items() if effect is not None}
    if not drawn:
        raise ValueError("the model uses none of these features, or no row has a value of them")

    across = min(3, len(drawn))
    down = -(-len(drawn) // across)
    figure = Figure(figsize=(3.4 * across, 2.7 * down), layout="constrained")
    panels = np.ravel(figure.subplots(down, across, squeeze=False))
    for ax, (at, effect) in zip(panels, drawn.items(), strict=False):
        _draw(ax, effect, names[at], kind)
    for ax in panels[len(drawn) :]:
        ax.set_visible(False)
    return figure


def _chosen(
    model: Any, names: list[str], features: Sequence[str | int] | None, most: int
) -> list[int]:
    if features is None:
        gains = np.array([one[0] for one in model._model.importances()])
        order = np.argsort(-gains, kind="stable")[:most]
        return [int(at) for at in order if gains[at] > 0]
    positions = []
    for one in features:
        if isinstance(one, str):
            if one not in names:
                raise parameter_error("features", f"there is no feature {one!r}")
            positions.append(names.index(one))
        elif 0 <= int(one) < len(names):
            positions.append(int(one))
        else:
            raise parameter_error("features", f"there is no feature {one} among {len(names)}")
    return positions


def _draw(ax: Axes, effect: dict[str, Any], name: str, kind: str) -> None:
    outputs = effect["outputs"]
    if "levels" in effect:
        labels = ["missing" if level is None else level for level in effect["levels"]]
        for at, means in enumerate(effect["partial"]):
            ax.plot(means, range(len(means)), "o", color=colour(at), label=outputs[at] or None)
        ax.set_yticks(range(len(labels)), labels)
        ax.set_ylabel(name)
        ax.set_xlabel("mean prediction")
        style_axes(ax, "x")
        legend(ax, len(outputs) if len(outputs) > 1 else 0)
        return
    if kind in ("partial", "both"):
        for at, means in enumerate(effect["partial"]):
            ax.stairs(
                means,
                effect["edges"],
                baseline=None,
                color=colour(at),
                linewidth=1.8,
                label=outputs[at] if len(outputs) > 1 else "partial dependence",
            )
    if kind in ("accumulated", "both"):
        for at, curve in enumerate(effect["accumulated"]):
            ax.plot(
                *np.transpose(curve),
                color=colour(at),
                linestyle="--",
                linewidth=1.2,
                label=None if len(outputs) > 1 else "accumulated (ALE)",
            )
    ax.set_xlabel(name)
    ax.set_ylabel("prediction")
    style_axes(ax)
    legend(ax, 2)


def waterfall(
    model: Any,
    row: Any,
    *,
    output: int | None = None,
    ax: Axes | None = None,
    max_features: int = 10,
) -> Axes:
    """Plot how the features lead from the mean score to the score of one row.

    The contributions are exact (TreeSHAP). They are those of `predict(..., pred_contribs=True)`:
    to the predicted number (before an exponential link), or to the log odds of a class.

    Parameters
    ----------
    model : estimator
        Fitted model.
    row : array-like or data frame
        One row.
    output : int, default=None
        Position of the class; None is the most probable one. For three or more classes only.
    ax : Axes, default=None
        Axes to draw into; None creates a figure.
    max_features : int, default=10
        Features with a bar of their own; the others have one together.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from swarmwood import GreedyBoostClassifier, plot
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GreedyBoostClassifier(n_estimators=5).fit(X, y == 2)
    >>> ax = plot.waterfall(model, X[0])
    >>> len(ax.patches)
    4
    """
    check_is_fitted(model, "_model")
    one = row.reshape(1, -1) if isinstance(row, np.ndarray) and row.ndim == 1 else row
    values = model._contributions(one)
    if len(values) != 1:
        raise parameter_error("row", f"must be one row, but there are {len(values)}")
    values = values[0]
    if values.ndim == 2:
        scores = values.sum(axis=1)
        at = int(scores.argmax()) if output is None else output
        if not 0 <= at < len(values):
            raise parameter_error("output", f"is {output}, must be from 0 to {len(values) - 1}")
        values = values[at]
    contributions, expected = values[:-1], values[-1]

    names = model._model_features()
    order = np.argsort(-np.abs(contributions), kind="stable")
    shown, rest = order[:max_features], order[max_features:]
    labels = [names[at] for at in shown]
    steps = [float(contributions[at]) for at in shown]
    if len(rest) and np.any(contributions[rest]):
        labels.append(f"{len(rest)} other features")
        steps.append(float(contributions[rest].sum()))

    ax = new_axes(ax, (6.4, 1.2 + 0.3 * len(steps)))
    start = float(expected)
    for at, step in enumerate(steps):
        ax.barh(at, step, left=start, height=0.6, color=colour(0 if step >= 0 else 6))
        ax.plot([start + step] * 2, [at - 0.3, at + 1.0], color=GREY, linewidth=0.8)
        ax.annotate(
            f"{step:+.3g}",
            (start + max(step, 0.0), at),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )
        start += step
    ax.axvline(float(expected), color=GREY, linestyle=":", linewidth=1)
    ax.set_yticks(range(len(labels)), labels)
    ax.invert_yaxis()
    ax.set_xlabel(f"raw score: {expected:.4g} on average, {start:.4g} for the row")
    style_axes(ax, "x")
    return ax
