"""How a search went: its best so far, how far its candidates differ, and what drives them."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from swarmwood._estimator import Estimator
from swarmwood.plot._ink import GREY, axes, colour, draw_runs, groups, legend, tidy, whole_steps

#: Stages of a run that make no model by themselves: the start of a fit, and fits that are only compared.
BETWEEN = ("boosting", "comparing")

#: What the coefficients are called in the papers.
SIGNS = {
    "factor": "evolutionary factor f",
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
    """Draw the best so far of a search, of several or of groups of repetitions.

    Parameters
    ----------
    models : estimator, list of estimators, or dict of either by name
        The fitted searches. A list is repetitions of one: their mean is drawn, and a band. A dictionary compares.
    ax : Axes, default=None
        Where to draw; None makes a figure.
    against : str, default="evaluations"
        What stands along the axis: 'evaluations', 'step' (iterations, descents, sweeps) or 'elapsed' (seconds).
    value : str, default="best"
        What is drawn: 'best', 'mean' (of the candidates of a step) or 'gain' (over the best greedy fit).
    band : str or None, default="std"
        The band of repetitions: 'std', mean and standard deviation; 'range', from the least to the greatest.
    greedy : bool, default=True
        Whether a dashed line shows the greedy fit that the search is compared with, where there is one search and it
        tells.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from swarmwood import SwarmBoostClassifier, plot
    >>> X, y = load_iris(return_X_y=True)
    >>> def runs(method):
    ...     few = {"n_estimators": 2, "max_depth": 2, "iterations": 5}
    ...     return [SwarmBoostClassifier(method=method, random_state=seed, **few).fit(X, y) for seed in range(3)]
    >>> ax = plot.convergence({"SGBDT": runs("sgbdt"), "PSGBDT": runs("psgbdt")}, against="step")
    >>> [line.get_label() for line in ax.lines]
    ['SGBDT', 'PSGBDT']
    """
    found = groups(models, Estimator)
    ax = axes(ax)
    measures = set()
    for at, (name, runs) in enumerate(found.items()):
        told = [final(model) for model in runs]
        measures |= {str(history["measure"][-1]) for history in told}
        points = [
            (_column(model, one, against), _column(model, one, value))
            for model, one in zip(runs, told, strict=True)
        ]
        if value == "best":
            points = [(x, _best_so_far(y)) for x, y in points]
        scale = 100.0 if value == "gain" else 1.0
        draw_runs(ax, [(x, scale * y) for x, y in points], name or _name(runs), colour(at), band)
    alone = len(found) == 1 and len(told) == 1
    if greedy and alone and value == "best" and "gain" in told[0]:
        level = _greedy(told[0])
        if np.isfinite(level):
            ax.axhline(level, color=GREY, linestyle="--", linewidth=1.4, label="greedy")
    ax.set_xlabel({"step": _unit(told), "elapsed": "seconds"}.get(against, against))
    measure = " or ".join(sorted(measures))
    ax.set_ylabel(
        {"best": f"best {measure}", "mean": f"mean {measure}", "gain": "gain over greedy, %"}.get(
            value, value
        )
    )
    if against != "elapsed":
        whole_steps(ax)
    tidy(ax)
    legend(ax, len(ax.lines))
    return ax


def diversity(
    models: Any, *, ax: Axes | None = None, against: str = "step", band: str | None = "std"
) -> Axes:
    """Draw how far the particles of a swarm differ: the mean number of places where two of them do.

    Parameters
    ----------
    models : estimator, list of estimators, or dict of either by name
        The fitted searches, as in `convergence`; the methods 'sgbdt', 'sgbdt-bins', 'psgbdt' and those of one tree over
        symbols or split points tell their diversity.
    ax : Axes, default=None
        Where to draw; None makes a figure.
    against : str, default="step"
        What stands along the axis: 'step', 'evaluations' or 'elapsed' (seconds).
    band : str or None, default="std"
        The band of repetitions: 'std', 'range' or None.

    Returns
    -------
    Axes
    """
    found = groups(models, Estimator)
    ax = axes(ax)
    for at, (name, runs) in enumerate(found.items()):
        told = [_telling(model, "diversity") for model in runs]
        points = [
            (_column(model, one, against), one["diversity"])
            for model, one in zip(runs, told, strict=True)
        ]
        draw_runs(ax, points, name, colour(at), band)
    ax.set_xlabel({"step": _unit(told), "elapsed": "seconds"}.get(against, against))
    ax.set_ylabel("places that differ")
    ax.set_ylim(bottom=0)
    if against != "elapsed":
        whole_steps(ax)
    tidy(ax)
    legend(ax, len(found))
    return ax


def coefficients(model: Any, *, ax: Axes | None = None, against: str = "step") -> Axes:
    r"""Draw what drives a swarm: the evolutionary factor and the adaptive coefficients that follow it.

    Parameters
    ----------
    model : estimator
        A fitted search of a method that flies a swarm. The factor is 0 where the best particle stands amid the others
        and 1 where it stands apart; :math:`\alpha` and :math:`\beta` are the chances that a place is taken from the
        particle's own best and from the global one.
    ax : Axes, default=None
        Where to draw; None makes a figure.
    against : str, default="step"
        What stands along the axis: 'step', 'evaluations' or 'elapsed' (seconds).

    Returns
    -------
    Axes
    """
    history = final(model)
    drawn = [name for name in SIGNS if name in history]
    if not drawn:
        raise ValueError(_missing(model, history, "coefficients"))
    ax = axes(ax)
    x = _column(model, history, against)
    for at, name in enumerate(SIGNS):
        if name in drawn:
            # The two pulls are often the same: dashes let the one below be seen.
            style = "--" if name == "beta" else "-"
            ax.plot(
                x,
                history[name],
                color=colour(at),
                linewidth=1.8,
                linestyle=style,
                label=SIGNS[name],
            )
    ax.set_xlabel({"step": _unit([history]), "elapsed": "seconds"}.get(against, against))
    ax.set_ylabel("coefficients")
    ax.set_ylim(-0.03, 1.03)
    if against != "elapsed":
        whole_steps(ax)
    tidy(ax)
    ax.legend(frameon=False)
    return ax


def search(model: Any, *, against: str = "step") -> Figure:
    """Draw all that a search tells, one picture above the other: convergence, diversity, coefficients.

    Parameters
    ----------
    model : estimator
        A fitted search.
    against : str, default="step"
        What stands along the axis: 'step', 'evaluations' or 'elapsed' (seconds).

    Returns
    -------
    Figure
    """
    history = final(model)
    swarm = "diversity" in history
    driven = any(name in history for name in SIGNS)
    heights = [1.6] + [1.0] * (swarm + driven)
    figure = Figure(figsize=(6.4, 2.0 * sum(heights)), layout="constrained")
    parts = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)[
        :, 0
    ].tolist()
    convergence(model, ax=parts[0], against=against)
    if "mean" in history:
        ink = {"color": colour(1), "linewidth": 1.2, "alpha": 0.9}
        parts[0].plot(
            _column(model, history, against),
            history["mean"],
            label="mean of the candidates",
            zorder=1,
            **ink,
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


def final(model: Any) -> dict[str, NDArray[Any]]:
    """Return the history of the fit that became the model: what was compared before it is left out."""
    check_is_fitted(model, "_model")
    history = model.search_history_
    if not history:
        raise ValueError(
            f"{type(model).__name__} has no search to show: its method '{model._model.method}' does not search or kept"
            " the greedy tree, or the model comes from a file; plot.learning_curve shows losses by round"
        )
    stages = history["stage"]
    compared = np.flatnonzero(stages == "comparing")
    after = np.arange(len(stages)) > (compared[-1] if len(compared) else -1)
    kept = after & ~np.isin(stages, BETWEEN)
    if not kept.any():
        # Greedy boosting won: what was in hand before is all there is to see.
        kept = ~np.isin(stages, BETWEEN)
    if not kept.any():
        kept = history["measure"] == history["measure"][-1]
    told = {name: column[kept] for name, column in history.items()}
    return {name: column for name, column in told.items() if not _empty(column)}


def _empty(column: NDArray[Any]) -> bool:
    return column.dtype.kind == "f" and bool(np.isnan(column).all())


def _telling(model: Any, name: str) -> dict[str, NDArray[Any]]:
    history = final(model)
    if name not in history:
        raise ValueError(_missing(model, history, name))
    return history


def _missing(model: Any, history: dict[str, NDArray[Any]], name: str) -> str:
    known = ("best", "mean", "gain", "diversity", "factor", "alpha", "beta")
    told = ", ".join(one for one in known if one in history)
    return f"the method '{model._model.method}' tells no {name} of its search; it tells: {told}"


def _column(model: Any, history: dict[str, NDArray[Any]], name: str) -> NDArray[np.float64]:
    """Return a column of the history; steps of stages that follow each other are counted through."""
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
    """Return the best up to each step: fits that were begun one after the other may each begin high again."""
    return (
        np.minimum.accumulate(values) if values[-1] <= values[0] else np.maximum.accumulate(values)
    )


def _greedy(history: dict[str, NDArray[Any]]) -> float:
    """Return the value of the greedy fit, of which the search saved a share."""
    best, gain = history["best"][-1], history["gain"][-1]
    return float(best / (1.0 - gain)) if gain < 1.0 else np.nan


def _unit(told: list[dict[str, NDArray[Any]]]) -> str:
    units = {
        "swarm": "iteration",
        "descents": "descent",
        "sweeps": "sweep",
        "pairs": "sweep, then pair",
    }
    return units.get(str(told[-1]["stage"][-1]), "step")


def _name(runs: list[Any]) -> str:
    return "best so far" if len(runs) == 1 else f"mean of {len(runs)} runs"
