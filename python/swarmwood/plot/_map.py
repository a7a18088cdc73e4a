"""Predictions of a model over two of its features, with the samples on top.

The thresholds and levels of the two features partition the plane into cells in which the prediction
is constant, so that one prediction per cell is exact, for a single tree and for an ensemble.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, Normalize, to_rgb
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from swarmwood import _core
from swarmwood._errors import parameter_error
from swarmwood._rules import SingleTree
from swarmwood._table import category_text, table_of, validated
from swarmwood.plot._style import COLOUR_MAP, MARKERS, TEXT_COLOUR, axes, colour

#: Maximum number of samples in the plot; more would hide the areas below them.
MAX_ROWS = 2000

#: Opacity of the colour of a class in its area.
TINT = 0.35


@dataclass
class MapAxis:
    """One axis of the map."""

    feature: int
    name: str
    #: The levels of a categorical feature; None for a numerical one.
    levels: list[str] | None
    #: The edges of the cells, and a value inside each cell.
    edges: NDArray[np.float64]
    values: NDArray[np.float64]
    #: The values of the samples; NaN is missing.
    rows: NDArray[np.float64] | None


def decision_map(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    features: Sequence[str | int] | None = None,
    at: Mapping[str, Any] | None = None,
    rules: bool | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot the predictions of a model over two features, with fixed values of the others.

    Parameters
    ----------
    model : estimator
        Fitted model.
    X, y : default=None
        Samples to draw on top, coloured by their target; an even selection of at most 2,000,
        without those with a missing value of the two features.
    features : two names or positions, default=None
        The features of the x and y axes; None is the two most important ones.
    at : dict of values by name, default=None
        Values of the other features; None as a value is missing. Features that are not given have
        their median, or their most frequent level, in X.
    rules : bool, default=None
        Whether to frame and number the rules of a single tree as in `export_rules`; None does so
        for two to nine rules. The area without a frame is the default rule.
    ax : Axes, default=None
        Axes to draw into; None creates a figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from swarmwood import SwarmTreeClassifier, plot
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> tree = SwarmTreeClassifier(max_leaves=4).fit(X, y)
    >>> ax = plot.decision_map(tree, X, y, features=["petal length (cm)", "petal width (cm)"])
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('petal length (cm)', 'petal width (cm)')
    """
    check_is_fitted(model, "_model")
    names = model._feature_names()
    if (X is None) and (y is not None):
        raise ValueError("y: needs the samples X that it belongs to")
    table = None
    if X is not None:
        X = validated(model, X, reset=False)
        mask = np.array([levels is not None for _, levels in model._model.features], dtype=bool)
        table = table_of(X, names, mask)
    pair = _pair(model, names, features)
    x_axis, y_axis = (_axis(model, names, feature, table) for feature in pair)
    fixed = _fixed_values(model, names, pair, at or {}, table)
    ax = axes(ax, (6.4, 5.0))
    predicted = _cell_predictions(model, (x_axis, y_axis), fixed)
    target = None if y is None else model._encode_validation(X, y)
    if model._model.classes:
        _draw_classes(ax, model, (x_axis, y_axis), predicted, target)
    else:
        _draw_numbers(ax, (x_axis, y_axis), predicted, target)
    if rules or (rules is None and isinstance(model, SingleTree)):
        _draw_rules(ax, model, (x_axis, y_axis), fixed, always=bool(rules))
    for axis, side in ((x_axis, ax.xaxis), (y_axis, ax.yaxis)):
        if axis.levels is not None:
            side.set_ticks(np.arange(len(axis.levels)), axis.levels)
    if x_axis.levels is not None and sum(map(len, x_axis.levels)) > 40:
        ax.tick_params(axis="x", rotation=30)
    ax.set_xlabel(x_axis.name)
    ax.set_ylabel(y_axis.name)
    ax.set_xlim(x_axis.edges[0], x_axis.edges[-1])
    ax.set_ylim(y_axis.edges[0], y_axis.edges[-1])
    if fixed:
        values_text = ", ".join(
            f"{names[feature]} = {_word(value)}" for feature, value in sorted(fixed.items())
        )
        ax.set_title(
            _lines(f"where {values_text}"), fontsize="small", color="#555555", parse_math=False
        )
    return ax


def _word(value: float | str | None) -> str:
    if value is None:
        return "missing"
    return value if isinstance(value, str) else f"{value:.4g}"


def _lines(text: str, most: int = 78) -> str:
    """Break a long title between two values, and truncate it after three lines."""
    lines = [""]
    for word in text.split(", "):
        if lines[-1] and len(lines[-1]) + len(word) > most:
            lines.append("")
        lines[-1] += f"{', ' if lines[-1] else ''}{word}"
    return "\n".join(lines[:3]) + ("…" if len(lines) > 3 else "")


def _position(names: list[str], feature: str | int, what: str) -> int:
    if isinstance(feature, str):
        if feature not in names:
            raise ValueError(
                f"{what}: the model has no feature {feature!r}; it has {', '.join(names[:20])}"
            )
        return names.index(feature)
    if not 0 <= feature < len(names):
        raise ValueError(
            f"{what}: there is no feature {feature} among {len(names)}, counted from 0"
        )
    return int(feature)


def _used(model: Any) -> list[int]:
    """Return the features that the model uses, the most important first."""
    importances = [
        (gain, splits, feature)
        for feature, (gain, _, splits) in enumerate(model._model.importances())
    ]
    return [
        feature for _, splits, feature in sorted(importances, key=lambda one: -one[0]) if splits
    ]


def _pair(model: Any, names: list[str], features: Sequence[str | int] | None) -> tuple[int, int]:
    if not model._model.trees and model._model.rounds:
        raise ValueError("the model is linear; a map shows where the predictions of trees change")
    if features is None:
        used = _used(model)
        if len(used) < 2:
            uses = f"only {names[used[0]]!r}" if used else "no feature"
            raise parameter_error(
                "features", f"the model uses {uses}, and a map has two axes; name two features"
            )
        return used[0], used[1]
    if isinstance(features, str) or len(features) != 2:
        raise parameter_error("features", f"expected two names or indices, got {features!r}")
    first, second = (_position(names, feature, "features") for feature in features)
    if first == second:
        message = f"the map needs two different ones, and {names[first]!r} was given twice"
        raise parameter_error("features", message)
    return first, second


def _column(table: _core.Table, feature: int, levels: list[str] | None) -> NDArray[np.float64]:
    """Return the values of the samples; those of a categorical feature as indices of its levels."""
    data, texts = _core.plot_column(table, feature)
    values = np.frombuffer(data, dtype=np.float64)
    if levels is None or texts is None:
        return values
    code_of = {level: at for at, level in enumerate(levels)}
    codes = np.array(
        [code_of.get(text, np.nan) if text is not None else np.nan for text in texts] + [np.nan]
    )
    return codes[np.where(np.isnan(values), len(texts), values).astype(int)]


def _axis(model: Any, names: list[str], feature: int, table: _core.Table | None) -> MapAxis:
    levels = model._model.features[feature][1]
    rows = None if table is None else _column(table, feature, levels)
    if levels is not None:
        positions = np.arange(len(levels), dtype=np.float64)
        return MapAxis(
            feature,
            names[feature],
            levels,
            np.append(positions, float(len(levels))) - 0.5,
            positions,
            rows,
        )
    thresholds = [node["threshold"] for node in model._model.nodes() if node["feature"] == feature]
    cuts: NDArray[np.float64] = np.unique(
        np.array([cut for cut in thresholds if cut is not None], dtype=np.float64)
    )
    values = cuts if rows is None else np.concatenate([cuts, rows[np.isfinite(rows)]])
    low, high = (values.min(), values.max()) if len(values) else (0.0, 1.0)
    share = 0.04 if rows is not None else 0.18
    room = share * (high - low) if high > low else max(abs(low), 1.0)
    edges = np.concatenate([[low - room], cuts, [high + room]])
    # Values above a threshold go right, so that the upper edge of a cell belongs to it.
    return MapAxis(feature, names[feature], None, edges, edges[1:], rows)


def _fixed_values(
    model: Any,
    names: list[str],
    pair: tuple[int, int],
    at: Mapping[str, Any],
    table: _core.Table | None,
) -> dict[int, float | str | None]:
    """Return the fixed values of the other features that the model uses."""
    fixed: dict[int, float | str | None] = {}
    for name, value in at.items():
        feature = _position(names, name, "at")
        levels = model._model.features[feature][1]
        if feature in pair:
            raise parameter_error("at", f"{name!r} is an axis of the map and cannot be fixed")
        if value is not None and levels is not None and category_text(value) not in levels:
            allowed = ", ".join(levels[:20])
            raise parameter_error("at", f"{name!r} has no level {value!r}; it has {allowed}")
        fixed[feature] = (
            None if value is None else category_text(value) if levels is not None else float(value)
        )
    for feature in _used(model):
        if feature in pair or feature in fixed:
            continue
        if table is None:
            name = names[feature]
            message = f"the model also uses {name!r}; fix it with at={{{name!r}: ...}}, or pass X"
            raise parameter_error("at", message)
        levels = model._model.features[feature][1]
        values = _column(table, feature, levels)
        values = values[~np.isnan(values)]
        if not len(values):
            fixed[feature] = None
        elif levels is None:
            fixed[feature] = float(np.median(values))
        else:
            fixed[feature] = levels[int(np.bincount(values.astype(int)).argmax())]
    return fixed


def _cell_predictions(
    model: Any, pair: tuple[MapAxis, MapAxis], fixed: dict[int, float | str | None]
) -> NDArray[np.float64]:
    """Return the prediction of every cell, one row per cell of the y axis; indices of classes."""
    x_axis, y_axis = pair
    grid = dict(
        zip(
            (x_axis.feature, y_axis.feature), np.meshgrid(x_axis.values, y_axis.values), strict=True
        )
    )
    cells = len(x_axis.values) * len(y_axis.values)
    table = _core.Table(cells)
    for feature, (name, levels) in enumerate(model._model.features):
        value = fixed.get(feature)
        if feature in grid:
            column = grid[feature].ravel()
        elif value is None:
            column = np.full(cells, -1.0 if levels is not None else np.nan)
        else:
            column = np.full(
                cells, levels.index(str(value)) if levels is not None else float(value)
            )
        if levels is None:
            table.add_numbers(name, column)
        else:
            table.add_codes(name, column.astype(np.int64), levels)
    kind = "classes" if model._model.classes else "numbers"
    data, _, _ = model._model.predict(table, kind)
    predicted = np.frombuffer(data, dtype=np.uint32 if kind == "classes" else np.float64)
    return predicted.astype(np.float64).reshape(len(y_axis.values), len(x_axis.values))


def _sample_positions(
    pair: tuple[MapAxis, MapAxis], target: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return positions and targets of the samples; those of one level are spread reproducibly."""
    positions = []
    for axis, seed in zip(pair, (1, 2), strict=True):
        assert axis.rows is not None
        spread = (
            np.random.default_rng(seed).uniform(-0.3, 0.3, len(axis.rows))
            if axis.levels is not None
            else 0.0
        )
        positions.append(axis.rows + spread)
    shown = np.flatnonzero(np.isfinite(positions[0]) & np.isfinite(positions[1]))
    if len(shown) > MAX_ROWS:
        shown = shown[np.linspace(0, len(shown) - 1, MAX_ROWS).astype(int)]
    return positions[0][shown], positions[1][shown], np.asarray(target)[shown]


def _draw_classes(
    ax: Axes,
    model: Any,
    pair: tuple[MapAxis, MapAxis],
    predicted: NDArray[np.float64],
    target: NDArray[Any] | None,
) -> None:
    x_axis, y_axis = pair
    classes = model._model.classes
    colours = np.array([to_rgb(colour(at)) for at in range(len(classes))])
    tints = ListedColormap((1.0 - TINT * (1.0 - colours)).tolist())
    ax.pcolormesh(
        x_axis.edges,
        y_axis.edges,
        predicted,
        cmap=tints,
        vmin=-0.5,
        vmax=len(classes) - 0.5,
        rasterized=True,
    )
    entries: list[Any] = []
    if target is None:
        predicted_classes = [at for at in range(len(classes)) if (predicted == at).any()]
        entries = [Patch(facecolor=tints(at), label=classes[at]) for at in predicted_classes]
    else:
        x, y, kinds = _sample_positions(pair, target)
        for at, name in enumerate(classes):
            own = kinds == at
            style: dict[str, Any] = {"marker": MARKERS[at % len(MARKERS)], "color": colour(at)}
            ax.scatter(x[own], y[own], s=20, edgecolors="white", linewidths=0.5, zorder=3, **style)
            entries.append(
                Line2D([], [], linestyle="", markeredgecolor="white", label=name, **style)
            )
    if entries:
        # Beside the map: inside, it would hide samples.
        ax.legend(
            handles=entries[:12],
            loc="upper left",
            bbox_to_anchor=(1.0, 1.0),
            frameon=False,
            title=model._model.target,
        )


def _draw_numbers(
    ax: Axes,
    pair: tuple[MapAxis, MapAxis],
    predicted: NDArray[np.float64],
    target: NDArray[Any] | None,
) -> None:
    x_axis, y_axis = pair
    samples = None if target is None else _sample_positions(pair, target)
    values = (
        predicted.ravel()
        if samples is None
        else np.concatenate([predicted.ravel(), np.quantile(samples[2], [0.01, 0.99])])
    )
    scale = Normalize(float(values.min()), float(values.max()))
    mesh = ax.pcolormesh(
        x_axis.edges,
        y_axis.edges,
        predicted,
        cmap=colormaps[COLOUR_MAP],
        norm=scale,
        alpha=0.8,
        rasterized=True,
    )
    if samples is not None:
        ax.scatter(
            samples[0],
            samples[1],
            c=samples[2],
            s=20,
            cmap=COLOUR_MAP,
            norm=scale,
            edgecolors="white",
            linewidths=0.5,
            zorder=3,
        )
    figure = ax.get_figure()
    if figure is not None:
        figure.colorbar(
            mesh,
            ax=ax,
            label="prediction" if samples is None else "prediction, and target of the samples",
        )


def _draw_rules(
    ax: Axes,
    model: Any,
    pair: tuple[MapAxis, MapAxis],
    fixed: dict[int, float | str | None],
    *,
    always: bool,
) -> None:
    """Frame the area of every rule that is compatible with the fixed values."""
    names = model._feature_names()
    if not isinstance(model, SingleTree):
        raise ValueError(
            "rules: only a single tree has rules; fit a SwarmTreeClassifier or SwarmTreeRegressor"
        )
    rules = model.rules_["rules"]
    if not always and not 2 <= len(rules) <= 9:
        return
    by_name = {names[feature]: value for feature, value in fixed.items()}
    for number, rule in enumerate(rules, start=1):
        conditions = {one["feature"]: one for one in rule["conditions"]}
        others = [
            one for name, one in conditions.items() if name not in {axis.name for axis in pair}
        ]
        if not all(_meets(by_name.get(one["feature"]), one) for one in others):
            continue
        for x, y in _boxes(pair, conditions):
            # Slightly inside, so that adjacent frames can be distinguished.
            (left, right), (low, high) = (
                _inside(*span, axis) for span, axis in zip((x, y), pair, strict=True)
            )
            if right <= left or high <= low:
                continue
            frame: dict[str, Any] = {
                "facecolor": "none",
                "edgecolor": TEXT_COLOUR,
                "linewidth": 1.3,
                "linestyle": (0, (4, 2)),
                "zorder": 4,
            }
            ax.add_patch(
                Rectangle((left, low), right - left, high - low, gid=f"rule {number}", **frame)
            )
            badge: dict[str, Any] = {
                "boxstyle": "round,pad=0.2",
                "facecolor": "white",
                "edgecolor": TEXT_COLOUR,
                "linewidth": 0.8,
            }
            ax.annotate(
                str(number),
                (left, high),
                (4, -4),
                textcoords="offset points",
                fontsize=8,
                ha="left",
                va="top",
                bbox=badge,
                zorder=5,
            )


def _inside(low: float, high: float, axis: MapAxis) -> tuple[float, float]:
    room = 0.006 * (axis.edges[-1] - axis.edges[0])
    return max(low, axis.edges[0]) + room, min(high, axis.edges[-1]) - room


def _meets(value: float | str | None, condition: dict[str, Any]) -> bool:
    """Whether a fixed value satisfies a condition of a rule."""
    if value is None:
        return condition["missing"] in ("included", "only")
    if "levels" in condition:
        return value in condition["levels"]
    if "at_most" not in condition:
        return False
    above, at_most = condition["above"], condition["at_most"]
    number = float(value)
    return (above is None or number > above) and (at_most is None or number <= at_most)


def _boxes(
    pair: tuple[MapAxis, MapAxis], conditions: dict[str, Any]
) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """Return the areas of a rule on the map: several if its levels are not adjacent."""
    spans = []
    for axis in pair:
        condition = conditions.get(axis.name)
        if condition is None:
            spans.append([(float(axis.edges[0]), float(axis.edges[-1]))])
        elif "levels" in condition and axis.levels is not None:
            spans.append(
                _neighbours(
                    [at for at, level in enumerate(axis.levels) if level in condition["levels"]]
                )
            )
        elif "at_most" in condition:
            low = axis.edges[0] if condition["above"] is None else condition["above"]
            high = axis.edges[-1] if condition["at_most"] is None else condition["at_most"]
            spans.append([(float(low), float(high))])
        else:
            # Missing values only, which the map does not show.
            return []
    return [(x, y) for x in spans[0] for y in spans[1]]


def _neighbours(codes: list[int]) -> list[tuple[float, float]]:
    spans: list[tuple[float, float]] = []
    for code in codes:
        if spans and spans[-1][1] == code - 0.5:
            spans[-1] = (spans[-1][0], code + 0.5)
        else:
            spans.append((code - 0.5, code + 0.5))
    return spans
