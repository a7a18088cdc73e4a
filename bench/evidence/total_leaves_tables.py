"""The page of `total-leaves`: ours against the peer that inner validation picks, and against the
best in hindsight."""

import math
import statistics
from collections.abc import Callable, Iterable

from equal.contenders import PEERS
from equal.sets import SETS
from evidence.page import Page
from evidence.request import Request
from evidence.total_leaves import CONFIRMATION, DEVELOPMENT, MAIN, OURS, SIZES, TINY
from evidence.verdict import pooled
from metrics import LOWER_IS_BETTER, OF_TASK
from paired import Gap
from table import number, render

TITLE = "Equal number of leaves: the shape is the library's choice"
SEEDS = (
    "split k is drawn with numpy's `default_rng(k)`, its inner split with `default_rng(1000 + k)`; "
    "all fits have seed 0"
)
HOW_TO_READ = """Every model has at most the given number of leaves in all (with several classes:
for each class). Ours is `swarmwood train --total-leaves N`. The peers are XGBoost depth-wise and
leaf-wise, LightGBM and CatBoost, each with 2 to 64 leaves per tree, learning rate 1, 0.5, 0.3 or
0.15 and lambda 1, 10 or 50, whichever is best on an inner validation fifth of the training rows;
their other settings are their defaults. *Picked* is the peer with the best inner validation score
of the four, chosen anew for each split: what a user of all four would get. *Hindsight* is the peer
with the best mean on the test rows. Differences are percent of RMSE or log loss, and points of
accuracy or AUC, positive if ours is better: mean ± standard error over the splits."""
OF_SETS = """Constants of the default search were chosen on the development sets. The confirmation
sets took part in two choices: the result on `linear` led to trees of two leaves being tried for any
number of leaves, and learning rates of small trees were chosen on sets of both groups (`linear`,
`parkinsons`, `digits_odd`, `quantiles` and `hastie_500` among them), so that the gains on these are
optimistic. Decision 0021 in `docs/decisions` has 44 further sets that took no part in it."""
OF_TINY = """Random samples of 200 to 600 rows are the training rows, up to 4,000 others the test
rows; the tables say how many samples were measured."""
OF_MEANS = """Mean, median and worst are over sets; *clear* counts the sets whose mean is more than
two standard errors from zero, and *splits won* those that are not equal. Means of log loss are
carried by sets whose classes are nearly separable (banknote, digits_odd), where a few rows decide:
the median says more."""
NAMES = {"xgboost": "XGBoost", "xgboost-leaf": "XGBoost leaf-wise"}
NAMES |= {"lightgbm": "LightGBM", "catboost": "CatBoost"}

Values = dict[tuple[str, str, str], dict[int, float]]


def values_of(lines: Iterable[dict], size: str) -> Values:
    """Set, contender and figure to the value of each split."""
    found: Values = {}
    for line in (line for line in lines if line["size"] == size):
        for figure, value in line.items():
            if figure.startswith(("test_", "inner_")):
                place = (line["set"], line["contender"], figure)
                found.setdefault(place, {})[line["split"]] = value
    return found


def better(metric: str) -> Callable[..., str]:
    return min if LOWER_IS_BETTER[metric] else max


def picked(values: Values, name: str, metric: str) -> dict[int, float]:
    """The test metric of the peer with the best inner validation score, split by split."""
    inner = {peer: values.get((name, peer, f"inner_{metric}"), {}) for peer in PEERS}
    common = set.intersection(*(set(found) for found in inner.values()))
    choose = better(metric)
    return {
        split: values[name, choose(PEERS, key=lambda peer: inner[peer][split]), f"test_{metric}"][
            split
        ]
        for split in common
    }


def hindsight(values: Values, name: str, metric: str) -> tuple[str, dict[int, float]]:
    """The peer with the best mean on the test rows."""
    tested = {peer: values.get((name, peer, f"test_{metric}"), {}) for peer in PEERS}
    common = set.intersection(*(set(found) for found in tested.values()))
    if not common:
        return "", {}
    mean = {
        peer: statistics.fmean(found[split] for split in common) for peer, found in tested.items()
    }
    peer = better(metric)(PEERS, key=mean.__getitem__)
    return peer, {split: tested[peer][split] for split in common}


def gap(values: Values, name: str, metric: str, other: dict[int, float]) -> Gap:
    """By how much ours is better."""
    ours = values.get((name, OURS, f"test_{metric}"), {})
    return Gap.between(ours, other, LOWER_IS_BETTER[metric])


def shown(found: Gap) -> str:
    if not len(found.each):
        return "-"
    error = f" ± {found.error:.2f}" if math.isfinite(found.error) else ""
    return f"{found.mean:+.2f}{error}"


def selecting(metric: str) -> str:
    """The metric that a peer is picked by."""
    return "logloss" if metric == "auc" else metric


def set_table(values: Values, names: Iterable[str], metric: str) -> str:
    """One metric on several sets."""
    header = ["set", "splits", "ours", "against picked", "hindsight", "", "against it"]
    rows = []
    for name in names:
        ours = values.get((name, OURS, f"test_{metric}"), {})
        peer, best = hindsight(values, name, metric)
        if not ours or not peer:
            continue
        scale = 1 if LOWER_IS_BETTER[metric] else 100
        means = [number(scale * statistics.fmean(found.values()), 4) for found in (ours, best)]
        against = shown(gap(values, name, metric, picked(values, name, metric)))
        rows.append(
            [
                name,
                str(len(ours.keys() & best.keys())),
                means[0],
                against,
                NAMES[peer],
                means[1],
                shown(gap(values, name, metric, best)),
            ]
        )
    return render(header, rows) if rows else ""


def names_of(values: Values, names: Iterable[str], tasks: tuple[str, ...]) -> list[str]:
    measured = {name for name, _, _ in values}
    return [name for name in names if name in measured and SETS[name].task in tasks]


GROUPS = {
    "numbers": (("regression",), ("rmse",)),
    "classes": (("binary", "multiclass"), ("logloss", "accuracy")),
}


def summary(values: Values, groups: dict[str, tuple[str, ...]]) -> str:
    """Means over sets, against the picked peer and against the best in hindsight."""
    header = ["sets", "metric", "number", "against", "mean", "median", "worst", "clear for/against"]
    header += ["splits won"]
    rows = []
    for group, names in groups.items():
        for kind, (tasks, wanted) in GROUPS.items():
            chosen = names_of(values, names, tasks)
            for metric in wanted:
                pairs = {
                    "picked": [
                        gap(values, name, metric, picked(values, name, metric)) for name in chosen
                    ],
                    "hindsight": [
                        gap(values, name, metric, hindsight(values, name, metric)[1])
                        for name in chosen
                    ],
                }
                for against, gaps in pairs.items():
                    gaps = [each for each in gaps if len(each.each)]
                    if gaps:
                        rows.append([f"{group}, {kind}", metric, *summed(gaps, against)])
    return render(header, rows) if rows else ""


def summed(gaps: list[Gap], against: str) -> list[str]:
    """The columns of a summary after the names of sets and metric."""
    means = [each.mean for each in gaps]
    told = [statistics.fmean(means), statistics.median(means), min(means)]
    signs = [[each.is_clear and sign * each.mean > 0 for each in gaps] for sign in (1, -1)]
    clear = "/".join(str(sum(of_sign)) for of_sign in signs)
    wins, _, losses = pooled(gaps).counts
    won = f"{wins} of {wins + losses}"
    return [str(len(gaps)), against, *(f"{value:+.2f}" for value in told), clear, won]


def tell(lines: list[dict], request: Request) -> Page:
    """The page of whatever cells there are."""
    page = Page(TITLE, SEEDS)
    lines = [line for line in lines if any(name.startswith("test_") for name in line)]
    usual = {"development": DEVELOPMENT, "confirmation": CONFIRMATION}
    for size in SIZES:
        values = values_of(lines, size)
        if not values:
            continue
        groups = usual | ({"200 to 600 rows": TINY} if size == MAIN else {})
        parts = [HOW_TO_READ, OF_SETS, OF_TINY, OF_MEANS] if size == MAIN else []
        page.section(f"{size} leaves", *parts, summary(values, groups))
        for group, names in groups.items():
            for kind, (tasks, _) in GROUPS.items():
                chosen = names_of(values, names, tasks)
                metrics = dict.fromkeys(m for name in chosen for m in OF_TASK[SETS[name].task])
                for metric in ("rmse", "logloss", "accuracy", "auc"):
                    if metric in metrics:
                        drawn = set_table(values, chosen, metric)
                        page.section(f"{size} leaves, {group} sets, {kind}: {metric}", drawn)
    if not page.sections:
        page.section("Sets", "No cell has been measured yet.")
    return page
