"""Plots of a search: convergence, diversity and adaptive coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from swarmwood._estimator import Estimator
from swarmwood.plot._style import (
    GREY,
    axes,
    colour,
    groups,
    integer_ticks,
    legend,
    plot_runs,
    style_axes,
)

#: Stages of a run that do not produce the final model.
AUXILIARY_STAGES = ("boosting", "comparing")

#: Labels of the coefficients, with the symbols of the papers.
COEFFICIENTS = {
    "evolutionary_factor": "evolutionary factor f",
    "alpha": r"own best, $\alpha$",
    "beta": r"global best, $\beta$",
}


def convergence(
    models: Any,
    *,
    ax: Axes | None = None,
    against: str = "evaluations",
    value: str = "best",
    band: str | None = "std",
    greedy: bool = True,
) -> Axes:
    """Plot the best value so far of one search, of repetitions, or of several groups.

    Parameters
    ----------
    models : estimator, list of estimators, or dict of either by name
        Fitted models. A list is repetitions: their mean is drawn, with a band. A dictionary
        compares.
    ax : Axes, default=None
        Axes to draw into; None creates a figure.
    against : str, default="evaluations"
        The x axis: 'evaluations', 'step' (iterations, descents, sweeps) or 'elapsed' (seconds).
    value : str, default="best"
        The y axis: 'best', 'mean' (of the candidates of a step) or 'gain' (over the greedy fit).
    band : str or None, default="std"
        The band of repetitions: 'std' (mean and standard deviation), 'range' (minimum to maximum)
        or None.
    greedy : bool, default=True
        Whether a dashed line shows the greedy fit that the search is compared with, if there is one
        model and it reports it.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from sklearn.base import clone
    >>> from sklearn.datasets import load_iris
    >>> from swarmwood import SwarmBoostClassifier, plot
    >>> X, y = load_iris(return_X_y=True)
    >>> def runs(method):
    ...     size = {"n_estimators": 2, "max_depth": 2, "iterations": 5}
    ...     model = SwarmBoostClassifier(method=method, **size)
    ...     return [clone(model).set_params(random_state=seed).fit(X, y) for seed in range(3)]
    >>> ax = plot.convergence({"SGBDT": runs("sgbdt"), "PSGBDT": runs("psgbdt")}, against="step")
    >>> [line.get_label() for line in ax.lines]
    ['SGBDT', 'PSGBDT']
    """
    runs_by_name = groups(models, Estimator)
    ax = axes(ax)
    metrics = set()
    for at, (name, runs) in enumerate(runs_by_name.items()):
        histories = [final_history(model) for model in runs]
        metrics |= {str(history["metric"][-1]) for history in histories}
        points = [
            (_column(model, one, against), _column(model, one, value))
            for model, one in zip(runs, histories, strict=True)
        ]
        if value == "best":
            points = [(x, _best_so_far(y)) for x, y in points]
        scale = 100.0 if value == "gain" else 1.0
        plot_runs(ax, [(x, scale * y) for x, y in points], name or _name(runs), colour(at), band)
    alone = len(runs_by_name) == 1 and len(histories) == 1
    if greedy and alone and value == "best" and "gain" in histories[0]:
        level = _greedy(histories[0])
        if np.isfinite(level):
            ax.axhline(level, color=GREY, linestyle="--", linewidth=1.4, label="greedy")
    ax.set_xlabel({"step": _unit(histories), "elapsed": "seconds"}.get(against, against))
    metric = " or ".join(sorted(metrics))
    ax.set_ylabel(
        {"best": f"best {metric}", "mean": f"mean {metric}", "gain": "gain over greedy, %"}.get(
            value, value
        )
    )
    if against != "elapsed":
        integer_ticks(ax)
    style_axes(ax)
    legend(ax, len(ax.lines))
    return ax


def diversity(
    models: Any, *, ax: Axes | None = None, against: str = "step", band: str | None = "std"
) -> Axes:
    """Plot the diversity of a swarm: the mean number of dimensions in which two particles differ.

    Parameters
    ----------
    models : estimator, list of estimators, or dict of either by name
        Fitted models, as in `convergence`, of a method with a discrete particle swarm.
    ax : Axes, default=None
        Axes to draw into; None creates a figure.
    against : str, default="step"
        The x axis: 'step', 'evaluations' or 'elapsed' (seconds).
    band : str or None, default="std"
        The band of repetitions: 'std', 'range' or None.

    Returns
    -------
    Axes
    """
    runs_by_name = groups(models, Estimator)
    ax = axes(ax)
    for at, (name, runs) in enumerate(runs_by_name.items()):
        histories = [_history_with(model, "diversity") for model in runs]
        points = [
            (_column(model, one, against), one["diversity"])
            for model, one in zip(runs, histories, strict=True)
        ]
        plot_runs(ax, points, name, colour(at), band)
    ax.set_xlabel({"step": _unit(histories), "elapsed": "seconds"}.get(against, against))
    ax.set_ylabel("dimensions that differ")
    ax.set_ylim(bottom=0)
    if against != "elapsed":
        integer_ticks(ax)
    style_axes(ax)
    legend(ax, len(runs_by_name))
    return ax


def coefficients(model: Any, *, ax: Axes | None = None, against: str = "step") -> Axes:
    r"""Plot the evolutionary factor of a swarm and its adaptive coefficients.

    Parameters
    ----------
    model : estimator
        Fitted model of a method with a particle swarm. The factor is 0 if the best particle is in
        the middle of the others and 1 if it is far from them; :math:`\alpha` and :math:`\beta` are
        the probabilities that a dimension is taken from the particle's own best and from the global
        one.
    ax : Axes, default=None
        Axes to draw into; None creates a figure.
    against : str, default="step"
        The x axis: 'step', 'evaluations' or 'elapsed' (seconds).

    Returns
    -------
    Axes
    """
    history = final_history(model)
    reported = [name for name in COEFFICIENTS if name in history]
    if not reported:
        raise ValueError(_missing(model, history, "coefficients"))
    ax = axes(ax)
    x = _column(model, history, against)
    for at, name in enumerate(COEFFICIENTS):
        if name in reported:
            # The two coefficients are often equal: dashes keep the lower line visible.
            style = "--" if name == "beta" else "-"
            ax.plot(
                x,
                history[name],
                color=colour(at),
                linewidth=1.8,
                linestyle=style,
                label=COEFFICIENTS[name],
            )
    ax.set_xlabel({"step": _unit([history]), "elapsed": "seconds"}.get(against, against))
    ax.set_ylabel("coefficients")
    ax.set_ylim(-0.03, 1.03)
    if against != "elapsed":
        integer_ticks(ax)
    style_axes(ax)
    ax.legend(frameon=False)
    return ax


def search(model: Any, *, against: str = "step") -> Figure:
    """Plot convergence, diversity and coefficients of a search in one figure.

    Parameters
    ----------
    model : estimator
        Fitted model.
    against : str, default="step"
        The x axis: 'step', 'evaluations' or 'elapsed' (seconds).

    Returns
    -------
    Figure
    """
    history = final_history(model)
    swarm = "diversity" in history
    driven = any(name in history for name in COEFFICIENTS)
    heights = [1.6] + [1.0] * (swarm + driven)
    figure = Figure(figsize=(6.4, 2.0 * sum(heights)), layout="constrained")
    parts = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)[
        :, 0
    ].tolist()
    convergence(model, ax=parts[0], against=against)
    if "mean" in history:
        line_style = {"color": colour(1), "linewidth": 1.2, "alpha": 0.9}
        parts[0].plot(
            _column(model, history, against),
            history["mean"],
            label="mean of the candidates",
            zorder=1,
            **line_style,
        )
        parts[0].legend(frameon=False)
    if swarm:
        diversity(model, ax=parts[1], against=against)
    if driven:
        coefficients(model, ax=parts[-1], against=against)
    for part in parts[:-1]:
        part.set_xlabel("")
    figure.align_ylabels(parts)
    return figure


def final_history(model: Any) -> dict[str, NDArray[Any]]:
    """Return the history of the final fit, without the candidates that were compared before."""
    check_is_fitted(model, "_model")
    history = model.search_history_
    if not history:
        raise ValueError(
            f"{type(model).__name__} has no search to plot: its method '{model._model.method}' "
            "does not search or selected the greedy tree, or the model was read from a file; "
            "plot.learning_curve shows losses per round"
        )
    stages = history["stage"]
    compared = np.flatnonzero(stages == "comparing")
    after = np.arange(len(stages)) > (compared[-1] if len(compared) else -1)
    selected = after & ~np.isin(stages, AUXILIARY_STAGES)
    if not selected.any():
        # Greedy boosting was selected: only the candidates before have a history.
        selected = ~np.isin(stages, AUXILIARY_STAGES)
    if not selected.any():
        selected = history["metric"] == history["metric"][-1]
    columns = {name: column[selected] for name, column in history.items()}
    return {name: column for name, column in columns.items() if not _empty(column)}


def _empty(column: NDArray[Any]) -> bool:
    return column.dtype.kind == "f" and bool(np.isnan(column).all())


def _history_with(model: Any, name: str) -> dict[str, NDArray[Any]]:
    history = final_history(model)
    if name not in history:
        raise ValueError(_missing(model, history, name))
    return history


def _missing(model: Any, history: dict[str, NDArray[Any]], name: str) -> str:
    columns = ("best", "mean", "gain", "diversity", "evolutionary_factor", "alpha", "beta")
    reported = ", ".join(column for column in columns if column in history)
    method = model._model.method
    return f"the method '{method}' reports no {name} of its search; it reports: {reported}"


def _column(model: Any, history: dict[str, NDArray[Any]], name: str) -> NDArray[np.float64]:
    """Return a column of the history; steps of consecutive stages are counted through."""
    if name == "step":
        stages, steps = history["stage"], history["step"].astype(np.float64)
        for at in range(1, len(steps)):
            if stages[at] != stages[at - 1] or steps[at] < steps[at - 1]:
                steps[at:] += steps[at - 1]
        return steps
    if name not in history:
        raise ValueError(_missing(model, history, name))
    return history[name]


def _best_so_far(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the best value up to each step; each of several consecutive fits starts again."""
    return (
        np.minimum.accumulate(values) if values[-1] <= values[0] else np.maximum.accumulate(values)
    )


def _greedy(history: dict[str, NDArray[Any]]) -> float:
    """Return the value of the greedy fit, from the relative gain over it."""
    best, gain = history["best"][-1], history["gain"][-1]
    return float(best / (1.0 - gain)) if gain < 1.0 else np.nan


def _unit(histories: list[dict[str, NDArray[Any]]]) -> str:
    units = {
        "swarm": "iteration",
        "descents": "descent",
        "sweeps": "sweep",
        "pairs": "sweep, then pair",
    }
    return units.get(str(histories[-1]["stage"][-1]), "step")


def _name(runs: list[Any]) -> str:
    return "best so far" if len(runs) == 1 else f"mean of {len(runs)} runs"
