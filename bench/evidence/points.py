"""What do whole numbers in leaves cost?

The default method with `--points 0..100`, `0..20` and `0..10`, beside the model of floating-point
numbers that it begins with, and beside that model with every leaf rounded by itself: to the same
grid, whose unit is the largest difference of two leaves of a tree, divided by the most points. All
have the same trees and differ in leaf values and start values only.
"""

import copy
import json
import os
import statistics
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import child
import metrics
from equal.cell import Cell, cell
from equal.measure import raw_scores
from equal.sets import SETS
from evidence.page import Page
from evidence.request import Job, Request
from table import render

FLOAT, ROUNDED, POINTS = "floating point", "rounded", "points"
CONTENDERS = (FLOAT, ROUNDED, POINTS)
SIZES = ("100", "20", "10")
FEW, MANY = 5, 2
NUMBERS = (
    *("insurance", "wine_red", "abalone", "wine_quality", "diabetes", "friedman_6"),
    *("friedman_phase", "kc_house"),
)
CLASSES = (
    *("pima", "transfusion", "breast_cancer", "banknote", "wine_good", "clusters"),
    *("noisy_clusters", "eeg_eye_state", "mozilla4", "wine_7"),
)
QUICK_SETS = ("diabetes", "breast_cancer")
TITLE = "Whole numbers in leaves"
SEEDS = "split k is drawn with numpy's `default_rng(k)`; all fits have seed 0"


def plan(request: Request) -> Iterator[Job]:
    """Every contender on every split."""
    names = request.sets or (QUICK_SETS if request.quick else (*NUMBERS, *CLASSES))
    for name in names:
        if not request.has(name, SETS[name].file):
            continue
        splits = MANY if SETS[name].rows >= 10_000 else FEW
        for split in range(min(request.repeats or (2 if request.quick else splits), splits)):
            for size in request.sizes or SIZES:
                for who in CONTENDERS:
                    if request.wants("contenders", who):
                        yield Job(name, split, size, who, request, measure, True)


def asked_for(line: dict, request: Request) -> bool:
    """Whether a line of the cache belongs on the page."""
    return line["size"] in SIZES and line["contender"] in CONTENDERS


def measure(job: Job) -> dict:
    """RMSE of numbers or log loss of classes on the test rows."""
    rows = cell(job.name, job.split, job.request.folder, job.request.scratch, job.request.rows)
    if job.contender == POINTS:
        model = trained(job.request.binary, rows, ("--points", f"0..{job.size}"))
        check_points(model, int(job.size))
    else:
        model = trained(job.request.binary, rows)
        if job.contender == ROUNDED:
            model = rounded(model, int(job.size))
    return {"loss": loss(job.request.binary, rows, model)}


@lru_cache(maxsize=2)
def trained(binary: Path, rows: Cell, flags: tuple[str, ...] = ()) -> dict:
    """The model of one run of the default method."""
    path = rows.folder / f"points-{os.getpid()}.json"
    command = [binary, "train", rows.csv("train"), "--target", "target"]
    command += ["--task", "regression" if rows.task == "regression" else "classification"]
    command += ["--positive", "1"] if rows.task == "binary" else []
    command += ["--seed", 0, "--threads", 1, *flags, "--quiet", "--json", "--out", path]
    try:
        child.run(command, 1, limit=4 * 3600.0)
        return json.loads(path.read_text())
    finally:
        path.unlink(missing_ok=True)


def largest_difference(model: dict) -> float:
    """The largest difference of two leaves of a tree."""
    return max(max(tree["leaf"]) - min(tree["leaf"]) for tree in model["trees"])


def rounded(model: dict, most: int) -> dict:
    """The same model; every leaf is a whole number of units above the least one of its tree."""
    unit = largest_difference(model) / most
    model = copy.deepcopy(model)
    for tree in model["trees"]:
        least = min(tree["leaf"])
        tree["leaf"] = [least + unit * round((leaf - least) / unit) for leaf in tree["leaf"]]
    return model


def check_points(model: dict, most: int) -> None:
    """Refuses a model whose leaves are not from 0 to the most points."""
    unit = model["points_unit"]
    for tree in model["trees"]:
        points = [leaf / unit for leaf in tree["leaf"]]
        whole = all(abs(each - round(each)) < 1e-6 for each in points)
        if not whole or min(points) < -1e-6 or max(points) > most + 1e-6:
            raise ValueError(f"leaves are not from 0 to {most} points of {unit}: {points}")


def loss(binary: Path, rows: Cell, model: dict) -> float:
    """RMSE, or log loss, of a model on the test rows."""
    path = rows.folder / f"scored-{os.getpid()}.json"
    path.write_text(json.dumps(model))
    try:
        found = metrics.score(rows.task, raw_scores(binary, path, rows), rows.y("test"))
    finally:
        path.unlink(missing_ok=True)
    return found["rmse" if rows.task == "regression" else "logloss"]


def changes(lines: list[dict], name: str, size: str, who: str) -> list[float]:
    """By how many per cent the loss of each split exceeds that of the floating-point model."""
    own = [line for line in lines if (line["set"], line["size"]) == (name, size)]
    of = {
        contender: {line["split"]: line["loss"] for line in own if line["contender"] == contender}
        for contender in CONTENDERS
    }
    common = sorted(set.intersection(*map(set, of.values())))
    return [100 * (of[who][split] / of[FLOAT][split] - 1) for split in common]


def tell(lines: list[dict], request: Request) -> Page:
    """A table for each number of points."""
    page = Page(TITLE, SEEDS)
    page.section(
        "Losses",
        """By how many per cent the loss on the test rows (RMSE of numbers, log loss of classes)
exceeds that of the floating-point model with the same trees; means over the splits. *Rounded* is
that model with every leaf rounded by itself.""",
    )
    for size in SIZES:
        rows, means = [], []
        wins = ties = pairs = 0
        for name in (*NUMBERS, *CLASSES):
            found = [changes(lines, name, size, who) for who in (POINTS, ROUNDED)]
            if not found[0]:
                continue
            wins += sum(a < b for a, b in zip(*found, strict=True))
            ties += sum(a == b for a, b in zip(*found, strict=True))
            pairs += len(found[0])
            means.append([statistics.fmean(each) for each in found])
            rows.append([name, str(len(found[0])), *(f"{mean:+.2f} %" for mean in means[-1])])
        if not rows:
            continue
        both = list(zip(*means, strict=True))
        rows.append(["mean", "", *(f"{statistics.fmean(each):+.2f} %" for each in both)])
        rows.append(["worst", "", *(f"{max(each):+.2f} %" for each in both)])
        told = f"Points have the lower loss on {wins} of {pairs} splits, the same on {ties}."
        table = render(["set", "splits", POINTS, ROUNDED], rows)
        page.section(f"Points 0..{size}", told, table)
    return page
