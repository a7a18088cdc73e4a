"""What a model says over two of its features, with the rows on top.

The thresholds and levels of the two features cut the plane into cells in which the model cannot say two things, so one
prediction a cell is the whole truth, for one tree as for many.
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
from swarmwood._single import SingleTree
from swarmwood._table import category_text, table_of, validated
from swarmwood.plot._ink import INK, MARKERS, SCALE, axes, colour

#: Rows that are drawn at most; more hide the areas below them.
MOST_ROWS = 2000

#: How much of a class's colour its area keeps.
TINT = 0.35


@dataclass
class Axis:
    """One feature along a side of the map."""

    feature: int
    name: str
    #: The levels of a category; none for numbers.
    levels: list[str] | None
    #: Where cells begin and end, and a value in each.
    edges: NDArray[np.float64]
    values: NDArray[np.float64]
    #: The feature's value of every row; NaN where it is missing.
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
    """Draw what a model says over two features, the others held fast.

    Parameters
    ----------
    model : estimator
        What was fitted.
    X, y : default=None
        Rows to draw on top, in the colours of what they are; at most 2,000 of them, evenly taken, and without those
        that lack one of the two features.
    features : two names or positions, default=None
        What stands across and up; None takes the two most important.
    at : dict of values by name, default=None
        The values that other features are held at; None in it is a missing value. Those that are not named are held
        at the median, or at the most frequent level, of X.
    rules : bool, default=None
        Whether to frame and number the rules of a single tree, as `export_rules` lists them; None does if there are
        two to nine. What no frame holds is 'otherwise'.
    ax : Axes, default=None
        Where to draw; None makes a figure.

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
        raise ValueError("y: needs the rows X that it belongs to")
    table = None
    if X is not None:
        X = validated(model, X, reset=False)
        mask = np.array([levels is not None for _, levels in model._model.features], dtype=bool)
        table = table_of(X, names, mask)
    pair = _pair(model, names, features)
    across, up = (_axis(model, names, feature, table) for feature in pair)
    held = _held(model, names, pair, at or {}, table)
    ax = axes(ax, (6.4, 5.0))
    said = _said(model, (across, up), held)
    target = None if y is None else model._encode_validation(X, y)
    if model._model.classes:
        _draw_classes(ax, model, (across, up), said, target)
    else:
        _draw_numbers(ax, (across, up), said, target)
    if rules or (rules is None and isinstance(model, SingleTree)):
        _draw_rules(ax, model, (across, up), held, always=bool(rules))
    for axis, side in ((across, ax.xaxis), (up, ax.yaxis)):
        if axis.levels is not None:
            side.set_ticks(np.arange(len(axis.levels)), axis.levels)
    if across.levels is not None and sum(map(len, across.levels)) > 40:
        ax.tick_params(axis="x", rotation=30)
    ax.set_xlabel(across.name)
    ax.set_ylabel(up.name)
    ax.set_xlim(across.edges[0], across.edges[-1])
    ax.set_ylim(up.edges[0], up.edges[-1])
    if held:
        told = ", ".join(
            f"{names[feature]} = {_word(value)}" for feature, value in sorted(held.items())
        )
        ax.set_title(_lines(f"where {told}"), fontsize="small", color="#555555", parse_math=False)
    return ax


def _word(value: float | str | None) -> str:
    if value is None:
        return "missing"
    return value if isinstance(value, str) else f"{value:.4g}"


def _lines(text: str, most: int = 78) -> str:
    """Break a long title between two values, and end it after three lines."""
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
    """Return the features that the model asks for, the most important first."""
    found = [
        (gain, splits, feature)
        for feature, (gain, _, splits) in enumerate(model._model.importances())
    ]
    return [feature for _, splits, feature in sorted(found, key=lambda one: -one[0]) if splits]


def _pair(model: Any, names: list[str], features: Sequence[str | int] | None) -> tuple[int, int]:
    if not model._model.trees and model._model.rounds:
        raise ValueError("the model is linear; a map shows where trees change their answer")
    if features is None:
        used = _used(model)
        if len(used) < 2:
            told = f"only for {names[used[0]]!r}" if used else "for nothing"
            raise ValueError(
                f"features: the model asks {told}, and a map has two sides; name two features"
            )
        return used[0], used[1]
    if isinstance(features, str) or len(features) != 2:
        raise ValueError(f"features: two names or positions are wanted, not {features!r}")
    first, second = (_position(names, feature, "features") for feature in features)
    if first == second:
        raise ValueError(
            f"features: the map needs two different ones, and was given {names[first]!r} twice"
        )
    return first, second


def _column(table: _core.Table, feature: int, levels: list[str] | None) -> NDArray[np.float64]:
    """Return the values of the rows; those of a category as numbers of the model's levels."""
    data, texts = _core.plot_column(table, feature)
    values = np.frombuffer(data, dtype=np.float64)
    if levels is None or texts is None:
        return values
    place = {level: at for at, level in enumerate(levels)}
    known = np.array(
        [place.get(text, np.nan) if text is not None else np.nan for text in texts] + [np.nan]
    )
    return known[np.where(np.isnan(values), len(texts), values).astype(int)]


def _axis(model: Any, names: list[str], feature: int, table: _core.Table | None) -> Axis:
    levels = model._model.features[feature][1]
    rows = None if table is None else _column(table, feature, levels)
    if levels is not None:
        places = np.arange(len(levels), dtype=np.float64)
        return Axis(
            feature,
            names[feature],
            levels,
            np.append(places, float(len(levels))) - 0.5,
            places,
            rows,
        )
    thresholds = [node["threshold"] for node in model._model.nodes() if node["feature"] == feature]
    cuts: NDArray[np.float64] = np.unique(
        np.array([cut for cut in thresholds if cut is not None], dtype=np.float64)
    )
    seen = cuts if rows is None else np.concatenate([cuts, rows[np.isfinite(rows)]])
    low, high = (seen.min(), seen.max()) if len(seen) else (0.0, 1.0)
    share = 0.04 if rows is not None else 0.18
    room = share * (high - low) if high > low else max(abs(low), 1.0)
    edges = np.concatenate([[low - room], cuts, [high + room]])
    # What is above a threshold goes right, so the end of a cell belongs to it.
    return Axis(feature, names[feature], None, edges, edges[1:], rows)


def _held(
    model: Any,
    names: list[str],
    pair: tuple[int, int],
    at: Mapping[str, Any],
    table: _core.Table | None,
) -> dict[int, float | str | None]:
    """Return the values of the features that the model asks for beside the two."""
    held: dict[int, float | str | None] = {}
    for name, value in at.items():
        feature = _position(names, name, "at")
        levels = model._model.features[feature][1]
        if feature in pair:
            raise ValueError(f"at: {name!r} is a side of the map and cannot be held fast")
        if value is not None and levels is not None and category_text(value) not in levels:
            raise ValueError(
                f"at: {name!r} has no level {value!r}; it has {', '.join(levels[:20])}"
            )
        held[feature] = (
            None if value is None else category_text(value) if levels is not None else float(value)
        )
    for feature in _used(model):
        if feature in pair or feature in held:
            continue
        if table is None:
            message = f"the model also asks for {names[feature]!r}; hold it fast with at={{{names[feature]!r}: ...}}"
            raise ValueError(f"{message}, or give X")
        levels = model._model.features[feature][1]
        values = _column(table, feature, levels)
        values = values[~np.isnan(values)]
        if not len(values):
            held[feature] = None
        elif levels is None:
            held[feature] = float(np.median(values))
        else:
            held[feature] = levels[int(np.bincount(values.astype(int)).argmax())]
    return held


def _said(
    model: Any, pair: tuple[Axis, Axis], held: dict[int, float | str | None]
) -> NDArray[np.float64]:
    """Return what the model says in every cell, a line a cell up; numbers of classes where there are classes."""
    across, up = pair
    grid = dict(
        zip((across.feature, up.feature), np.meshgrid(across.values, up.values), strict=True)
    )
    cells = len(across.values) * len(up.values)
    table = _core.Table(cells)
    for feature, (name, levels) in enumerate(model._model.features):
        value = held.get(feature)
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
    wanted = "classes" if model._model.classes else "numbers"
    data, _, _ = model._model.predict(table, wanted)
    said = np.frombuffer(data, dtype=np.uint32 if wanted == "classes" else np.float64)
    return said.astype(np.float64).reshape(len(up.values), len(across.values))


def _spots(
    pair: tuple[Axis, Axis], target: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return where rows stand and what they are; rows of a level are spread over its cell, the same way every time."""
    places = []
    for axis, seed in zip(pair, (1, 2), strict=True):
        assert axis.rows is not None
        spread = (
            np.random.default_rng(seed).uniform(-0.3, 0.3, len(axis.rows))
            if axis.levels is not None
            else 0.0
        )
        places.append(axis.rows + spread)
    kept = np.flatnonzero(np.isfinite(places[0]) & np.isfinite(places[1]))
    if len(kept) > MOST_ROWS:
        kept = kept[np.linspace(0, len(kept) - 1, MOST_ROWS).astype(int)]
    return places[0][kept], places[1][kept], np.asarray(target)[kept]


def _draw_classes(
    ax: Axes,
    model: Any,
    pair: tuple[Axis, Axis],
    said: NDArray[np.float64],
    target: NDArray[Any] | None,
) -> None:
    across, up = pair
    classes = model._model.classes
    inks = np.array([to_rgb(colour(at)) for at in range(len(classes))])
    tints = ListedColormap((1.0 - TINT * (1.0 - inks)).tolist())
    ax.pcolormesh(
        across.edges,
        up.edges,
        said,
        cmap=tints,
        vmin=-0.5,
        vmax=len(classes) - 0.5,
        rasterized=True,
    )
    entries: list[Any] = []
    if target is None:
        shown = [at for at in range(len(classes)) if (said == at).any()]
        entries = [Patch(facecolor=tints(at), label=classes[at]) for at in shown]
    else:
        x, y, kinds = _spots(pair, target)
        for at, name in enumerate(classes):
            own = kinds == at
            style: dict[str, Any] = {"marker": MARKERS[at % len(MARKERS)], "color": colour(at)}
            ax.scatter(x[own], y[own], s=20, edgecolors="white", linewidths=0.5, zorder=3, **style)
            entries.append(
                Line2D([], [], linestyle="", markeredgecolor="white", label=name, **style)
            )
    if entries:
        # Beside the map: inside it would hide rows.
        ax.legend(
            handles=entries[:12],
            loc="upper left",
            bbox_to_anchor=(1.0, 1.0),
            frameon=False,
            title=model._model.target,
        )


def _draw_numbers(
    ax: Axes, pair: tuple[Axis, Axis], said: NDArray[np.float64], target: NDArray[Any] | None
) -> None:
    across, up = pair
    spots = None if target is None else _spots(pair, target)
    seen = (
        said.ravel()
        if spots is None
        else np.concatenate([said.ravel(), np.quantile(spots[2], [0.01, 0.99])])
    )
    scale = Normalize(float(seen.min()), float(seen.max()))
    mesh = ax.pcolormesh(
        across.edges, up.edges, said, cmap=colormaps[SCALE], norm=scale, alpha=0.8, rasterized=True
    )
    if spots is not None:
        ax.scatter(
            spots[0],
            spots[1],
            c=spots[2],
            s=20,
            cmap=SCALE,
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
            label="prediction" if spots is None else "prediction, and target of the rows",
        )


def _draw_rules(
    ax: Axes,
    model: Any,
    pair: tuple[Axis, Axis],
    held: dict[int, float | str | None],
    *,
    always: bool,
) -> None:
    """Frame the area of every rule that the held values allow."""
    names = model._feature_names()
    if not isinstance(model, SingleTree):
        raise ValueError(
            "rules: only a single tree has rules; fit a SwarmTreeClassifier or SwarmTreeRegressor"
        )
    rules = model.rules_["rules"]
    if not always and not 2 <= len(rules) <= 9:
        return
    by_name = {names[feature]: value for feature, value in held.items()}
    for number, rule in enumerate(rules, start=1):
        conditions = {one["feature"]: one for one in rule["if"]}
        others = [
            one for name, one in conditions.items() if name not in {axis.name for axis in pair}
        ]
        if not all(_meets(by_name.get(one["feature"]), one) for one in others):
            continue
        for x, y in _boxes(pair, conditions):
            # A little inside, so that frames that touch can be told apart.
            (left, right), (low, high) = (
                _inside(*span, axis) for span, axis in zip((x, y), pair, strict=True)
            )
            if right <= left or high <= low:
                continue
            frame: dict[str, Any] = {
                "facecolor": "none",
                "edgecolor": INK,
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
                "edgecolor": INK,
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


def _inside(low: float, high: float, axis: Axis) -> tuple[float, float]:
    room = 0.006 * (axis.edges[-1] - axis.edges[0])
    return max(low, axis.edges[0]) + room, min(high, axis.edges[-1]) - room


def _meets(value: float | str | None, condition: dict[str, Any]) -> bool:
    """Whether a held value satisfies a condition of a rule."""
    if value is None:
        return condition["missing"] in ("in", "only")
    if "levels" in condition:
        return value in condition["levels"]
    if "at_most" not in condition:
        return False
    above, at_most = condition["above"], condition["at_most"]
    number = float(value)
    return (above is None or number > above) and (at_most is None or number <= at_most)


def _boxes(
    pair: tuple[Axis, Axis], conditions: dict[str, Any]
) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """Return the areas of a rule on the map: several where levels that it names are not neighbours."""
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
            # Missing values alone, which the map does not show.
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
