"""The page of `tree`: tables 2 and 4 of the paper beside our results, and its claims."""

import math
import statistics

import numpy as np

from evidence.page import Page
from evidence.request import Request
from evidence.tree import CONTENDERS, SETS
from paired import Gap, mean_and_deviation
from table import render

TITLE = "One tree by a swarm: Jun, Cho, Lee 2012, tables 2 and 4"
SEEDS = (
    "repetition k divides by numpy's `default_rng(1000 + k)` and draws artificial rows by "
    "`default_rng([2012, case, k])`; ours run with seed k, scikit-learn with seed 0"
)
HOW_TO_READ = """Test accuracy in percent, mean ± standard deviation over the repetitions; a third
of the rows is used for testing. Published values are those of CART and of the method in the paper.
Gains over our CART are paired: mean ± standard error in percentage points, wins-ties-losses, and
the p-value of the two-sided Wilcoxon signed-rank test (not corrected for multiple comparisons; the
splits overlap, so it is too small)."""
PUBLISHED = {
    "CART": "cart",
    "apso-tree, random": "proposed",
}  # the paper gives empty cells a random class


def values(lines: list[dict], name: str, contender: str, figure: str) -> dict[int, float]:
    """A figure of a contender by repetition."""
    found = [
        line
        for line in lines
        if (line["set"], line["contender"]) == (name, contender) and figure in line
    ]
    return {line["split"]: line[figure] for line in found}


def gain(lines: list[dict], name: str, contender: str, other: str = "CART") -> Gap:
    """Points of test accuracy above another contender."""
    ours, theirs = (values(lines, name, who, "test") for who in (contender, other))
    return Gap(
        np.array([ours[each] - theirs[each] for each in sorted(ours.keys() & theirs.keys())])
    )


def shown(found: dict[int, float]) -> str:
    mean, deviation = mean_and_deviation(list(found.values()))
    spread = f" ± {deviation:.2f}" if math.isfinite(deviation) else ""
    return f"{mean:.2f}{spread}" if found else "-"


def accuracy_table(lines: list[dict], names: list[str]) -> str:
    """Train and test accuracy beside the paper's, and the paired gain over CART."""
    header = [
        "set",
        "contender",
        "published train",
        "train",
        "published test",
        "test",
        "gain over CART",
    ]
    header += ["wins-ties-losses", "p", "leaves", "thresholds", "cells", "with rows"]
    rows = []
    for name in names:
        for contender in CONTENDERS:
            tested = values(lines, name, contender, "test")
            if not tested:
                continue
            paper = (
                getattr(SETS[name], PUBLISHED[contender])
                if contender in PUBLISHED
                else (math.nan, math.nan)
            )
            paper = [f"{figure:.2f}" if math.isfinite(figure) else "-" for figure in paper]
            gap = gain(lines, name, contender)
            gained = (
                ["-"] * 3
                if contender == "CART"
                else [f"{gap.mean:+.2f} ± {gap.error:.2f}", gap.record(), gap.chance()]
            )
            sizes = [
                values(lines, name, contender, figure)
                for figure in ("leaves", "thresholds", "cells", "occupied")
            ]
            sizes = [f"{statistics.fmean(found.values()):.1f}" if found else "-" for found in sizes]
            trained = shown(values(lines, name, contender, "train"))
            rows.append(
                [name, contender, paper[0], trained, paper[1], shown(tested), *gained, *sizes]
            )
    return render(header, rows)


def claims_table(lines: list[dict], names: list[str]) -> str:
    """The gain over CART that the paper reports, and ours."""
    rows = []
    for name in names:
        known = SETS[name]
        claimed = known.proposed[1] - known.cart[1]
        for contender in ("apso-tree, random", "apso-tree, nearest", "swarm-tree"):
            gap = gain(lines, name, contender)
            if not len(gap.each):
                continue
            sign = 1 if claimed > 0 else -1
            is_clear = gap.p_value < 0.05
            verdict = (
                "confirmed"
                if sign * gap.mean > 0 and is_clear
                else "contradicted"
                if is_clear
                else "not confirmed"
            )
            ours = [f"{gap.mean:+.2f} ± {gap.error:.2f}", gap.chance()]
            verdict = verdict if contender.startswith("apso") else "-"
            rows.append([name, contender, f"{claimed:+.2f}", *ours, verdict])
    return render(["set", "contender", "published gain", "our gain", "p", "verdict"], rows)


def tell(lines: list[dict], request: Request) -> Page:
    """The whole page."""
    page = Page(TITLE, SEEDS)
    names = [name for name in SETS if any(line["set"] == name for line in lines)]
    table = accuracy_table(lines, names)
    refused = sum(line.get("refused", 0) > 0 for line in lines)
    cut = f"{refused} grids had more than 20 thresholds; their trees were pruned further."
    solved = [line["proven"] for line in lines if "proven" in line]
    late = (
        f"{sum(solved)} of {len(solved)} trees of ConTree and STreeD were proven optimal in 60 s."
        if solved
        else ""
    )
    page.section("Accuracy", HOW_TO_READ, table, f"{cut} {late}".strip())
    note = """The paper claims that its method is better than CART. It assigns a random class to
cells without training rows; `nearest` is our variant, which assigns the class of the nearest cell
with rows. Confirmed: the gain has the sign of the paper and p < .05; contradicted: the opposite
sign and p < .05."""
    page.section("Claims of the paper", note, claims_table(lines, names))
    return page
