"""The page of `ablation`: every variant beside the published method that it changes."""

import math
import statistics

from equal.compare import main_metric
from equal.sets import SETS
from evidence.ablation import SIZE, VARIANTS
from evidence.boosting import PAPER_SETS
from evidence.page import Page
from evidence.request import Request
from evidence.verdict import DEFINITION, extent, pooled, tally, verdict
from metrics import LOWER_IS_BETTER
from paired import Gap
from table import number, render

TITLE = "Changes of the published swarm, with equal budgets of evaluations (Rao 2022, section 8)"
SEEDS = "split k divides the rows as on the other pages, and every run has seed k"
HOW_TO_READ = """Mean on the test rows ± standard error over the splits, and how many splits the
figure rests on. Gains over the published method are paired: percentage points of accuracy, or
percent of the RMSE, ± standard error; positive is better. p is that of the two-sided Wilcoxon
signed-rank test, not corrected for multiple comparisons; the splits overlap, so it is too small.
Fitness is the same metric on the training rows, which the search optimises."""
NOTE = """Every variant may evaluate as many sequences: 100 iterations of 50 particles (200 for
numbers). What it used of this budget is the column `evaluations`, and differs: a swarm that has
converged evaluates fewer, because positions that were evaluated before cost nothing. `split-tree`
is a single tree of the same splits; its budget is the same number of iterations."""
CLAIM = """The claim of every variant is that it is better than the published method. `better` and
`worse` count the sets by the mean, `p < .05` those of them with a significant difference by
itself."""


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
    return Gap.between(ours, theirs, LOWER_IS_BETTER[main_metric(name)])


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
    """The sets on which each variant is better or worse than the published method, and what all of
    them together say."""
    header = ["variant", "compared with", "splits x sets", "better", "p < .05", "worse", "p < .05"]
    header += ["gain", "p", "verdict"]
    rows = []
    for variant, (base, _) in VARIANTS.items():
        gaps = [gain(lines, name, variant) for name in names]
        gaps = [gap for gap in gaps if len(gap.each)]
        if variant == base or not gaps:
            continue
        counts = [sum(sign * gap.mean > 0 for gap in gaps) for sign in (1, -1)]
        clear, together = tally(gaps), pooled(gaps)
        row = [extent(gaps), str(counts[0]), str(clear[0]), str(counts[1]), str(clear[1])]
        gained = [f"{together.mean:+.2f}", together.chance(), verdict(together)]
        rows.append([variant, base, *row, *gained])
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
    parts = (HOW_TO_READ, NOTE, DEFINITION, CLAIM, overview(lines, names))
    page.section("Variants over all sets", *parts)
    for name in names:
        page.section(name, set_table(lines, name))
    return page
