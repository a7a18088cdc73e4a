"""Plots of hyperparameter tuning: history, slices, parallel coordinates, importances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator
from numpy.typing import NDArray

from swarmwood.plot._style import (
    COLOUR_MAP,
    COLOURS,
    GREY,
    TEXT_COLOUR,
    axes,
    colour,
    integer_ticks,
    legend,
    plot_runs,
    style_axes,
)
from swarmwood.plot._trials import Parameter, Trials, is_study, trials_of

#: The marker of a trial.
DOT: dict[str, Any] = {"s": 18, "linewidths": 0.4, "edgecolors": "white"}


def tuning_history(
    studies: Any,
    *,
    ax: Axes | None = None,
    maximize: bool | None = None,
    metric: str | None = None,
    band: str | None = "std",
) -> Axes:
    """Plot the trials of a study in order with the best so far, or compare repetitions studies.

    Parameters
    ----------
    studies : study, list of studies, or dict of either by name
        A study is the path of a `study.jsonl` of the command line, a fitted search of scikit-learn
        with `cv_results_`, or a list of pairs (parameters, value). A list of studies is
        repetitions: their mean best so far is drawn, with a band. A dictionary compares.
    ax : Axes, default=None
        Axes to draw into; None creates a figure.
    maximize : bool, default=None
        Whether larger values are better in a list of pairs; ignored for files and searches.
    metric : str, default=None
        The metric of a search with repetitions; None is the one of `refit`.
    band : str or None, default="std"
        The band of repetitions: 'std' (mean and standard deviation), 'range' (minimum to maximum)
        or None.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from swarmwood import plot
    >>> trials = [({"depth": depth}, abs(depth - 4)) for depth in (9, 2, 5, 7, 4)]
    >>> ax = plot.tuning_history(trials)
    >>> ax.lines[0].get_ydata().tolist()
    [5.0, 2.0, 1.0, 1.0, 0.0]
    """
    studies_by_name = dict(studies) if isinstance(studies, dict) else {"": studies}
    trials_by_name = {
        str(name): [
            trials_of(one, maximize, metric)
            for one in ([entry] if is_study(entry) else list(entry))
        ]
        for name, entry in studies_by_name.items()
    }
    if not trials_by_name or not all(trials_by_name.values()):
        raise ValueError("there is nothing to draw: no study was given")
    ax = axes(ax)
    alone = len(trials_by_name) == 1 and len(next(iter(trials_by_name.values()))) == 1
    if alone:
        (trials,) = next(iter(trials_by_name.values()))
        _draw_dots(ax, np.arange(1, len(trials.values) + 1), trials)
        ax.plot(
            np.arange(1, len(trials.values) + 1),
            trials.best_so_far(),
            drawstyle="steps-post",
            color=colour(1),
            linewidth=1.8,
            label="best so far",
        )
        _limit_outliers(ax.set_ylim, trials.values, trials.best_so_far())
        ax.legend(frameon=False)
    else:
        for at, (name, repetitions) in enumerate(trials_by_name.items()):
            runs = [_best_curve(trials) for trials in repetitions]
            plot_runs(ax, runs, name or f"mean of {len(repetitions)} studies", colour(at), band)
        legend(ax, len(trials_by_name))
    metric_name = " or ".join(
        sorted({trials.metric for repetitions in trials_by_name.values() for trials in repetitions})
    )
    ax.set_xlabel("trial")
    ax.set_ylabel(metric_name if alone else f"best {metric_name}")
    integer_ticks(ax)
    style_axes(ax)
    return ax


def _best_curve(trials: Trials) -> tuple[NDArray[Any], NDArray[Any]]:
    best = trials.best_so_far()
    finite = ~np.isnan(best)
    return np.arange(1, len(best) + 1)[finite], best[finite]


def _draw_dots(ax: Axes, x: NDArray[Any], trials: Trials) -> None:
    """Draw every trial; pruned trials are hollow, since their values are estimates."""
    complete = trials.complete
    ax.scatter(
        x[complete], trials.values[complete], color=colour(0), alpha=0.75, label="trial", **DOT
    )
    if not complete.all():
        style: dict[str, Any] = {
            **DOT,
            "edgecolors": colour(0),
            "facecolors": "none",
            "linewidths": 0.8,
        }
        ax.scatter(x[~complete], trials.values[~complete], alpha=0.75, label="pruned", **style)


def _limit_outliers(limit: Any, values: NDArray[np.float64], must: NDArray[np.float64]) -> None:
    """Limit an axis so that outliers do not hide the rest; `must` stays visible."""
    low, high = np.nanmin(must), np.nanmax(must)
    quarters = np.quantile(values, [0.25, 0.75])
    reach = 3.0 * (quarters[1] - quarters[0])
    near = values[(values >= quarters[0] - reach) & (values <= quarters[1] + reach)]
    low, high = min(low, near.min()), max(high, near.max())
    if low > values.min() or high < values.max():
        room = 0.05 * (high - low)
        limit(low - room, high + room)


def tuning_slice(
    study: Any,
    parameter: str,
    *,
    ax: Axes | None = None,
    maximize: bool | None = None,
    metric: str | None = None,
) -> Axes:
    """Plot the values of the trials against one parameter.

    Parameters
    ----------
    study : study
        One study, as in `tuning_history`.
    parameter : str
        The parameter of the x axis.
    ax : Axes, default=None
        Axes to draw into; None creates a figure.
    maximize, metric : default=None
        As in `tuning_history`.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from swarmwood import plot
    >>> trials = [({"depth": depth, "rate": 0.1}, abs(depth - 4)) for depth in (9, 2, 5, 7, 4)]
    >>> ax = plot.tuning_slice(trials, "depth")
    >>> ax.get_xlabel()
    'depth'
    """
    trials = trials_of(study, maximize, metric)
    return _slice(axes(ax), trials, trials.parameter(parameter))


def tuning_slices(
    study: Any,
    *,
    parameters: list[str] | None = None,
    maximize: bool | None = None,
    metric: str | None = None,
) -> Figure:
    """Plot the values of the trials against several parameters, side by side.

    Parameters
    ----------
    study : study
        One study, as in `tuning_history`.
    parameters : list of str, default=None
        The parameters; None is the eight most important ones.
    maximize, metric : default=None
        As in `tuning_history`.

    Returns
    -------
    Figure
    """
    trials = trials_of(study, maximize, metric)
    if parameters is None:
        parameters = [name for name, _ in _ranked(trials)[:8]]
    if not parameters:
        raise ValueError("there is nothing to draw: the trials have no parameters")
    across = min(len(parameters), 4 if len(parameters) > 6 else 3)
    down = math.ceil(len(parameters) / across)
    figure = Figure(figsize=(2.9 * across, 2.6 * down), layout="constrained")
    panels = figure.subplots(down, across, sharey=True, squeeze=False).ravel().tolist()
    for at, (panel, name) in enumerate(zip(panels, parameters, strict=False)):
        _slice(panel, trials, trials.parameter(name))
        if at % across:
            panel.set_ylabel("")
    for panel in panels[len(parameters) :]:
        panel.remove()
    return figure


def _slice(ax: Axes, trials: Trials, parameter: Parameter) -> Axes:
    numbers = parameter.numbers()
    active = ~np.isnan(numbers)
    if not active.any():
        raise ValueError(f"parameter: {parameter.name!r} had no value in any trial")
    positions = numbers
    if parameter.labels:
        # Spread horizontally, reproducibly.
        positions = numbers + np.random.default_rng(0).uniform(-0.22, 0.22, len(numbers))
        labels = parameter.label_names()
        ax.set_xticks(np.arange(len(labels)), labels)
        ax.set_xlim(-0.6, len(labels) - 0.4)
        if sum(map(len, labels)) > 18:
            ax.tick_params(axis="x", rotation=30)
            for label in ax.get_xticklabels():
                label.set_horizontalalignment("right")
    elif parameter.log:
        ax.set_xscale("log")
    elif np.all(numbers[active] == np.round(numbers[active])):
        integer_ticks(ax)
    active_trials = Trials(
        [], trials.values[active], trials.complete[active], trials.higher_is_better, trials.metric
    )
    _draw_dots(ax, positions[active], active_trials)
    best = trials.best()
    if active[best]:
        ax.scatter(
            positions[best],
            trials.values[best],
            s=90,
            marker="*",
            color=colour(1),
            edgecolors=TEXT_COLOUR,
            linewidths=0.6,
            zorder=4,
            label="best",
        )
    _limit_outliers(ax.set_ylim, trials.values, trials.values[[best]])
    ax.set_xlabel(parameter.name)
    ax.set_ylabel(trials.metric)
    style_axes(ax)
    return ax


def _ranked(trials: Trials) -> list[tuple[str, float | None]]:
    importances = trials.importances()
    return sorted(importances, key=lambda one: -1.0 if one[1] is None else one[1], reverse=True)


def tuning_importance(
    study: Any, *, ax: Axes | None = None, maximize: bool | None = None, metric: str | None = None
) -> Axes:
    """Plot parameter importances: the share of the variance that each parameter alone explains.

    Parameters
    ----------
    study : study
        One study, as in `tuning_history`.
    ax : Axes, default=None
        Axes to draw into; None creates a figure.
    maximize, metric : default=None
        As in `tuning_history`.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from swarmwood import plot
    >>> trials = [({"depth": at % 4, "idle": at // 4 % 5}, at % 4) for at in range(60)]
    >>> ax = plot.tuning_importance(trials)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['idle', 'depth']
    """
    ranked = [
        (name, value)
        for name, value in _ranked(trials_of(study, maximize, metric))
        if value is not None
    ]
    if not ranked:
        raise ValueError(
            "importances cannot be computed: there are too few trials, or all are equal"
        )
    ranked.reverse()
    ax = axes(ax, (6.4, max(1.6, 0.9 + 0.28 * len(ranked))))
    bars = ax.barh(
        [name for name, _ in ranked],
        [100 * value for _, value in ranked],
        height=0.7,
        color=colour(0),
    )
    ax.bar_label(bars, fmt="%.0f", padding=3, color="#555555", fontsize="small")
    ax.set_xlabel("variance explained by the parameter alone, %")
    ax.set_xlim(0, max(5.0, 112 * max(value for _, value in ranked)))
    ax.set_ylim(-0.6, len(ranked) - 0.4)
    style_axes(ax, "x")
    ax.tick_params(axis="y", length=0)
    return ax


def tuning_parallel(
    study: Any,
    *,
    ax: Axes | None = None,
    parameters: list[str] | None = None,
    maximize: bool | None = None,
    metric: str | None = None,
) -> Axes:
    """Plot parallel coordinates: one line per trial, coloured by rank; the best one is thick.

    Parameters
    ----------
    study : study
        One study, as in `tuning_history`.
    ax : Axes, default=None
        Axes to draw into; None creates a figure.
    parameters : list of str, default=None
        The parameters, from left to right; None is all.
    maximize, metric : default=None
        As in `tuning_history`.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from swarmwood import plot
    >>> trials = [({"depth": at % 4, "kind": "ab"[at % 2]}, at % 4) for at in range(12)]
    >>> ax = plot.tuning_parallel(trials)
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['depth', 'kind']
    """
    trials = trials_of(study, maximize, metric)
    selected = (
        trials.parameters if parameters is None else [trials.parameter(name) for name in parameters]
    )
    if not selected:
        raise ValueError("there is nothing to draw: the trials have no parameters")
    ax = axes(ax, (max(5.0, 1.6 + 1.25 * len(selected)), 4.2))
    heights = np.array([_height(parameter) for parameter in selected]).T
    # The best one last, on top of the others.
    order = np.argsort(-trials.losses(), kind="stable")
    ranks = np.empty(len(order))
    ranks[order] = np.arange(len(order)) / max(len(order) - 1, 1)
    positions = np.arange(len(selected))
    scale = colormaps[f"{COLOUR_MAP}_r"]
    lines = [np.column_stack([positions, heights[trial]]) for trial in order]
    colours = [scale(ranks[trial]) for trial in order]
    alphas = [0.35 + 0.5 * ranks[trial] for trial in order]
    ax.add_collection(LineCollection(lines, colors=colours, alpha=alphas, linewidths=1.1, zorder=2))
    best = trials.best()
    ax.plot(positions, heights[best], color=COLOURS[6], linewidth=2.6, zorder=3, label="best")
    for position, parameter in zip(positions, selected, strict=True):
        _draw_coordinate(ax, int(position), parameter, last=position == positions[-1])
    ax.set_xticks(positions, [parameter.name for parameter in selected])
    if max(len(parameter.name) for parameter in selected) > 11:
        ax.tick_params(axis="x", rotation=12)
    ax.set_yticks([])
    ax.set_xlim(-0.35, len(selected) - 0.55)
    ax.set_ylim(-0.14 if (heights < 0).any() else -0.04, 1.06)
    ax.spines[:].set_visible(False)
    ax.tick_params(axis="x", length=0)
    figure = ax.get_figure()
    if figure is not None:
        bar = figure.colorbar(ScalarMappable(Normalize(0, 1), scale), ax=ax, ticks=[0, 0.5, 1])
        worst, middle, good = (
            trials.values[order[int(at * (len(order) - 1))]] for at in (0, 0.5, 1)
        )
        bar.ax.set_yticklabels([f"{worst:.4g}", f"{middle:.4g}", f"{good:.4g}"])
        bar.set_label(f"{trials.metric}, by rank; the best is thick")
    return ax


def _relative_position(value: float, values: NDArray[np.float64], log: bool) -> float:
    """Return the position of a number between minimum and maximum, from 0 to 1."""
    low, high = float(values.min()), float(values.max())
    if high <= low:
        return 0.5
    return math.log(value / low) / math.log(high / low) if log else (value - low) / (high - low)


def _round_values(values: NDArray[np.float64], log: bool) -> list[float]:
    """Return the ticks of a coordinate: all values if they are few, else round ones."""
    distinct = np.unique(values)
    if len(distinct) <= 6:
        return [float(value) for value in distinct]
    low, high = float(distinct[0]), float(distinct[-1])
    ticks = (
        LogLocator(subs=(1.0, 3.0))
        if log
        else MaxNLocator(nbins=5, integer=bool(np.all(distinct == np.round(distinct))))
    )
    inner = [float(value) for value in ticks.tick_values(low, high) if low < value < high]
    # Ends need room for their labels.
    inner = [value for value in inner if 0.08 < _relative_position(value, values, log) < 0.92]
    while len(inner) > 5:
        inner = inner[::2]
    return [low, *inner, high]


def _height(parameter: Parameter) -> NDArray[np.float64]:
    """Return the heights of the trials on a coordinate, from 0 to 1; below 0 if inactive."""
    numbers = parameter.numbers()
    numbers = np.log(numbers) if parameter.log else numbers
    active = ~np.isnan(numbers)
    if not active.any():
        return np.full(len(numbers), -0.1)
    low, high = numbers[active].min(), numbers[active].max()
    height = (numbers - low) / (high - low) if high > low else np.where(active, 0.5, np.nan)
    return np.where(active, height, -0.1)


def _draw_coordinate(ax: Axes, position: int, parameter: Parameter, *, last: bool) -> None:
    ax.vlines(position, 0, 1, color=GREY, linewidth=1.0, zorder=1)
    numbers = parameter.numbers()
    active = numbers[~np.isnan(numbers)]
    marks: list[tuple[float, str]] = []
    if parameter.labels:
        labels = parameter.label_names()
        marks = [
            (at / max(len(labels) - 1, 1) if len(labels) > 1 else 0.5, name)
            for at, name in enumerate(labels)
        ]
    elif len(active):
        marks = [
            (_relative_position(value, active, parameter.log), f"{value:.4g}")
            for value in _round_values(active, parameter.log)
        ]
    if np.isnan(numbers).any():
        marks.append((-0.1, "none"))
    for height, name in marks:
        text = name if len(name) <= 12 else f"{name[:11]}…"
        box = {
            "boxstyle": "round,pad=0.1",
            "facecolor": "white",
            "edgecolor": "none",
            "alpha": 0.75,
        }
        ax.annotate(
            text,
            (position, height),
            (4, 0),
            textcoords="offset points",
            fontsize=8,
            va="center",
            zorder=5,
            bbox=box,
            color=TEXT_COLOUR,
            parse_math=False,
        )
