"""A plot of one tree, from left to right.

Labels are wide and low, so that a horizontal tree is easier to read than a vertical one. Leaves are
in one column, one per line, so that their bars can be compared. The layout is in inches; in given
axes it is scaled as a whole, fonts included.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import matplotlib.patheffects as effects
import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, PathPatch, Rectangle
from matplotlib.path import Path
from matplotlib.textpath import TextPath
from sklearn.utils.validation import check_is_fitted

from swarmwood import _core
from swarmwood._errors import parameter_error
from swarmwood._rules import SingleTree
from swarmwood.plot._style import TEXT_COLOUR, colour

#: Leaves of the largest tree that is drawn.
MOST_LEAVES = 200

#: Sizes in inches, font sizes in points.
LINE = 0.36
MARGIN = 0.12
CURVE = 0.3
BAR = 1.1
TITLE = 0.34
NAME = 9.0
EDGE = 8.0


@dataclass
class TreeData:
    """The content of a plot."""

    nodes: list[tuple[int, str, str, bool, tuple[int, int]]]
    leaves: list[tuple[float, list[float], float]]
    names: list[str]
    classes: list[str]
    title: str
    #: Number of training rows; 0 if unknown.
    rows: int

    def __post_init__(self) -> None:
        """Compute the shares of the rows in the leaves; equal shares if covers are unknown."""
        covers = np.array([cover for _, _, cover in self.leaves])
        self.has_covers = bool(covers.sum() > 0)
        self.shares = (
            covers / covers.sum() if self.has_covers else np.full(len(covers), 1.0 / len(covers))
        )

    def below(self, at: int) -> list[int]:
        """Return the leaves below a node, from top to bottom."""
        leaves, stack = [], [at]
        while stack:
            at = stack.pop()
            if at >= len(self.nodes):
                leaves.append(at - len(self.nodes))
            else:
                left, right = self.nodes[at][4]
                stack += [right, left]
        return leaves


def tree(model: Any, *, tree: int | None = None, ax: Axes | None = None) -> Axes:
    """Plot one tree: its splits, the flow of the rows, and the predictions of its leaves.

    Parameters
    ----------
    model : estimator
        Fitted model. The leaves of a single tree show predictions, with a bar of class
        probabilities. Of an ensemble one tree is drawn, whose leaves show raw scores.
    tree : int, default=None
        Index of the tree in an ensemble; None is the first one.
    ax : Axes, default=None
        Axes to draw into; None creates a figure of suitable size.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from swarmwood import SwarmTreeClassifier, plot
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> ax = plot.tree(SwarmTreeClassifier(max_leaves=3).fit(X, y))
    >>> ax.figure.savefig("tree.png", dpi=150)
    """
    check_is_fitted(model, "_model")
    data = _tree_data(model, tree)
    if len(data.leaves) > MOST_LEAVES:
        raise ValueError(
            f"the tree has {len(data.leaves)} leaves, and a plot of more than {MOST_LEAVES} is not "
            "readable; fit a smaller one with max_leaves or max_depth"
        )
    return _Drawing(data).draw(ax)


def _tree_data(model: Any, tree: int | None) -> TreeData:
    core: _core.Model = model._model
    alone = tree is None and isinstance(model, SingleTree)
    if tree is not None and tree < 0:
        raise parameter_error("tree", f"is {tree}, must be the index of a tree")
    nodes, leaves, rows, output = _core.plot_tree(core, None if alone else tree or 0)
    if alone:
        kind = "leaf" if len(leaves) == 1 else "leaves"
        rows_text = f", {rows} training rows" if rows else ""
        return TreeData(
            nodes,
            leaves,
            model._feature_names(),
            core.classes,
            f"Tree for {core.target}: {len(leaves)} {kind}{rows_text}",
            rows,
        )
    title = f"Tree {tree or 0} of {core.trees}"
    if output is not None and core.outputs > 1:
        title += f", for the score of {(core.classes or core.columns)[output]}"
    return TreeData(nodes, leaves, model._feature_names(), [], title, rows)


def _width(text: str, size: float) -> float:
    """Return the width of a text in inches."""
    return (
        float(TextPath((0, 0), text, size=size).get_extents().width) / 72.0 if text.strip() else 0.0
    )


def _fit(text: str, size: float, most: float) -> str:
    """Return the text, truncated to a width."""
    if _width(text, size) <= most:
        return text
    while len(text) > 1 and _width(f"{text}…", size) > most:
        text = text[:-1]
    return f"{text}…"


class _Drawing:
    """The layout of a tree, and its drawing."""

    def __init__(self, data: TreeData) -> None:
        self.data = data
        count = len(data.nodes)
        self.leaf_y = np.zeros(len(data.leaves))
        for line, leaf in enumerate(data.below(0)):
            self.leaf_y[leaf] = (line + 0.5) * LINE
        self.depth, order = np.zeros(count, dtype=int), [0] if count else []
        for node in order:
            for child in data.nodes[node][4]:
                if child < count:
                    self.depth[child] = self.depth[node] + 1
                    order.append(child)
        # A node is half-way between its children: children are placed first.
        self.node_y = np.zeros(count)
        for node in reversed(order):
            self.node_y[node] = np.mean([self._y(child) for child in data.nodes[node][4]])
        self.labels = [_fit(data.names[node[0]], NAME, 2.2) for node in data.nodes]
        self.edges = [
            (_fit(left, EDGE, 1.5), _fit(right, EDGE, 1.5)) for _, left, right, _, _ in data.nodes
        ]
        self._columns()
        self._predictions()

    def _y(self, at: int) -> float:
        count = len(self.data.nodes)
        return float(self.leaf_y[at - count] if at >= count else self.node_y[at])

    def _columns(self) -> None:
        """Compute the widths of the columns of nodes and of the labels between them."""
        levels = int(self.depth.max()) + 1 if len(self.depth) else 0
        self.box = np.full(levels, 0.5)
        between = np.zeros(levels)
        for node, level in enumerate(self.depth):
            self.box[level] = max(self.box[level], _width(self.labels[node], NAME) + 0.2)
            for label in self.edges[node]:
                between[level] = max(between[level], _width(label, EDGE) + 0.26)
        self.left = MARGIN + np.concatenate([[0.0], np.cumsum(self.box + CURVE + between)])
        self.leaf_x = float(self.left[-1]) + 0.04

    def _predictions(self) -> None:
        """Format the predictions of the leaves and compute the size of the plot."""
        classes, leaves = self.data.classes, self.data.leaves
        texts = [classes[int(value)] if classes else f"{value:.4g}" for value, _, _ in leaves]
        self.predictions = [_fit(text, NAME, 2.0) for text in texts]
        self.prediction_width = max(_width(text, NAME) for text in self.predictions) * 1.12 + 0.1
        values = np.array([value for value, _, _ in leaves])
        self.range = float(values.min()), float(values.max())
        share = 0.5 if classes else 0.0
        rows = 0.6 if self.data.has_covers else 0.0
        wide = self.leaf_x + BAR + 0.12 + self.prediction_width + share + rows + MARGIN
        self.width = max(wide, _width(self.data.title, NAME + 2) + 2 * MARGIN)
        self.top = MARGIN + self._legend_height() + 0.2
        self.height = self.top + LINE * len(leaves) + 0.3

    def draw(self, ax: Axes | None) -> Axes:
        """Draw everything."""
        if ax is None:
            figure = Figure(figsize=(self.width, self.height + TITLE))
            ax = figure.add_axes((0.0, 0.0, 1.0, self.height / (self.height + TITLE)))
            self.scale = 1.0
        else:
            room = ax.get_window_extent()
            dpi = ax.get_figure(root=True).dpi  # type: ignore[union-attr]
            self.scale = min(room.width / dpi / self.width, room.height / dpi / self.height)
        self.ax = ax
        ax.set_axis_off()
        ax.set_aspect("equal")
        ax.set_xlim(0, self.width)
        ax.set_ylim(self.height, 0)
        ax.set_title(self.data.title, fontsize=(NAME + 2) * min(self.scale, 1.0), parse_math=False)
        self._legend()
        for node in range(len(self.data.nodes)):
            self._draw_edges(node)
        for node in range(len(self.data.nodes)):
            self._draw_node(node)
        self._headings()
        for leaf in range(len(self.data.leaves)):
            self._draw_leaf(leaf)
        if self.data.nodes:
            note = "? marks the branch of missing values"
            if self.data.has_covers:
                note += "; line widths are proportional to the rows"
            self._text(
                MARGIN,
                self.height - MARGIN,
                _fit(note, 7.5, self.width - 2 * MARGIN),
                7.5,
                color="#777777",
            )
        return ax

    def _text(self, x: float, y: float, text: str, size: float, **how: Any) -> Any:
        how = {"color": TEXT_COLOUR, "va": "center", **how}
        # A dollar sign in a name does not start a formula.
        return self.ax.text(x, y, text, fontsize=size * self.scale, parse_math=False, **how)

    def _legend_lines(self) -> list[tuple[float, int, int, str]]:
        """Return the position, line, class and name of every entry of the legend."""
        entries, x, line = [], MARGIN, 0
        for at, name in enumerate(self.data.classes):
            label = _fit(name, NAME, 2.0)
            wide = 0.18 + _width(label, NAME) + 0.25
            if x + wide > self.width - MARGIN and x > MARGIN:
                x, line = MARGIN, line + 1
            entries.append((x, line, at, label))
            x += wide
        return entries

    def _legend_height(self) -> float:
        entries = self._legend_lines()
        return 0.24 * (entries[-1][1] + 1) if entries else 0.0

    def _legend(self) -> None:
        for x, line, at, name in self._legend_lines():
            y = MARGIN + 0.24 * line + 0.08
            self.ax.add_patch(
                Rectangle((x, y - 0.06), 0.12, 0.12, facecolor=colour(at), linewidth=0)
            )
            self._text(x + 0.18, y, name, NAME)

    def _draw_edges(self, node: int) -> None:
        *_, missing_right, children = self.data.nodes[node]
        level = self.depth[node]
        x, y = self.left[level] + self.box[level], self.top + self.node_y[node]
        for right, child in enumerate(children):
            is_leaf = child >= len(self.data.nodes)
            end_x = self.leaf_x - 0.05 if is_leaf else self.left[self.depth[child]]
            end_y = self.top + self._y(child)
            share = (
                float(self.data.shares[self.data.below(child)].sum())
                if self.data.has_covers
                else 0.1
            )
            middle, bend = x + CURVE / 2, x + CURVE
            points = [(x, y), (middle, y), (middle, end_y), (bend, end_y), (end_x, end_y)]
            codes = [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4, Path.LINETO]
            thick = (0.8 + 5.0 * share) * self.scale
            curve = PathPatch(
                Path(points, codes),
                facecolor="none",
                edgecolor="#c3cad3",
                linewidth=thick,
                capstyle="butt",
            )
            self.ax.add_patch(curve)
            label = self.edges[node][right] + (" ?" if bool(right) == missing_right else "")
            above = end_y - thick / self.scale / 72 / 2 - 0.035
            text = self._text(bend + 0.03, above, label, EDGE, va="baseline")
            # A white outline keeps the label readable over thick lines.
            text.set_path_effects(
                [effects.withStroke(linewidth=2 * self.scale, foreground="white")]
            )

    def _draw_node(self, node: int) -> None:
        level = self.depth[node]
        x, y, wide = self.left[level], self.top + self.node_y[node], self.box[level]
        pad = 0.04
        frame = FancyBboxPatch(
            (x + pad, y - 0.12 + pad),
            wide - 2 * pad,
            0.24 - 2 * pad,
            boxstyle=f"round,pad={pad}",
            facecolor="#f5f7fa",
            edgecolor="#8d98a7",
            linewidth=0.8 * self.scale,
        )
        self.ax.add_patch(frame)
        self._text(x + wide / 2, y, self.labels[node], NAME, ha="center")

    def _headings(self) -> None:
        y, x = self.top - 0.06, self.leaf_x
        style = {"color": "#777777", "va": "baseline"}
        classes = bool(self.data.classes)
        self._text(x, y, "classes" if classes else "value", 7.5, **style)
        right = x + BAR + 0.12 + self.prediction_width
        if classes:
            self._text(x + BAR + 0.12, y, "class", 7.5, **style)
            right += 0.5
            self._text(right, y, "share", 7.5, ha="right", **style)
        if self.data.has_covers:
            self._text(right + 0.6, y, "rows", 7.5, ha="right", **style)

    def _draw_leaf(self, leaf: int) -> None:
        value, probabilities, _ = self.data.leaves[leaf]
        x, y, high = self.leaf_x, self.top + self.leaf_y[leaf], 0.16
        if probabilities:
            start = x
            for at, probability in enumerate(probabilities):
                bar = Rectangle(
                    (start, y - high / 2),
                    BAR * probability,
                    high,
                    facecolor=colour(at),
                    linewidth=0,
                )
                self.ax.add_patch(bar)
                start += BAR * probability
        else:
            low, top = self.range
            part = (value - low) / (top - low) if top > low else 0.5
            self.ax.add_patch(
                Rectangle((x, y - high / 2), BAR, high, facecolor="#edf0f4", linewidth=0)
            )
            ink = colormaps["Blues"](0.35 + 0.6 * part)
            self.ax.add_patch(
                Rectangle(
                    (x, y - high / 2), max(BAR * part, 0.02), high, facecolor=ink, linewidth=0
                )
            )
        right = x + BAR + 0.12
        self._text(right, y, self.predictions[leaf], NAME, weight="bold")
        right += self.prediction_width
        if self.data.classes:
            right += 0.5
            self._text(right, y, _percent(probabilities[int(value)]), NAME, ha="right")
        if self.data.has_covers:
            share = float(self.data.shares[leaf])
            rows = f"{share * self.data.rows:.0f}" if self.data.rows else _percent(share)
            self._text(right + 0.6, y, rows, NAME, ha="right", color="#555555")


def _percent(share: float) -> str:
    """Return a share in per cent; less than all is never shown as 100 %."""
    return (
        f"{share:.0%}"
        if share in (0.0, 1.0) or 0.01 <= share <= 0.99
        else f"{min(share, 0.999):.1%}"
    )
