"""Rao 2022, tables 9 to 12 and figures 8 and 9: swarms over whole boosted ensembles beside greedy
libraries.

Section 7.1 of the paper: 6 trees of depth 5 with learning rate 1 for all, CART of depth 7, alpha =
beta = 0.45, 50 particles for classes and 200 for numbers, 100 bins for SGBDT-bins, ten
measurements. It does not say how rows were divided (here 80/20, the ten divisions the same for
every method), how many iterations the swarm ran (here 100), or which task Covertype is (here class
2 against the rest, and all seven classes beside it). PSGBDT takes its rules from XGBoost, as in the
paper, and once more from our own greedy booster. LightGBM and our default search at the same size
stand beside them.

"Depth 5" of a swarm may mean four levels of rules (section 5.1 calls a tree of seven rules depth 4,
section 5.2 gives trees 2^(d-1) leaves, equation 26 has r = m(d-1)) or five (algorithm 4 draws m d
rules). Both are measured; the names without addition are those with five, the depth of
the libraries.
"""

import os
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd

import child
import metrics
from equal.cell import Cell, cell
from equal.contenders import POPULATION
from equal.measure import raw_scores
from equal.sets import SETS
from evidence.request import Job, Request
from peers import PACKAGES, PEERS
from shape import Shape

SIZE = "paper"
REPEATS, TREES, DEPTH, RATE, CART_DEPTH, ITERATIONS = 10, 6, 5, 1.0, 7, 100
PAPER_SETS = ("banknote", "wine_class", "covtype_2", "higgs", "wine_red", "kc_house", "insurance")
ALSO = ("covtype_7",)  # which task Covertype was is not stated: both are measured
QUICK_SETS = ("breast_cancer", "diabetes", "friedman_1")
FOUR_LEVELS = ", four levels"


def shape(levels: int) -> tuple[str, ...]:
    """The flags of 6 trees with so many levels of rules."""
    return ("--trees", str(TREES), "--depth", str(levels), "--learning-rate", f"{RATE:g}")


def published_swarms(levels: int) -> dict[str, tuple[str, ...]]:
    """The flags of the three methods of the paper."""
    return {
        "sgbdt": ("--method", "sgbdt", *shape(levels)),
        "sgbdt-bins": ("--method", "sgbdt-bins", *shape(levels), "--max-bin", "100"),
        "psgbdt": ("--method", "psgbdt", *shape(levels)),
    }


OURS = {
    **published_swarms(DEPTH),
    **{name + FOUR_LEVELS: flags for name, flags in published_swarms(DEPTH - 1).items()},
    "psgbdt, own splits": ("--method", "psgbdt", *shape(DEPTH)),
    "swarm": ("--method", "swarm", "--trees", str(TREES), "--max-leaves", str(2**DEPTH)),
}
METHODS = ("cart", "sklearn", "xgboost", "lightgbm", "catboost", *OURS)


def plan(request: Request) -> Iterator[Job]:
    """Every method on every split of every set, sets outermost."""
    for name in request.sets or (QUICK_SETS if request.quick else (*PAPER_SETS, *ALSO)):
        if request.has(name, SETS[name].file):
            for split in range(request.repeats or (2 if request.quick else REPEATS)):
                for method in (method for method in METHODS if request.wants("contenders", method)):
                    yield Job(name, split, SIZE, method, request, measure, method in OURS)


def asked_for(line: dict, request: Request) -> bool:
    """Whether a line of the cache belongs on the page."""
    return line["size"] == SIZE and line["contender"] in METHODS


def measure(job: Job) -> dict:
    """The main metric on the test rows; of a swarm also its flight and the size of what it
    searched."""
    request = job.request
    rows = cell(job.name, job.split, request.folder, request.scratch, request.rows)
    if job.ours:
        return fly(job, rows)
    if job.contender in ("cart", "sklearn"):
        built, raw = version("scikit-learn"), greedy_of_sklearn(job.contender, rows)
    else:
        built = version(PACKAGES[job.contender])
        peer = fitted(job.contender, rows)
        prepare, score = peer.ways(rows.x("test"))["array"]
        raw = score(prepare())
    return {"build": built, "score": judged(rows, raw), "rows": len(rows.table.y)}


def judged(rows: Cell, raw: np.ndarray) -> float:
    """Accuracy or RMSE."""
    found = metrics.score(rows.task, raw, rows.y("test"))
    return found["rmse" if rows.task == "regression" else "accuracy"]


def fitted(library: str, rows: Cell):
    """A library with the paper's shape and its own defaults for all else, fitted to the training
    rows."""
    growth = {"lightgbm": "leaf", "catboost": "oblivious"}.get(library, "depth")
    shape = Shape(
        task=rows.task,
        classes=rows.table.classes,
        trees=TREES,
        learning_rate=RATE,
        growth=growth,
        depth=DEPTH,
        leaves=2**DEPTH if growth == "leaf" else 0,
        threads=1,
        equal=False,
    )
    peer = PEERS[library](shape)
    peer.bin(rows.x("train"), rows.y("train"))
    peer.train()
    return peer


def greedy_of_sklearn(method: str, rows: Cell) -> np.ndarray:
    """Raw scores of scikit-learn's CART, or of its plain booster, which looks at every
    threshold."""
    from sklearn import ensemble, tree

    kind = "Regressor" if rows.task == "regression" else "Classifier"
    if method == "cart":
        model = getattr(tree, f"DecisionTree{kind}")(max_depth=CART_DEPTH, random_state=0)
    else:
        shape = {"n_estimators": TREES, "max_depth": DEPTH, "learning_rate": RATE}
        model = getattr(ensemble, f"GradientBoosting{kind}")(**shape, random_state=0)
    predicted = model.fit(rows.x("train"), rows.y("train")).predict(rows.x("test"))
    if rows.task == "binary":
        return 2.0 * predicted - 1.0
    return predicted if rows.task == "regression" else np.eye(rows.table.classes)[predicted]


def fly(job: Job, rows: Cell) -> dict:
    """One run of our binary: a swarm as published, or our default search."""
    request, own = job.request, f"boosting-{os.getpid()}"
    model, trace, before = (
        rows.folder / f"{own}.{end}" for end in ("json", "trace.csv", "xgboost.json")
    )
    words = [
        "train",
        rows.csv("train"),
        "--target",
        "target",
        "--seed",
        job.split,
        "--threads",
        1,
        *OURS[job.contender],
    ]
    words += ["--task", "regression" if rows.task == "regression" else "classification"]
    words += ["--positive", "1"] if rows.task == "binary" else []
    if job.contender != "swarm":
        iterations = 20 if request.quick else ITERATIONS
        words += [
            "--population",
            POPULATION[rows.task],
            "--iterations",
            iterations,
            "--trace",
            trace,
        ]
    try:
        if job.contender.removesuffix(FOUR_LEVELS) == "psgbdt":
            words += ["--pretrained", before]
            keep_splits(rows, before)
        told = child.run(
            [request.binary, *words, "--quiet", "--json", "--out", model], 1, limit=4 * 3600.0
        )
        found = {
            "score": judged(rows, raw_scores(request.binary, model, rows)),
            "rows": len(rows.table.y),
        }
        return found | (flight(told, pd.read_csv(trace)) if job.contender != "swarm" else {})
    finally:
        for path in (model, trace, before):
            path.unlink(missing_ok=True)


def keep_splits(rows: Cell, path: Path) -> None:
    """XGBoost's model of the training rows as a file, its features called as in ours."""
    peer = fitted("xgboost", rows)
    peer.model.feature_names = list(rows.table.x)
    path.write_bytes(peer.model.save_raw("json"))


def flight(told: dict, trace: pd.DataFrame) -> dict:
    """What the global best was and when it changed, and how large the search was."""
    search = told["search"]
    space = search["space"]
    best = trace.loc[trace["best"].notna(), ["step", "best"]].drop_duplicates("best")
    curve = [(int(step), float(value)) for step, value in best.itertuples(index=False)]
    sizes = {
        "n": space["n"],
        "table": space["table_rules"],
        "log10 counted": space["one_level_less"]["log10"],
        "log10 drawn": space["all_levels"]["log10"],
    }
    flown = {
        "best": search["best"],
        "iterations": search["iterations"],
        "repeats": search["cache_hits"],
    }
    return flown | {"evaluations": search["evaluations"], "curve": curve, "space": sizes}
