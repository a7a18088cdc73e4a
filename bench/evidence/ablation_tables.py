"""The page of `ablation`: every variant beside the published method that it changes."""

import math
import statistics

import numpy as np

from equal.compare import main_metric
from equal.sets import SETS
from evidence.ablation import SIZE, VARIANTS
from evidence.boosting import PAPER_SETS
from evidence.page import Page
from evidence.request import Request
from metrics import LOWER_IS_BETTER
from paired import Gap
from table import number, render

TITLE = "Changes of the published swarm, at equal evaluations (Rao 2022, section 8)"
SEEDS = "split k divides the rows as on the other pages, and every run has seed k"
HOW_TO_READ = """Mean on the test rows ± standard error over the splits, and how many splits the
figure rests on. Gains over the published method are paired: percentage points of accuracy, or
percent of the RMSE, ± standard error; positive is better. p is that of the two-sided Wilcoxon
signed-rank test, not corrected for multiple comparisons; the splits overlap, so it is too small.
Fitness is the same metric on the training rows, which the search optimises."""
NOTE = """At most 100 iterations of 50 particles (200 for numbers) are evaluated by every variant. A
swarm that has converged evaluates fewer, because positions that were evaluated before cost nothing.
`split-tree` is a single tree of the same splits."""


def values(lines: list[dict], name: str, variant: str, figure: str) -> dict[int, float]:
    """A figure of a variant by split."""
    own = [line for line in lines if (line["set"], line["contender"]) == (name, variant)]
    return {line["split"]: line[figure] for line in own if figure in line}


def mean_and_error(found: dict[int, float]) -> str:
    """Mean ± standard error, in percent for shares."""
    if not found:
        return "-"
    mean = statistics.fmean(found.values())
    if len(found) < 2:
        return number(mean, 4)
    error = statistics.stdev(found.values()) / math.sqrt(len(found))
    return f"{number(mean, 4)} ± {number(error, 2)}"


def gain(lines: list[dict], name: str, variant: str) -> Gap:
    """How much better than the published method, on the splits that both were measured on."""
    ours = values(lines, name, variant, "score")
    theirs = values(lines, name, VARIANTS[variant][0], "score")
    both = sorted(ours.keys() & theirs.keys())
    a, b = (np.array([found[split] for split in both]) for found in (ours, theirs))
    return Gap(100 * (1 - a / b) if LOWER_IS_BETTER[main_metric(name)] else 100 * (a - b))


def set_table(lines: list[dict], name: str) -> str:
    """All variants on one set that have a cell."""
    header = ["variant", main_metric(name), "splits", "gain", "wins-ties-losses", "p", "fitness"]
    header += ["evaluations", "iterations"]
    rows = []
    for variant, (base, _) in VARIANTS.items():
        scores = values(lines, name, variant, "score")
        if not scores:
            continue
        gap = gain(lines, name, variant)
        gained = ["-"] * 3
        if variant != base and len(gap.each):
            error = f" ± {gap.error:.2f}" if math.isfinite(gap.error) else ""
            gained = [f"{gap.mean:+.2f}{error}", gap.record(), gap.chance()]
        sizes = [values(lines, name, variant, figure) for figure in ("evaluations", "iterations")]
        means = [f"{statistics.fmean(size.values()):.0f}" if size else "-" for size in sizes]
        fitness = mean_and_error(values(lines, name, variant, "fitness"))
        rows.append([variant, mean_and_error(scores), str(len(scores)), *gained, fitness, *means])
    return render(header, rows)


def overview(lines: list[dict], names: list[str]) -> str:
    """The sets on which each variant is better or worse than the published method."""
    header = ["variant", "compared with", "sets", "better", "clearly", "worse", "clearly worse"]
    header += ["splits"]
    rows = []
    for variant, (base, _) in VARIANTS.items():
        gaps = [gain(lines, name, variant) for name in names]
        gaps = [gap for gap in gaps if len(gap.each)]
        if variant == base or not gaps:
            continue
        better, worse = ([gap for gap in gaps if sign * gap.mean > 0] for sign in (1, -1))
        clear = [str(sum(gap.p_value < 0.05 for gap in some)) for some in (better, worse)]
        splits = str(sum(len(gap.each) for gap in gaps))
        counts = [str(len(gaps)), str(len(better)), clear[0], str(len(worse)), clear[1], splits]
        rows.append([variant, base, *counts])
    return render(header, rows)


def tell(lines: list[dict], request: Request) -> Page:
    """The page of whatever cells there are."""
    page = Page(TITLE, SEEDS)
    lines = [line for line in lines if line["size"] == SIZE]
    order = [*PAPER_SETS, *(name for name in SETS if name not in PAPER_SETS)]
    names = [name for name in order if any(line["set"] == name for line in lines)]
    if not names:
        page.section("Variants", "No cell has been measured yet.")
        return page
    page.section("Variants over all sets", HOW_TO_READ, NOTE, overview(lines, names))
    for name in names:
        page.section(name, set_table(lines, name))
    return page
