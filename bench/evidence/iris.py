"""Tree Swarm Optimisation on Iris, which Rao 2022 reviews (section 3.2): an error of 5.84 % after
2800 evaluations, beside 5.9 % of C4.5 and 5.6 % of genetic programming (19,900 evaluations).

The review does not state how rows were divided. Here a repetition is a stratified ten-fold
cross-validation with folds of its own, and its error is that of all rows, each predicted by the
tree that was trained without its fold. 50 particles fly 56 iterations: 2800 evaluations. C4.5 is
stood for by our CART with the gain ratio and cost-complexity pruning.
"""

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from evidence.page import Page
from evidence.request import Job, Request
from evidence.tree import run
from evidence.verdict import DEFINITION, verdict
from paired import Gap, mean_and_deviation
from table import render

SIZE, NAME, REPEATS, FOLDS = "paper", "iris", 20, 10
POPULATION, ITERATIONS = 50, 56
TSO = ("--method", "tso-tree", "--population", str(POPULATION))
OURS = {
    "tso-tree": (*TSO, "--iterations", str(ITERATIONS)),
    "tso-tree, ten times the evaluations": (*TSO, "--iterations", str(10 * ITERATIONS)),
    "cart, gain ratio": ("--method", "cart", "--criterion", "gain-ratio"),
    "cart": ("--method", "cart"),
    "swarm-tree": ("--method", "swarm-tree"),
}
PUBLISHED = {"tso-tree": "5.84", "cart, gain ratio": "5.9 (C4.5)"}
# What is claimed, the published difference, and the two contenders.
CLAIMS = (
    ("TSO has a lower error than C4.5", "+0.06", "tso-tree", "cart, gain ratio"),
    ("(ours) swarm-tree has a lower error than TSO", "-", "swarm-tree", "tso-tree"),
    ("(ours) swarm-tree has a lower error than C4.5", "-", "swarm-tree", "cart, gain ratio"),
)
TITLE = "Tree Swarm Optimisation on Iris"
SEEDS = "repetition k divides by scikit-learn's `StratifiedKFold(10, random_state=k)`; seed k"


def plan(request: Request) -> Iterator[Job]:
    """Every contender in every repetition."""
    for repetition in range(request.repeats or (2 if request.quick else REPEATS)):
        for contender in (name for name in OURS if request.wants("contenders", name)):
            yield Job(NAME, repetition, SIZE, contender, request, measure, ours=True)


def asked_for(line: dict, request: Request) -> bool:
    """Whether a line of the cache belongs on the page."""
    return line["set"] == NAME and line["contender"] in OURS


def rows() -> pd.DataFrame:
    """Iris as it comes with scikit-learn."""
    from sklearn.datasets import load_iris

    return load_iris(as_frame=True).frame


def measure(job: Job) -> dict:
    """The error in percent over all rows, and the mean size and work of the trees."""
    from sklearn.model_selection import StratifiedKFold

    frame = rows()
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=job.split)
    wrong, leaves, evaluations = 0.0, [], []
    with tempfile.TemporaryDirectory(prefix="iris-") as folder:
        files = Path(folder) / "train.csv", Path(folder) / "test.csv"
        for kept, tested in folds.split(frame, frame["target"]):
            for part, file in zip((kept, tested), files, strict=True):
                frame.iloc[part].to_csv(file, index=False)
            told = run(job.request.binary, *files, [*OURS[job.contender], "--seed", job.split])
            wrong += len(tested) * (1 - told["metrics"]["valid"]["accuracy"])
            leaves.append(told["search"]["leaves"])
            evaluations.append((told["search"]["swarm"] or {}).get("evaluations", 0))
    found = {"error": 100 * wrong / len(frame), "leaves": statistics.fmean(leaves)}
    return found | {"evaluations": statistics.fmean(evaluations)}


def errors(lines: list[dict], contender: str) -> dict[int, float]:
    """The error of a contender by repetition."""
    return {line["split"]: line["error"] for line in lines if line["contender"] == contender}


def error_table(lines: list[dict]) -> str:
    """Every contender with the figure of the review beside it."""
    table = []
    for contender in OURS:
        own = [line for line in lines if line["contender"] == contender]
        if not own:
            continue
        mean, deviation = mean_and_deviation([line["error"] for line in own])
        spread = f" ± {deviation / len(own) ** 0.5:.2f}" if len(own) > 1 else ""
        sizes = [
            f"{statistics.fmean(line[name] for line in own):.{digits}f}"
            for name, digits in (("leaves", 1), ("evaluations", 0))
        ]
        published = PUBLISHED.get(contender, "-")
        table.append([contender, published, f"{mean:.2f}{spread}", str(len(own)), *sizes])
    header = ["contender", "published", "error", "repetitions", "leaves", "evaluations"]
    if not table:
        return "No cell has been measured yet."
    table.append(["genetic programming (19,900 evaluations)", "5.6", *["-"] * 4])
    return render(header, table)


def claims_table(lines: list[dict]) -> str:
    """Who has the lower error, paired by repetition."""
    rows = []
    for what, published, first, second in CLAIMS:
        ours, theirs = errors(lines, first), errors(lines, second)
        both = sorted(ours.keys() & theirs.keys())
        gap = Gap(np.array([theirs[split] - ours[split] for split in both]))
        mean = f"{gap.mean:+.2f}" if both else "-"
        rows.append([what, published, mean, gap.record(), gap.chance(), verdict(gap)])
    header = ["claim", "published", "difference", "wins-ties-losses", "p", "verdict"]
    return render(header, rows)


def tell(lines: list[dict], request: Request) -> Page:
    """The errors, and who is better than whom."""
    page = Page(TITLE, SEEDS)
    note = """Error in percent of all rows, mean ± standard error over the repetitions, each a
ten-fold cross-validation. The published figures are those of the review; how their rows were
divided is not stated."""
    page.section("Error", note, error_table(lines))
    if lines:
        note = "Differences are percentage points of error; positive ones agree with the claim."
        page.section("Claims", DEFINITION, note, claims_table(lines))
    return page
