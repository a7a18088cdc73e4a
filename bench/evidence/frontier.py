"""Test metric against size: who is ahead at which size, who is never behind, and what a model of
that size costs."""

import math

import numpy as np

from equal.compare import Results, main_metric
from equal.contenders import PEERS, SIZES
from equal.sets import SETS
from evidence.figures import Panel, draw
from table import number, render

OURS = "swarm"
ALL = (OURS, "greedy", *PEERS)
TASKS = ("regression", "binary", "multiclass")
NAMES = {
    "swarm": "Swarmwood",
    "greedy": "Swarmwood greedy",
    "xgboost": "XGBoost",
    "xgboost-leaf": "XGBoost leaf-wise",
    "lightgbm": "LightGBM",
    "catboost": "CatBoost",
}
NOTE = """The figure has means over the splits that all sizes of a set have in common; RMSE (lower
is better) or accuracy in percent (higher is better). The horizontal axis is the number of leaves of
the whole model as counted, or the maximum (trees times leaves per tree) if it was not counted;
lines connect the sizes in the order of their numbers of trees. The table compares the search with
the best peer of the same size, selected in hindsight, on all splits: percent lower RMSE or
percentage points of accuracy ± standard error (wins-ties-losses; p-value of the Wilcoxon
signed-rank test)."""
DOMINANCE = """A contender dominates another on a set if its mean over the splits is not worse at
any size, and better by more than two standard errors of the paired difference at one of them.
The fourth column counts the sizes where the search of Swarmwood is better than the best peer of
that size, selected in hindsight, by more than two standard errors, and those where it is worse by
as much; this is a description, not a verdict."""
TREES = """The smallest number of trees with which the best peer, selected in hindsight, reaches the
mean of Swarmwood with the number of trees in the heading (with the leaves per tree of that size),
on the splits that all sizes of a set have in common; `more`: more than were measured."""
LEAVES = (
    "Mean total number of leaves of all trees, as counted; a dash if only the maximum is known."
)
LATENCY = """The model of the first split, a batch of 50,000 rows, one thread, best of three runs.
Peers predict an array in memory; for Swarmwood it is the prediction time that the binary
reports."""
NOT_TIMED = "Not measured: the machine was busy with other work."


def leaves_at(results: Results, name: str, contender: str, size: str) -> float:
    """Leaves of a model: as counted, else as many as are allowed."""
    counted = results.mean(name, contender, "leaves")
    trees = SIZES[size].trees * (7 if SETS[name].task == "multiclass" else 1)
    return counted if math.isfinite(counted) else float(trees * SIZES[size].leaves)


def sets_of(by_size: dict[str, Results]) -> list[str]:
    measured = {name for results in by_size.values() for name in results.sets(*TASKS)}
    return [name for name in SETS if name in measured]


def on_common_splits(by_size: dict[str, Results]) -> dict[str, Results]:
    """The results of a set on the splits that all its sizes and contenders have: only those compare
    across sizes."""
    kept: dict[str, dict] = {size: {} for size in by_size}
    for name in sets_of(by_size):
        place = [(name, contender, main_metric(name)) for contender in ALL]
        known = [
            set(results.values[key])
            for results in by_size.values()
            for key in place
            if key in results.values
        ]
        common = set.intersection(*known) if known else set()
        for size, results in by_size.items():
            for key, found in results.values.items():
                if key[0] == name:
                    kept[size][key] = {
                        split: value for split, value in found.items() if split in common
                    }
    return {size: Results(values) for size, values in kept.items()}


def draw_frontiers(by_size: dict[str, Results]) -> tuple[str, str] | None:
    """One panel per set."""
    panels = []
    for name in sets_of(by_size):
        metric = main_metric(name)
        share = 100 if metric == "accuracy" else 1
        panel = Panel(
            name, "leaves", "accuracy, %" if metric == "accuracy" else "RMSE", is_logarithmic=True
        )
        for contender in ALL:
            points = [
                (
                    leaves_at(results, name, contender, size),
                    share * results.mean(name, contender, metric),
                )
                for size, results in by_size.items()
            ]
            points = [point for point in points if math.isfinite(point[1])]
            if points:
                panel.curves[NAMES[contender]] = tuple(map(list, zip(*points, strict=True)))
        if panel.curves:
            panels.append(panel)
    return draw(panels, "Test metric against the leaves of the model") if panels else None


def summary(by_size: dict[str, Results]) -> str:
    """Swarmwood against the best peer in hindsight: one column per size."""
    rows = []
    for name in sets_of(by_size):
        metric = main_metric(name)
        row = [name]
        for results in by_size.values():
            best = results.best_peer(name, metric)
            gap = results.gap(name, OURS, best, metric)
            row.append(f"{gap.told()} {best}" if len(gap.each) else "-")
        rows.append(row)
    return render(
        ["set", *(SIZES[size].title.replace(" of at most ", " of ") for size in by_size)], rows
    )


def dominates(by_size: dict[str, Results], name: str, one: str, other: str) -> bool:
    """Whether one contender is behind at no size and clearly ahead at one; sizes that both were
    measured at."""
    gaps = [results.gap(name, one, other, main_metric(name)) for results in by_size.values()]
    gaps = [gap for gap in gaps if len(gap.each)]
    return (
        bool(gaps)
        and all(gap.mean >= 0 for gap in gaps)
        and any(gap.is_clear and gap.mean > 0 for gap in gaps)
    )


def dominance_table(by_size: dict[str, Results]) -> str:
    """Whom Swarmwood's search dominates, by whom it is dominated, and where it is clearly ahead or
    behind."""
    rows = []
    for name in sets_of(by_size):
        metric = main_metric(name)
        below = [NAMES[other] for other in ALL[1:] if dominates(by_size, name, OURS, other)]
        above = [NAMES[other] for other in ALL[1:] if dominates(by_size, name, other, OURS)]
        gaps = [
            results.gap(name, OURS, results.best_peer(name, metric), metric)
            for results in by_size.values()
        ]
        gaps = [gap for gap in gaps if len(gap.each)]
        ahead, behind = (
            sum(gap.is_clear and sign * gap.mean > 0 for gap in gaps) for sign in (1, -1)
        )
        among = [
            f"{NAMES[one]} > {NAMES[other]}"
            for one in PEERS
            for other in PEERS
            if one != other and dominates(by_size, name, one, other)
        ]
        counts = f"{ahead} ahead, {behind} behind of {len(gaps)}"
        rows.append(
            [
                name,
                ", ".join(below) or "none",
                ", ".join(above) or "none",
                counts,
                ", ".join(among) or "none",
            ]
        )
    return render(
        ["set", "dominated by Swarmwood", "dominate Swarmwood", "two errors", "among the peers"],
        rows,
    )


def trees_table(by_size: dict[str, Results]) -> str:
    """For each size of ours the smallest size at which the best peer is as good."""
    sizes = list(by_size)
    rows = []
    for name in sets_of(by_size):
        metric = main_metric(name)
        sign = -1 if metric == "rmse" else 1
        row = [name]
        for size in sizes:
            ours = sign * by_size[size].mean(name, OURS, metric)
            reached = [
                other
                for other in sizes
                if any(sign * by_size[other].mean(name, peer, metric) >= ours for peer in PEERS)
            ]
            row.append("-" if not math.isfinite(ours) else reached[0] if reached else "more")
        rows.append(row)
    return render(["set", *(f"ours with {size}" for size in sizes)], rows)


def leaves_table(by_size: dict[str, Results]) -> str:
    """Counted leaves, set by set, for every contender the sizes one after the other."""
    rows = []
    for name in sets_of(by_size):
        row = [name]
        for contender in ALL:
            found = [results.mean(name, contender, "leaves") for results in by_size.values()]
            row.append(
                " / ".join(f"{count:.0f}" if math.isfinite(count) else "-" for count in found)
            )
        rows.append(row)
    told = [cell for row in rows for cell in row[1:]]
    if not any(any(letter.isdigit() for letter in cell) for cell in told):
        return ""
    return render(
        ["set, with " + " / ".join(by_size) + " trees", *(NAMES[contender] for contender in ALL)],
        rows,
    )


def latency_table(lines: list[dict]) -> str:
    """Nanoseconds a row, a line a set and size."""
    timed = [line for line in lines if "nanoseconds" in line and SIZES[line["size"]].trees]
    rows = []
    for name in (name for name in SETS if any(line["set"] == name for line in timed)):
        for size in SIZES:
            found = {
                line["contender"]: line["nanoseconds"]
                for line in timed
                if (line["set"], line["size"]) == (name, size)
            }
            if found:
                row = [number(found.get(contender, math.nan)) for contender in ALL]
                peers = [found[peer] for peer in PEERS if peer in found]
                ratio = found[OURS] / min(peers) if OURS in found and peers else np.nan
                rows.append([f"{name}, {size} trees", *row, number(ratio)])
    return (
        render(["set, size", *(NAMES[contender] for contender in ALL), "ours / fastest peer"], rows)
        if rows
        else ""
    )
