"""Colours, axes, and curves of repeated runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

#: Colours of classes and lines, distinguishable with most kinds of colour blindness (after Okabe
#: and Ito 2008, darkened for a white background). The command line uses the same.
COLOURS = ("#3f6fb5", "#e08a1e", "#2c9a73", "#b9508f", "#8a6d3b", "#5bb0d8", "#c8502e", "#6d6d6d")

#: Markers of classes, for plots without colours.
MARKERS = "os^DvPX*"

#: Colour map of numbers: perceptually uniform, also with colour blindness and in greyscale.
COLOUR_MAP = "cividis"

GREY = "#8a8a8a"
TEXT_COLOUR = "#222222"


def colour(at: int) -> str:
    """Return the colour of a class or line."""
    return COLOURS[at % len(COLOURS)]


def axes(ax: Axes | None, size: tuple[float, float] = (6.4, 4.2)) -> Axes:
    """Return the axes to draw into: those given, or those of a new figure."""
    if ax is not None:
        return ax
    return Figure(figsize=size, layout="constrained").add_subplot()


def style_axes(ax: Axes, grid: str = "y") -> None:
    """Remove the top and right spines and draw a light grid."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis=grid, color="#e4e4e4", linewidth=0.8)  # type: ignore[arg-type]
    ax.set_axisbelow(True)


def integer_ticks(ax: Axes) -> None:
    """Use integer ticks on the x axis."""
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins="auto"))


def legend(ax: Axes, count: int) -> None:
    """Add a legend if there is more than one line."""
    if count > 1:
        ax.legend(frameon=False)


def groups(models: Any, single: type | tuple[type, ...]) -> dict[str, list[Any]]:
    """Return the runs to draw by name: one, repetitions, or a dictionary of either."""
    if isinstance(models, Mapping):
        runs = {str(name): _as_list(value, single) for name, value in models.items()}
    else:
        runs = {"": _as_list(models, single)}
    if not runs or not all(runs.values()):
        raise ValueError("there is nothing to draw: no model was given")
    return runs


def _as_list(value: Any, single: type | tuple[type, ...]) -> list[Any]:
    if isinstance(value, single) or not isinstance(value, Sequence):
        return [value]
    return list(value)


def aligned(
    runs: Sequence[tuple[NDArray[Any], NDArray[Any]]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the union of the x values of several runs, and the y values of each run there.

    A run keeps its last value until the end of the longest one; before its first value it is NaN.
    """
    positions = np.unique(np.concatenate([x for x, _ in runs]).astype(np.float64))
    values = np.full((len(runs), len(positions)), np.nan)
    for row, (x, y) in zip(values, runs, strict=True):
        last = np.searchsorted(x, positions, side="right") - 1
        row[last >= 0] = np.asarray(y, dtype=np.float64)[last[last >= 0]]
    return positions, values


def band_of(
    values: NDArray[np.float64], band: str | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return the lower and upper edge of the band of several runs."""
    if band is None or len(values) < 2:
        return None
    if band == "range":
        return values.min(axis=0), values.max(axis=0)
    if band == "std":
        mean, spread = values.mean(axis=0), values.std(axis=0, ddof=1)
        return mean - spread, mean + spread
    raise ValueError(f"band: is {band!r}, must be 'std', 'range' or None")


def plot_runs(
    ax: Axes,
    runs: Sequence[tuple[NDArray[Any], NDArray[Any]]],
    name: str,
    line_colour: str,
    band: str | None,
) -> None:
    """Draw the mean of several runs, and a band for their variation."""
    positions, values = aligned(runs)
    # The mean is defined where all runs have a value.
    common = ~np.isnan(values).any(axis=0)
    positions, values = positions[common], values[:, common]
    edges = band_of(values, band)
    ax.plot(
        positions,
        values.mean(axis=0),
        drawstyle="steps-post",
        color=line_colour,
        linewidth=1.8,
        label=name or None,
    )
    if edges is not None:
        ax.fill_between(positions, *edges, step="post", color=line_colour, alpha=0.18, linewidth=0)
