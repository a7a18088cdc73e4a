"""Jun, Cho, Lee 2012, tables 2 and 4: CART, the published swarm over a grid of thresholds with its
variants, our search over whole trees.

The preliminary tree is pruned by cross-validation, as the paper says, or has the size whose
training accuracy is that of the published CART. Every repetition draws a third of the rows for
testing, the same rows for every contender; the artificial cases are drawn anew each time. CART of
ours and of scikit-learn are pruned by cross-validated cost complexity, as the paper says; ConTree
and STreeD give the tree of depth 3 with the fewest mistakes on the training rows, proven best where
they finish.
"""

import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

import child
import datasets
from evidence.request import Job, Request, say
from single.solver import make

# Table 1: the mean and the covariance of each class, to be multiplied by sigma squared.
MEANS = [[0.1, -1.0, 0.3], [1.5, 0.1, 1.2], [-0.5, 1.5, 0.5]]
COVARIANCES = [
    [[2, 0, 2], [0, 4, 1], [2, 1, 3]],
    [[4, 1, 1], [1, 3, 3], [1, 3, 4]],
    [[5, 0, 0], [0, 1, 0], [0, 0, 5]],
]


@dataclass(frozen=True)
class Set:
    """What is classified, and what the paper says: train and test accuracy of CART and of the
    proposed method. A CART of `leaves` leaves has the published training accuracy, as nearly as any
    size has it on average."""

    name: str
    cart: tuple[float, float]
    proposed: tuple[float, float]
    variance: float = 0.0
    rows: tuple[int, int, int] = (0, 0, 0)
    number: int = 0
    leaves: int = 2

    @property
    def file(self) -> str:
        return "" if self.variance else f"{self.name}.csv"


SETS = {
    known.name: known
    for known in [
        Set("case 1", (95.86, 93.41), (97.43, 92.59), 0.1, (100, 150, 50), 0, 6),
        Set("case 2", (92.57, 89.61), (96.18, 93.32), 0.1, (500, 750, 250), 1, 4),
        Set("case 3", (89.28, 81.52), (94.53, 83.98), 0.2, (100, 150, 50), 2, 6),
        Set("parkinsons", (96.9, 84.6), (100.0, 89.2), leaves=7),
        Set("pima", (86.6, 67.9), (91.6, 72.5), leaves=9),
        Set("transfusion", (81.2, 76.7), (83.0, 77.1), leaves=5),
    ]
}
SIZE, REPEATS, DEPTH, LIMIT = "paper", 50, 3, 60.0
GRID = ("--method", "apso-tree")
RANDOM = ("--empty-cells", "random")
# The paper repeats its phases "several times" with other variables.
SEVERAL = ("--repeats", "5")
CROSS_VALIDATED = ("--select-by", "cross-validation")
OURS = {
    "CART": ("--method", "cart"),
    "apso-tree, nearest": GRID,
    "apso-tree, random": (*GRID, *RANDOM),
    "swarm-tree": ("--method", "swarm-tree"),
    "CART, published size": ("--method", "cart"),
    "apso-tree, random, published size": (*GRID, *RANDOM),
    "apso-tree, nearest, published size": GRID,
    "apso-tree, random, 5 repeats": (*GRID, *RANDOM, *SEVERAL),
    "apso-tree, nearest, 5 repeats": (*GRID, *SEVERAL),
    "apso-tree, random, published size, 5 repeats": (*GRID, *RANDOM, *SEVERAL),
    "apso-tree, nearest, published size, 5 repeats": (*GRID, *SEVERAL),
    "apso-tree, nearest, full tree": (*GRID, "--prune", "none"),
    "apso-tree, nearest, full tree, 8 leaves": (*GRID, "--prune", "none", "--max-leaves", "8"),
    "apso-tree, nearest, forest": (*GRID, "--variables", "forest"),
}
OPTIMIZERS = ("pso", "ga", "de", "annealing", "cmaes", "aco", "random")
OURS |= {f"optimizer {name}": (*GRID, "--optimizer", name) for name in OPTIMIZERS}
# Six times the work of the others: measured last.
OURS |= {
    "apso-tree, random, 5 repeats, cross-validated": (*GRID, *RANDOM, *SEVERAL, *CROSS_VALIDATED),
    "apso-tree, nearest, 5 repeats, cross-validated": (*GRID, *SEVERAL, *CROSS_VALIDATED),
}
PEERS = {
    "CART of scikit-learn": "sklearn",
    "ConTree, depth 3": "pycontree",
    "STreeD, depth 3": "pystreed",
}
VERSIONS = {"sklearn": "scikit-learn"}
CONTENDERS = (*OURS, *PEERS)
# Of these the paper keeps complete rows: 393 of them, one of which has no glucose.
COMPLETE = ["BloodPressure", "SkinThickness", "Insulin", "BMI"]


def plan(request: Request) -> Iterator[Job]:
    """Every contender on every repetition of every set, contenders outermost."""
    there = [name for name in CONTENDERS if request.wants("contenders", name)]
    for name in [name for name in there if name in PEERS and find_spec(PEERS[name]) is None]:
        say(f"skip {name}: {PEERS[name]} is not installed")
        there.remove(name)
    names = request.sets or [name for name in SETS if not request.quick or SETS[name].variance]
    names = [name for name in names if request.has(name, SETS[name].file)]
    repeats = request.repeats or (3 if request.quick else REPEATS)
    for contender in there:
        for name in names:
            for repetition in range(repeats):
                yield Job(name, repetition, SIZE, contender, request, measure, contender in OURS)


def asked_for(line: dict, request: Request) -> bool:
    """Whether a line of the cache belongs on the page."""
    return line["size"] == SIZE and line["contender"] in CONTENDERS


def rows_of(known: Set, folder: Path, repetition: int) -> pd.DataFrame:
    """The rows of a set; an artificial one is drawn anew for each repetition."""
    if not known.variance:
        frame = datasets.read(folder / known.file)
        # Zero stands for a missing value in these columns.
        return frame[(frame[COMPLETE] != 0).all(axis=1)] if known.name == "pima" else frame
    random = np.random.default_rng([2012, known.number, repetition])
    drawn = [
        random.multivariate_normal(mean, known.variance * np.array(covariance), count)
        for mean, covariance, count in zip(MEANS, COVARIANCES, known.rows, strict=True)
    ]
    frame = pd.DataFrame(np.concatenate(drawn), columns=["x1", "x2", "x3"])
    return frame.assign(target=np.repeat([1, 2, 3], known.rows))


def parts(frame: pd.DataFrame, repetition: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two thirds for training, one third for testing."""
    kept, tested = datasets.split(len(frame), 1000 + repetition, test_share=1 / 3)
    return frame.iloc[kept], frame.iloc[tested]


def measure(job: Job) -> dict:
    """Accuracy in percent on training and test rows, and the size of the tree."""
    train, test = parts(rows_of(SETS[job.name], job.request.folder, job.split), job.split)
    if job.ours:
        return grown(job, train, test)
    package = PEERS[job.contender]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the solvers warn of the limit that `proven` tells
        found = solved(package, train, test)
    return {"build": version(VERSIONS.get(package, package))} | found


def solved(package: str, train: pd.DataFrame, test: pd.DataFrame) -> dict:
    """A tree of a library."""
    x, y = (train.drop(columns="target").to_numpy(np.float64), train["target"].to_numpy())
    classes, codes = np.unique(y, return_inverse=True)
    if package == "sklearn":
        model, proven = pruned(x, codes), {}
        proven |= {"leaves": int(model.get_n_leaves())}
    else:
        model, is_proven = make(
            {"pycontree": "contree", "pystreed": "streed"}[package], DEPTH, LIMIT
        )
        model.fit(x, codes)
        proven = {"proven": bool(is_proven(model))}

    def right(rows: pd.DataFrame) -> float:
        told = classes[
            np.asarray(model.predict(rows.drop(columns="target").to_numpy(np.float64)), dtype=int)
        ]
        return 100 * float(np.mean(told == rows["target"].to_numpy()))

    return {"train": right(train), "test": right(test)} | proven


def pruned(x: np.ndarray, y: np.ndarray):
    """scikit-learn's CART, grown to purity and cut back as far as five-fold cross-validation
    advises."""
    from sklearn.model_selection import GridSearchCV, StratifiedKFold
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(random_state=0)
    alphas = np.unique(np.maximum(tree.cost_complexity_pruning_path(x, y).ccp_alphas, 0.0))
    # Between two neighbouring prices lie the trees that are best for both (Breiman et al. 1984,
    # section 3.4).
    prices = [*np.sqrt(alphas[:-1] * alphas[1:]), alphas[-1]]
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    return GridSearchCV(tree, {"ccp_alpha": prices}, cv=folds).fit(x, y).best_estimator_


def flags_of(contender: str, known: Set) -> tuple:
    """The flags of a tree of ours; the published size depends on the set."""
    flags = OURS[contender]
    if "published size" not in contender:
        return flags
    if "cart" in flags:
        return (*flags, "--prune", "none", "--max-leaves", known.leaves)
    return (*flags, "--prune", "none", "--grid-thresholds", known.leaves - 1)


def grown(job: Job, train: pd.DataFrame, test: pd.DataFrame) -> dict:
    """A tree of our binary."""
    flags = [*flags_of(job.contender, SETS[job.name]), "--seed", job.split]
    if job.request.quick and "apso-tree" in flags:
        flags += ["--population", 20, "--iterations", 20]
    with tempfile.TemporaryDirectory(prefix="tree-") as folder:
        files = Path(folder) / "train.csv", Path(folder) / "test.csv"
        for part, file in zip((train, test), files, strict=True):
            part.to_csv(file, index=False)
        told = run(job.request.binary, *files, flags)
    grid = (told["search"]["swarm"] or {}).get("grid") or {}
    found = {
        name: 100 * told["metrics"][part]["accuracy"]
        for name, part in (("train", "train"), ("test", "valid"))
    }
    keys = {
        "thresholds": "thresholds",
        "cells": "cells",
        "occupied": "occupied_cells",
        "merged": "merged_cells",
    }
    sizes = {name: grid[key] for name, key in keys.items() if key in grid}
    return found | {"leaves": told["search"]["leaves"]} | sizes


def run(binary: Path, train_csv: Path, test_csv: Path, flags: list) -> dict:
    """What a run of our binary says."""
    command = [
        binary,
        "train",
        train_csv,
        "--valid",
        test_csv,
        "--target",
        "target",
        "--task",
        "classification",
    ]
    command += [
        *flags,
        "--threads",
        1,
        "--quiet",
        "--json",
        "--out",
        train_csv.with_suffix(".json"),
    ]
    return child.run(command, 1)
