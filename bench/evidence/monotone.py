"""Monotone constraints at an equal number of leaves: ours beside XGBoost, LightGBM and scikit-learn
with the same constraints, and beside ourselves without them.

The constraints are what one would sign: a larger house of a better grade does not cost less, a
smoker's treatment is not cheaper. All models have 192 leaves in all. The libraries take the shape,
the learning rate and, for LightGBM, the method that 20 % of the training rows prefer; ours chooses
by itself, from the training rows alone.
"""

import io
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

import child
from equal import sets
from evidence.page import Page
from evidence.request import Job, Request
from peers import PEERS
from shape import Shape
from table import render

TITLE = "Monotone constraints"
SEEDS = (
    "split k tests the rows that numpy's `default_rng(k)` puts into the last quarter of a "
    "permutation; all fits have seed 0"
)
SETS = {
    "kc_house": {
        "sqft_living": 1,
        "sqft_living15": 1,
        "grade": 1,
        "condition": 1,
        "view": 1,
        "waterfront": 1,
    },
    "abalone": {"Length": 1, "Diameter": 1, "Height": 1, "Shell_weight": 1},
    "insurance": {"age": 1, "bmi": 1, "children": 1, "smoker=yes": 1},
    "wine_quality": {
        "alcohol": 1,
        "sulphates": 1,
        "volatile acidity": -1,
        "chlorides": -1,
    },
    "pima": {
        "Glucose": 1,
        "BMI": 1,
        "Age": 1,
        "DiabetesPedigreeFunction": 1,
        "Pregnancies": 1,
    },
    "transfusion": {"Frequency": 1, "Monetary": 1, "Recency": -1, "Time": -1},
}
SIZES = ("192",)
LEAVES, TREES_OF, RATES = 192, (6, 12, 24, 48), (0.1, 0.2, 0.3, 0.5, 1.0)
LIGHTGBM_METHODS = ("basic", "advanced")
FREE = "swarm, free"
OURS = ("swarm", FREE)
LIBRARIES = ("xgboost", "lightgbm", "sklearn")
CONTENDERS = (*OURS, *LIBRARIES)
SPLITS = 5


def plan(request: Request) -> Iterator[Job]:
    """All cells, set by set."""
    for name in request.sets or tuple(SETS):
        if not request.has(name, sets.SETS[name].file):
            continue
        for split, contender in product(range(request.repeats or SPLITS), CONTENDERS):
            if request.wants("contenders", contender):
                ours = contender in OURS
                yield Job(name, split, SIZES[0], contender, request, measure, ours=ours)


def asked_for(line: dict, request: Request) -> bool:
    """Whether a line of the cache belongs on the page."""
    return line["set"] in SETS and line["contender"] in CONTENDERS


def measure(job: Job) -> dict:
    """The test error of a contender: root mean squared error, or log loss."""
    table = sets.load(job.name, job.request.folder, job.request.rows)
    order = np.random.default_rng(job.split).permutation(len(table.y))
    test, train = np.split(order, [len(order) // 4])
    task = sets.SETS[job.name].task
    signs = [SETS[job.name].get(column, 0) for column in table.x.columns]
    if job.contender in OURS:
        predicted, seconds = of_ours(job, table, (train, test), signs)
    else:
        started = time.process_time()
        predicted = of_peer(job.contender, task, table, (train, test), signs)
        seconds = time.process_time() - started
    return {"score": error(task, table.y[test], predicted), "seconds": seconds}


def error(task: str, y: np.ndarray, predicted: np.ndarray) -> float:
    """Root mean squared error, or log loss of probabilities."""
    if task == "regression":
        return float(np.sqrt(np.mean((y - predicted) ** 2)))
    of_truth = np.clip(np.where(y == 1, predicted, 1 - predicted), 1e-15, 1)
    return float(-np.mean(np.log(of_truth)))


def of_ours(job: Job, table: sets.Table, parts: tuple, signs: list[int]) -> tuple:
    """Our binary: predictions of the test rows, and the seconds of training. Constraints are
    proven before anything is predicted."""
    binary = job.request.binary
    is_regression = table.classes == 1
    with tempfile.TemporaryDirectory(prefix="monotone-") as folder:
        files = [Path(folder) / name for name in ("train.csv", "test.csv")]
        for file, part in zip(files, parts, strict=True):
            frame = table.x.iloc[part].assign(target=table.y[part])
            frame.to_csv(file, index=False, float_format="%.9g")
        model = Path(folder) / "model.json"
        task = "regression" if is_regression else "classification"
        command = [binary, "train", files[0], "--target", "target", "--task", task]
        command += ["--total-leaves", LEAVES, "--threads", 1, "--quiet", "--json", "--out", model]
        if job.contender != FREE:
            command += ["--monotone", str(signs)]
        told = child.run(command, 1)
        if job.contender != FREE:
            words = [str(binary), "inspect", str(model), "--check-monotone"]
            subprocess.run(words, capture_output=True, check=True)
        words = [str(part) for part in (binary, "predict", model, files[1])]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        # The number itself, or behind the class its probability.
        predicted = pd.read_csv(io.StringIO(done.stdout)).iloc[:, -1].to_numpy()
        return predicted, told["seconds"]["train"]


def of_peer(name: str, task: str, table: sets.Table, parts: tuple, signs: list[int]) -> np.ndarray:
    """A library: predictions of the test rows."""
    x, y = table.x.to_numpy(), table.y
    train, test = parts
    kept, judged = train[: len(train) * 4 // 5], train[len(train) * 4 // 5 :]
    methods = LIGHTGBM_METHODS if name == "lightgbm" else ("",)
    tried = []
    for trees, rate, method in product(TREES_OF, RATES, methods):
        shape = Shape(task, trees=trees, learning_rate=rate, growth="leaf", depth=0, threads=1)
        shape = replace(shape, leaves=LEAVES // trees)
        fit = (name, shape, signs, method)
        predicted = predictions(fit, x[kept], y[kept], x[judged])
        tried.append((error(task, y[judged], predicted), len(tried), fit))
    best = min(tried, key=lambda one: one[:2])[2]
    return predictions(best, x[train], y[train], x[test])


def predictions(fit: tuple, x: np.ndarray, y: np.ndarray, test_x: np.ndarray) -> np.ndarray:
    """Trains a library under constraints and predicts."""
    name, shape, signs, method = fit
    peer = PEERS[name](shape)
    if name == "sklearn":
        peer.model.set_params(monotonic_cst=signs)
    else:
        peer.params["monotone_constraints"] = tuple(signs)
    if name == "lightgbm":
        peer.params["monotone_constraints"] = signs
        peer.params["monotone_constraints_method"] = method
    peer.bin(x, y)
    peer.train()
    build, call = next(iter(peer.ways(test_x).values()))
    raw = np.asarray(call(build())).ravel()
    return raw if shape.task == "regression" else 1 / (1 + np.exp(-raw))


def means(lines: list[dict], name: str, what: str) -> dict[str, float]:
    """The mean of each contender over the splits that all of them have."""
    own = [line for line in lines if line["set"] == name]
    splits = [{line["split"] for line in own if line["contender"] == c} for c in CONTENDERS]
    common = set.intersection(*splits) if splits else set()
    return {
        contender: float(
            np.mean(
                [
                    line[what]
                    for line in own
                    if line["contender"] == contender and line["split"] in common
                ]
            )
        )
        for contender in CONTENDERS
        if common
    }


def tell(lines: list[dict], request: Request) -> Page:
    """Errors, relative errors and the cost of constraints."""
    page = Page(TITLE, SEEDS)
    scores = {name: means(lines, name, "score") for name in SETS}
    scores = {name: found for name, found in scores.items() if found}
    if not scores:
        page.section("Errors", "No cell has been measured yet.")
        return page
    rows = []
    for name, found in scores.items():
        unit = "RMSE" if sets.SETS[name].task == "regression" else "log loss"
        rows.append([name, unit, *(f"{found[contender]:.4g}" for contender in CONTENDERS)])
    ratio = {c: np.mean([np.log(s[c] / s["swarm"]) for s in scores.values()]) for c in CONTENDERS}
    rows.append(["mean, relative to ours", "", *(f"{np.exp(ratio[c]):.3f}" for c in CONTENDERS)])
    note = f"""Test errors with at most 192 leaves in all, mean of the splits. `{FREE}` has no
constraints; all others have the same ones. Every model of ours was proven monotone by
`inspect --check-monotone`."""
    page.section("Errors", note, render(["set", "error", *CONTENDERS], rows))

    if not request.busy:
        rows = []
        for name in scores:
            seconds = means(lines, name, "seconds")
            rows.append([name, f"{seconds['swarm'] / seconds[FREE]:.2f}"])
        note = "Training time with constraints, divided by that without; one thread."
        page.section("Cost", note, render(["set", "ratio"], rows))

    rows = []
    for name, signs in SETS.items():
        words = [f"{feature} {'+' if sign > 0 else '-'}" for feature, sign in signs.items()]
        rows.append([name, ", ".join(words)])
    page.section("Constraints", render(["set", "features"], rows))
    return page
