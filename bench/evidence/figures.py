"""Figures as SVG: panels of curves, drawn alike for every experiment, each with words for those who
do not see it.

The same numbers give the same file, byte for byte.
"""

import io
import math
from dataclasses import dataclass, field

import numpy as np

# Okabe and Ito's colours, which people with any colour vision tell apart; a mark and a dash of its
# own beside them.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#999999")
MARKS = "osD^vP*X"
DASHES = ("-", "--", "-.", ":")
WIDTH, HEIGHT, ACROSS = 3.2, 2.5, 3


@dataclass
class Panel:
    """One set: curves by name, each with its places and values, and a band of lowest and highest
    values if given."""

    title: str
    across: str
    up: str
    curves: dict[str, tuple[list[float], list[float]]] = field(default_factory=dict)
    bands: dict[str, tuple[list[float], list[float]]] = field(default_factory=dict)
    is_logarithmic: bool = False
    # Both axes in powers of ten.
    has_decades: bool = False


def draw(panels: list[Panel], what: str) -> tuple[str, str]:
    """The words and the SVG text of a figure."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    options = {
        "svg.hashsalt": "swarmwood",
        "svg.fonttype": "none",
        "font.size": 8,
        "font.family": "sans-serif",
    }
    names = list(dict.fromkeys(name for panel in panels for name in panel.curves))
    columns = 2 if len(panels) == 4 else min(ACROSS, len(panels))
    rows = math.ceil(len(panels) / columns)
    beside = min(
        2 * columns, len(names)
    )  # names in a line of the legend: more would be cut off at the edges
    with pyplot.rc_context(options):
        size = (WIDTH * columns, HEIGHT * rows + 0.3 + 0.2 * math.ceil(len(names) / beside))
        figure, axes = pyplot.subplots(
            rows, columns, figsize=size, squeeze=False, layout="constrained"
        )
        for place in axes.flat[len(panels) :]:
            place.set_axis_off()
        for panel, place in zip(panels, axes.flat, strict=False):
            draw_panel(panel, place, names)
        handles = {}
        for place in axes.flat:
            for handle, label in zip(*place.get_legend_handles_labels(), strict=True):
                handles.setdefault(label, handle)
        figure.legend(
            [handles[name] for name in names],
            names,
            loc="outside lower center",
            ncols=beside,
            frameon=False,
        )
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None}, facecolor="white")
        pyplot.close(figure)
    return (
        f"{what}: {', '.join(panel.title for panel in panels)}; curves: {', '.join(names)}",
        tidy(text.getvalue()),
    )


def draw_panel(panel: Panel, place, names: list[str]) -> None:
    """One panel; a name has the same colour, mark and dash in all of them."""
    place.set_title(panel.title)
    place.set_xlabel(panel.across)
    place.set_ylabel(panel.up)
    place.grid(alpha=0.25, linewidth=0.5)
    if panel.has_decades:
        place.set_xscale("log")
        place.set_yscale("log")
    elif panel.is_logarithmic:
        place.set_xscale("log", base=2)
        place.xaxis.set_major_formatter("{x:.0f}")
    for name, (x, y) in panel.curves.items():
        number = names.index(name)
        colour, dash = style_of(number)
        mark = MARKS[number % len(MARKS)] if len(x) <= 12 else None
        place.plot(x, y, dash, color=colour, marker=mark, markersize=3.5, linewidth=1.2, label=name)
        if name in panel.bands:
            low, high = panel.bands[name]
            place.fill_between(x, low, high, color=colour, alpha=0.12, linewidth=0)


def style_of(number: int) -> tuple[str, str]:
    """The colour and the dash of a curve; where colours begin again, dashes do not."""
    dash = number // 2 + number // len(COLOURS)
    return COLOURS[number % len(COLOURS)], DASHES[dash % len(DASHES)]


def tidy(svg: str) -> str:
    """Without blanks at the ends of lines."""
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def steps(curve: list[tuple[int, float]], length: int) -> np.ndarray:
    """The value after each of `length` steps of a curve that is told by its changes; it keeps its
    last value."""
    values, at = np.full(length, math.nan), dict(curve)
    last = math.nan
    for step in range(length):
        last = at.get(step, last)
        values[step] = last
    return values
