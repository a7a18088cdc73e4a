"""Colours, axes of our own, and runs of several lengths on one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

#: Colours of classes and lines: distinct for most kinds of colour blindness (after Okabe and Ito 2008, darkened for
#: white paper). The command line draws with the same.
COLOURS = ("#3f6fb5", "#e08a1e", "#2c9a73", "#b9508f", "#8a6d3b", "#5bb0d8", "#c8502e", "#6d6d6d")

#: What tells classes apart where colours do not.
MARKERS = "os^DvPX*"

#: Numbers from low to high: even steps for the eye, for the colour-blind and on grey paper.
SCALE = "cividis"

GREY = "#8a8a8a"
INK = "#222222"

Thing = TypeVar("Thing")


def colour(at: int) -> str:
    """Return the colour of a class or line."""
    return COLOURS[at % len(COLOURS)]


def axes(ax: Axes | None, size: tuple[float, float] = (6.4, 4.2)) -> Axes:
    """Return the axes to draw into: those given, or those of a new figure that nobody else knows of."""
    if ax is not None:
        return ax
    return Figure(figsize=size, layout="constrained").add_subplot()


def tidy(ax: Axes, grid: str = "y") -> None:
    """Take away what says nothing, and lead the eye along the values."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis=grid, color="#e4e4e4", linewidth=0.8)  # type: ignore[arg-type]
    ax.set_axisbelow(True)


def whole_steps(ax: Axes) -> None:
    """Count in whole numbers along the axis."""
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins="auto"))


def legend(ax: Axes, count: int) -> None:
    """Explain the lines if there is more than one."""
    if count > 1:
        ax.legend(frameon=False)


def groups(things: Any, single: type | tuple[type, ...]) -> dict[str, list[Any]]:
    """Return the runs to draw, by name: one thing, several that are repetitions, or a dictionary of either."""
    if isinstance(things, Mapping):
        found = {str(name): _several(value, single) for name, value in things.items()}
    else:
        found = {"": _several(things, single)}
    if not found or not all(found.values()):
        raise ValueError("there is nothing to draw: no run was given")
    return found


def _several(value: Any, single: type | tuple[type, ...]) -> list[Any]:
    if isinstance(value, single) or not isinstance(value, Sequence):
        return [value]
    return list(value)


def on_one_line(
    runs: Sequence[tuple[NDArray[Any], NDArray[Any]]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the places where any run says something, and what each run holds there, a row a run.

    A run holds what it said last, to the end of the longest; before its first word it holds nothing.
    """
    places = np.unique(np.concatenate([x for x, _ in runs]).astype(np.float64))
    held = np.full((len(runs), len(places)), np.nan)
    for row, (x, y) in zip(held, runs, strict=True):
        last = np.searchsorted(x, places, side="right") - 1
        row[last >= 0] = np.asarray(y, dtype=np.float64)[last[last >= 0]]
    return places, held


def band_of(
    held: NDArray[np.float64], band: str | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return the lower and upper edge of what runs hold, where all of them hold something."""
    if band is None or len(held) < 2:
        return None
    if band == "range":
        return held.min(axis=0), held.max(axis=0)
    if band == "std":
        mean, spread = held.mean(axis=0), held.std(axis=0, ddof=1)
        return mean - spread, mean + spread
    raise ValueError(f"band: is {band!r}, must be 'std', 'range' or None")


def draw_runs(
    ax: Axes,
    runs: Sequence[tuple[NDArray[Any], NDArray[Any]]],
    name: str,
    ink: str,
    band: str | None,
) -> None:
    """Draw the mean of some runs and, if there are several, how far they lie apart."""
    places, held = on_one_line(runs)
    # Where a run has not begun there is no mean of all.
    common = ~np.isnan(held).any(axis=0)
    places, held = places[common], held[:, common]
    edges = band_of(held, band)
    ax.plot(
        places,
        held.mean(axis=0),
        drawstyle="steps-post",
        color=ink,
        linewidth=1.8,
        label=name or None,
    )
    if edges is not None:
        ax.fill_between(places, *edges, step="post", color=ink, alpha=0.18, linewidth=0)
