"""The page of `tree`: tables 2 and 4 of the paper beside our results, and its claims."""

import math
import statistics

import numpy as np

from evidence.page import Page
from evidence.request import Request
from evidence.tree import CONTENDERS, OPTIMIZERS, SETS
from evidence.verdict import DEFINITION, verdict
from paired import Gap, mean_and_deviation
from table import render

TITLE = "One tree by a swarm: Jun, Cho, Lee 2012, tables 2 and 4"
SEEDS = (
    "repetition k divides by numpy's `default_rng(1000 + k)` and draws artificial rows by "
    "`default_rng([2012, case, k])`; ours run with seed k, scikit-learn with seed 0"
)
HOW_TO_READ = """Test accuracy in percent, mean ± standard deviation over the repetitions; a third
of the rows is used for testing. Published values are those of CART and of the method in the paper.
`published size` is the number of leaves with which CART has the published training accuracy on
average. Gains over our CART of the same kind of size are paired: mean ± standard error in
percentage points, wins-ties-losses, and the p-value of the two-sided Wilcoxon signed-rank test (not
corrected for multiple comparisons; the splits overlap, so it is too small)."""
# The contenders that the paper has figures of; it gives empty cells a random class.
PUBLISHED = {
    "CART": "cart",
    "CART, published size": "cart",
    "apso-tree, random": "proposed",
    "apso-tree, random, published size": "proposed",
    "apso-tree, random, 5 repeats": "proposed",
    "apso-tree, random, published size, 5 repeats": "proposed",
}
SMALL_CART, CART = "CART, published size", "CART"
JUDGED_BY_PAPER = """The paper claims that its method is better than CART. `random` gives cells
without training rows a random class, as published; `nearest`, our variant, that of the nearest
cell with rows. Each is compared with the CART of its own size: pruned by cross-validation, or of
the size that has the published training accuracy of CART. With 5 repeats, four more grids on random
halves of the features compete, and the best on the training rows is kept, as published;
`cross-validated` keeps the best in cross-validation, which is ours."""


def baseline(contender: str) -> str:
    """The CART that a contender is compared with."""
    return SMALL_CART if "published size" in contender else CART


def values(lines: list[dict], name: str, contender: str, figure: str) -> dict[int, float]:
    """A figure of a contender by repetition."""
    found = [
        line
        for line in lines
        if (line["set"], line["contender"]) == (name, contender) and figure in line
    ]
    return {line["split"]: line[figure] for line in found}


def gain(lines: list[dict], name: str, contender: str, other: str, figure: str = "test") -> Gap:
    """Points of accuracy above another contender."""
    ours, theirs = (values(lines, name, who, figure) for who in (contender, other))
    return Gap(
        np.array([ours[each] - theirs[each] for each in sorted(ours.keys() & theirs.keys())])
    )


def shown(found: dict[int, float]) -> str:
    mean, deviation = mean_and_deviation(list(found.values()))
    spread = f" ± {deviation:.2f}" if math.isfinite(deviation) else ""
    return f"{mean:.2f}{spread}" if found else "-"


def accuracy_table(lines: list[dict], names: list[str]) -> str:
    """Train and test accuracy beside the paper's, and the paired gain over the CART of the same
    kind of size."""
    header = [
        "set",
        "contender",
        "published train",
        "train",
        "published test",
        "test",
        "gain over CART",
    ]
    header += ["wins-ties-losses", "p", "leaves", "thresholds", "cells", "with rows", "merged"]
    rows = []
    for name in names:
        for contender in [one for one in CONTENDERS if not one.startswith("optimizer")]:
            tested = values(lines, name, contender, "test")
            if not tested:
                continue
            paper = (
                getattr(SETS[name], PUBLISHED[contender])
                if contender in PUBLISHED
                else (math.nan, math.nan)
            )
            paper = [f"{figure:.2f}" if math.isfinite(figure) else "-" for figure in paper]
            gap = gain(lines, name, contender, baseline(contender))
            gained = (
                ["-"] * 3
                if contender == baseline(contender)
                else [f"{gap.mean:+.2f} ± {gap.error:.2f}", gap.record(), gap.chance()]
            )
            sizes = [
                values(lines, name, contender, figure)
                for figure in ("leaves", "thresholds", "cells", "occupied", "merged")
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
        for contender in [one for one in CONTENDERS if one.startswith("apso-tree")]:
            gap = gain(lines, name, contender, baseline(contender))
            if len(gap.each):
                agreement = Gap(math.copysign(1.0, claimed) * gap.each)
                ours = [f"{gap.mean:+.2f} ± {gap.error:.2f}", gap.chance(), verdict(agreement)]
                rows.append([name, contender, f"{claimed:+.2f}", *ours])
    return render(["set", "contender", "published gain", "our gain", "p", "verdict"], rows)


def optimizers_table(lines: list[dict], names: list[str]) -> str:
    """Every optimiser on every set: accuracies, and test accuracy against that of adaptive PSO."""
    published = "apso-tree, nearest"
    header = ["optimizer"]
    for name in names:
        header += [f"{name}: train", "test", "against apso (wins-ties-losses; p)"]
    rows = []
    for label, contender in [("apso", published)] + [
        (name, f"optimizer {name}") for name in OPTIMIZERS
    ]:
        cells = []
        for name in names:
            figures = [values(lines, name, contender, figure) for figure in ("train", "test")]
            gap = gain(lines, name, contender, published)
            against = "-" if contender == published else gap.told()
            cells += [*map(shown, figures), against]
        if any(cell != "-" for cell in cells):
            rows.append([label, *cells])
    return render(header, rows)


def tell(lines: list[dict], request: Request) -> Page:
    """The whole page."""
    page = Page(TITLE, SEEDS)
    names = [name for name in SETS if any(line["set"] == name for line in lines)]
    table = accuracy_table(lines, names)
    solved = [line["proven"] for line in lines if "proven" in line]
    late = (
        f"{sum(solved)} of {len(solved)} trees of ConTree and STreeD were proven optimal in 60 s."
        if solved
        else ""
    )
    page.section("Accuracy", HOW_TO_READ, table, late)
    page.section("Claims of the paper", JUDGED_BY_PAPER, DEFINITION, claims_table(lines, names))
    if any(line["contender"].startswith("optimizer") for line in lines):
        note = """The thresholds of the same grids placed by other optimisers with as many
evaluations (100 times 500), all of which know the thresholds of the preliminary tree; empty cells
have the class of the nearest cell. Differences of test accuracy are paired with those of adaptive
PSO."""
        page.section("Other optimisers", note, optimizers_table(lines, names))
    return page
