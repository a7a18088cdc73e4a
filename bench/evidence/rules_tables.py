"""The page of `rules`: means at equal splits, gains over the others, one set after the other."""

import numpy as np

from evidence.page import Page
from evidence.request import Request
from evidence.rules import METRICS, OURS, SETS, SIZES
from paired import Gap
from table import render

TITLE = "Few splits: sums of small trees"
SEEDS = (
    "split k is drawn with numpy's `default_rng(k)`, generated rows with 2022; all fits have seed 0"
)
HOW_TO_READ = """Means over the sets of the means over their splits, in percent, at equal numbers of
splits; log loss times 100. A gain is the mean of the sets' paired differences ± its standard error
over the sets (better-equal-worse sets)."""
GROUPS = {"confirmation": True, "development": False}
TOLD = {
    "confirmation": "Sets that were measured once, after all choices were made.",
    "development": "Sets on which the method was developed.",
}
SHOWN = {
    "test_r2": "R²",
    "test_accuracy": "accuracy",
    "test_auc": "AUC",
    "test_logloss": "log loss",
}
ORDER = ("tree-sum", "FIGS", "hierarchical shrinkage", "CART", "swarm-tree", "tree-sum, no guard")
SUM = "tree-sum"


def by_set(lines: list[dict], size: str, who: str, metric: str, group: bool) -> dict:
    """A metric by set and split."""
    found: dict[str, dict[int, float]] = {}
    for line in lines:
        is_asked = (line["size"], line["contender"]) == (size, who) and metric in line
        if is_asked and SETS[line["set"]].confirmation == group:
            found.setdefault(line["set"], {})[line["split"]] = line[metric]
    return found


def mean(found: dict) -> str:
    values = [np.mean(list(splits.values())) for splits in found.values()]
    return f"{np.mean(values):.1f}" if values else "-"


def gap(ours: dict, theirs: dict, sign: float) -> Gap:
    """One difference per set: the mean over the splits of both."""
    each = []
    for name in ours.keys() & theirs.keys():
        splits = ours[name].keys() & theirs[name].keys()
        if splits:
            each.append(sign * np.mean([ours[name][at] - theirs[name][at] for at in splits]))
    return Gap(np.array(sorted(each)))


def told(difference: Gap) -> str:
    if not len(difference.each):
        return "-"
    return f"{difference.mean:+.2f} ± {difference.error:.2f} ({difference.record()})"


def means_table(lines: list[dict], group: bool) -> str:
    rows = []
    for metric in SHOWN:
        sign = -1.0 if metric == "test_logloss" else 1.0
        for size in SIZES:
            found = {who: by_set(lines, size, who, metric, group) for who in ORDER}
            if not found[SUM]:
                continue
            gains = [told(gap(found[SUM], found[who], sign)) for who in ("FIGS", "swarm-tree")]
            rows.append([SHOWN[metric], size, *(mean(found[who]) for who in ORDER), *gains])
    header = ["metric", "splits", *ORDER, "gain over FIGS", "gain over swarm-tree"]
    return render(header, rows) if rows else ""


def choice_table(lines: list[dict], group: bool) -> str:
    """How far the choice of cross-validation is from the better of a sum and one tree."""
    rows = []
    for metric in ("test_r2", "test_accuracy", "test_auc"):
        for size in SIZES:
            ours, alone, tree = (
                by_set(lines, size, who, metric, group)
                for who in (SUM, "tree-sum, no guard", "swarm-tree")
            )
            names = sorted(ours.keys() & alone.keys() & tree.keys())
            if not names:
                continue
            values = [
                [np.mean(list(found[name].values())) for found in (ours, alone, tree)]
                for name in names
            ]
            worse = [one - max(both) for one, *both in values]
            rows.append([SHOWN[metric], size, f"{np.mean(worse):+.2f}", f"{min(worse):+.2f}"])
    header = ["metric", "splits", "mean difference", "least"]
    return render(header, rows) if rows else ""


def sets_table(lines: list[dict], group: bool) -> str:
    rows = []
    for name in [name for name in SETS if SETS[name].confirmation == group]:
        for metric in METRICS[SETS[name].task][:2]:
            for size in SIZES:
                found = {who: by_set(lines, size, who, metric, group).get(name) for who in ORDER}
                if found[SUM]:
                    cells = [mean({name: one}) if one else "-" for one in found.values()]
                    rows.append([name, SHOWN[metric], size, *cells])
    return render(["set", "metric", "splits", *ORDER], rows) if rows else ""


def sizes_table(lines: list[dict], is_busy: bool) -> str:
    """Trees, and seconds on an idle machine."""
    rows = []
    for who in (*OURS, "FIGS"):
        for size in SIZES:
            own = [line for line in lines if (line["size"], line["contender"]) == (size, who)]
            trees = [line["trees"] for line in own if "trees" in line]
            if not trees:
                continue
            cells = [f"{np.mean(trees):.1f}", f"{np.mean([line['splits'] for line in own]):.1f}"]
            seconds = [] if is_busy else [line["seconds"] for line in own if "seconds" in line]
            rows.append([who, size, *cells, f"{np.mean(seconds):.1f}" if seconds else "-"])
    return render(["contender", "asked splits", "trees", "splits", "seconds"], rows) if rows else ""


def tell(lines: list[dict], request: Request) -> Page:
    page = Page(TITLE, SEEDS)
    for name, group in GROUPS.items():
        table = means_table(lines, group)
        if table:
            names = ", ".join(one for one in SETS if SETS[one].confirmation == group)
            page.section(
                f"{name.capitalize()} sets", TOLD[name], f"They are {names}.", HOW_TO_READ, table
            )
            page.section(
                f"Choice between a sum and one tree, {name} sets",
                "`tree-sum` minus the better of `tree-sum, no guard` and `swarm-tree` by set.",
                choice_table(lines, group),
            )
    for name, group in GROUPS.items():
        page.section(f"Results by set, {name} sets", sets_table(lines, group))
    page.section("Size and time", sizes_table(lines, request.busy))
    return page
