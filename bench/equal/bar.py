"""What is asked of the swarm at each size, judged from the results.

Named sets must beat the best peer by so much. No set of at least 2000 rows may be worse than our
own tuned greedy by more than 0.2, nor worse than the best peer by more than 0.7 % of RMSE or 0.4
points of accuracy. How many splits and sets a line covers is part of the line, so that a partial
run cannot be mistaken for a whole one.
"""

import math
import statistics

from equal.compare import Results, main_metric
from equal.sets import SETS
from table import demand

LARGE = 2000
NAMED = {
    "6": {"friedman_1": 25.0, "kc_house": 8.0, "hastie": 1.0, "covtype_2": 0.6},
    "16": {"kc_house": 5.0, "friedman_1": 6.0},
    "64": {"kc_house": 4.0},
}
BELOW_GREEDY = -0.2
BELOW_PEER = {"regression": -0.7, "classification": -0.4}
TASKS = {"regression": ("regression",), "classification": ("binary", "multiclass")}


def against(results: Results, name: str, ours: str, other: str) -> float:
    """Mean difference by the main metric; `best` stands for the best peer."""
    metric = main_metric(name)
    other = results.best_peer(name, metric) if other == "best" else other
    return results.gap(name, ours, other, metric).mean


def covered(results: Results, names: list[str], ours: str) -> str:
    """How many of the splits that these sets should have were measured."""
    measured = sum(results.splits(name, ours) for name in names)
    return f"{measured} of {sum(SETS[name].splits for name in names)} splits"


def worst(results: Results, ours: str, other: str, kind: str, limit: float, at: str) -> list[str]:
    """The set on which ours is furthest behind, among all large ones of a kind."""
    wanted = [
        name
        for name, known in SETS.items()
        if known.task in TASKS[kind] and known.rows >= LARGE and not known.unlisted
    ]
    gaps = {name: against(results, name, ours, other) for name in wanted}
    gaps = {name: gap for name, gap in gaps.items() if math.isfinite(gap)}
    lowest = min(gaps, key=gaps.__getitem__, default="none")
    against_whom = {"best": "best peer", "greedy": "tuned greedy"}.get(other, other)
    unit = "%" if kind == "regression" else "points"
    splits = covered(results, wanted, ours)
    what = f"{at}: worst {kind} set against {against_whom}, {unit} ({lowest}; {splits})"
    return demand(what, gaps.get(lowest, math.nan), ">=", limit)


def mean_over_classes(results: Results, ours: str, other: str, limit: float, at: str) -> list[str]:
    """The mean over the classification sets, the extra one left out."""
    wanted = [
        name
        for name, known in SETS.items()
        if known.task in TASKS["classification"] and not known.extra
    ]
    gaps = [gap for name in wanted if math.isfinite(gap := against(results, name, ours, other))]
    splits = covered(results, wanted, ours)
    what = f"{at}: mean over classification sets against {other}, points ({splits})"
    return demand(what, statistics.fmean(gaps) if gaps else math.nan, ">=", limit)


def demands(results: Results, size: str, ours: str) -> list[list[str]]:
    """The lines of the bar at one size."""
    if size == "192":
        return total_leaves(results, ours)
    at, lines = f"{size} trees", []
    for name, limit in NAMED.get(size, {}).items():
        unit = "%" if main_metric(name) == "rmse" else "points"
        what = f"{at}: {name} against the best peer, {unit} ({covered(results, [name], ours)})"
        lines.append(demand(what, against(results, name, ours, "best"), ">=", limit))
    for kind in TASKS:
        lines.append(worst(results, ours, "greedy", kind, BELOW_GREEDY, at))
        lines.append(worst(results, ours, "best", kind, BELOW_PEER[kind], at))
    if size == "6":
        lines.append(mean_over_classes(results, ours, "greedy", 0.2, at))
        lines.append(mean_over_classes(results, ours, "catboost", 0.7, at))
    return lines


def total_leaves(results: Results, ours: str) -> list[list[str]]:
    """Level with regularised greedy forest: not worse on the mean of the regression sets, and
    nowhere far behind."""
    wanted = [
        name for name, known in SETS.items() if known.task == "regression" and not known.extra
    ]
    gaps = [gap for name in wanted if math.isfinite(gap := against(results, name, ours, "rgf"))]
    mean = statistics.fmean(gaps) if gaps else math.nan
    what = (
        f"192 leaves: mean over regression sets against rgf, % ({covered(results, wanted, ours)})"
    )
    return [
        demand(what, mean, ">=", 0.0),
        worst(results, ours, "rgf", "regression", -0.7, "192 leaves"),
    ]
