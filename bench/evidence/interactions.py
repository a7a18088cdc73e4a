"""Interactions without main effects: who finds them, among how many columns of noise?

The target depends on two or three columns together and on none of them alone, so that no first
split of a greedy tree gains anything. Ours beside the oracle (the expectation that the target was
drawn around), XGBoost, LightGBM and CatBoost with 192 leaves in all, in the shape and with the
learning rate that 20 % of the training rows prefer, and with 500 trees, and an explainable boosting
machine with its pairs. The last set has main effects as well.
"""

import io
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

import child
from evidence.page import Page
from evidence.request import Job, Request, say
from peers import PEERS
from shape import Shape
from table import render

TITLE = "Planted interactions among noise columns"
SEEDS = (
    "repetition k draws the training rows with numpy's `default_rng(2 k)` and 20,000 test rows "
    "with `default_rng(2 k + 1)`; all fits have seed 0"
)
TEST_ROWS = 20_000
NOISE = (5, 20, 100)
ROWS = {"2k": 2_000, "20k": 20_000, "50k": 50_000, "200k": 200_000, "1M": 1_000_000}


@dataclass(frozen=True)
class Planted:
    """A function of a few columns, and what is added to it: normal noise for numbers, wrong labels
    for classes."""

    columns: int
    signal: Callable[[np.ndarray], np.ndarray]
    noise: float
    is_uniform: bool = False
    has_classes: bool = False

    def rows(self, count: int, others: int, seed: int) -> tuple[np.ndarray, ...]:
        """Columns, target, and the oracle's prediction."""
        random = np.random.default_rng(seed)
        shape = (count, self.columns + others)
        x = random.uniform(-1, 1, shape) if self.is_uniform else random.normal(size=shape)
        signal = self.signal(x)
        if self.has_classes:
            signal = signal > 0
            return x, (signal ^ (random.random(count) < self.noise)).astype(int), signal
        return x, signal + self.noise * random.normal(size=count), signal


def checkerboard(x: np.ndarray) -> np.ndarray:
    """Four by four cells."""
    return (np.floor(2 * x[:, 0]) + np.floor(2 * x[:, 1])) % 2 - 0.5


PLANTED = {
    "product": Planted(2, lambda x: x[:, 0] * x[:, 1], 0.3),
    "xor": Planted(2, lambda x: x[:, 0] * x[:, 1], 0.15, has_classes=True),
    "parity": Planted(3, lambda x: x[:, 0] * x[:, 1] * x[:, 2], 0.15, has_classes=True),
    "checkerboard": Planted(2, checkerboard, 0.1, is_uniform=True, has_classes=True),
    "signed": Planted(3, lambda x: np.sign(x[:, 0] * x[:, 1]) * x[:, 2], 0.3),
    "sine": Planted(2, lambda x: np.sin(6 * x[:, 0] * x[:, 1]), 0.3, is_uniform=True),
    "mixed": Planted(4, lambda x: 2 * x[:, 0] + np.sin(3 * x[:, 1]) + x[:, 2] * x[:, 3], 0.5),
}
MEANING = {
    "product": "x y",
    "xor": "the sign of x y",
    "parity": "the sign of x y z",
    "checkerboard": "4 x 4 cells",
    "signed": "sign(x y) z",
    "sine": "sin(6 x y)",
    "mixed": "2 u + sin 3 v + x y",
}
SETS = {f"{kind}-{others}": (kind, others) for kind in PLANTED for others in NOISE}
SETS = {name: place for name, place in SETS.items() if place[0] != "mixed"} | {
    "mixed-16": ("mixed", 16)
}
SIZES = tuple(ROWS)

GREEDY = ("--method", "greedy", "--growth", "leaf", "--depth", 0, "--trees", 24)
GREEDY = (*GREEDY, "--max-leaves", 8, "--learning-rate", 0.3)
OURS = {"swarm": (), "greedy": GREEDY, "greedy, lookahead 2": (*GREEDY, "--lookahead", 2)}
LEAVES, TREES_OF, RATES = 192, (6, 12, 24), (0.3, 1.0)
MANY = " x 500"
LIBRARIES = ("xgboost", "lightgbm", "catboost")
EBM, EBM_ROWS, EBM_NOISE = "ebm", 2_000, 20
CONTENDERS = (*OURS, *LIBRARIES, *(name + MANY for name in LIBRARIES), EBM)


def sizes_of(name: str) -> tuple[str, ...]:
    """The numbers of rows of a set."""
    if SETS[name][0] == "mixed":
        return ("50k", "200k", "1M")
    return ("2k", "20k", "200k") if SETS[name][1] == 20 else ("2k", "20k")


def is_planned(name: str, size: str, contender: str) -> bool:
    """The largest cells of others than us would take most of the time."""
    if contender == EBM:
        return ROWS[size] <= EBM_ROWS and SETS[name][1] <= EBM_NOISE and find_spec("interpret")
    return ROWS[size] < 1_000_000 or contender in ("swarm", "lightgbm")


def plan(request: Request) -> Iterator[Job]:
    """All cells, few rows first."""
    names = request.sets or tuple(SETS)
    sizes = request.sizes or (("2k",) if request.quick else SIZES)
    if find_spec("interpret") is None:
        say("skip ebm: interpret is not installed")
    for size, name in product(sizes, names):
        if size not in sizes_of(name) or (request.quick and SETS[name][1] > 5):
            continue
        for repetition in range(request.repeats or 1):
            for contender in CONTENDERS:
                if request.wants("contenders", contender) and is_planned(name, size, contender):
                    ours = contender in OURS
                    yield Job(name, repetition, size, contender, request, measure, ours=ours)


def asked_for(line: dict, request: Request) -> bool:
    """Whether a line of the cache belongs on the page."""
    known = line["set"] in SETS and line["contender"] in CONTENDERS
    return known and line["size"] in SIZES and request.wants("sizes", line["size"])


def measure(job: Job) -> dict:
    """The test score of a contender and of the oracle: R² or accuracy."""
    kind, others = SETS[job.name]
    planted = PLANTED[kind]
    x, y, _ = planted.rows(ROWS[job.size], others, 2 * job.split)
    test_x, test_y, expected = planted.rows(TEST_ROWS, others, 2 * job.split + 1)
    started = time.process_time()
    if job.contender in OURS:
        predicted, seconds = of_ours(job, planted, (x, y), test_x)
    else:
        fit = of_ebm if job.contender == EBM else of_peer
        predicted, seconds = fit(job, planted, (x, y), test_x), time.process_time() - started
    return {
        "score": score(planted, test_y, predicted),
        "oracle": score(planted, test_y, expected),
        "seconds": seconds,
    }


def score(planted: Planted, y: np.ndarray, predicted: np.ndarray) -> float:
    """Accuracy of classes (predictions above zero, or true), R² of numbers."""
    if planted.has_classes:
        return float(np.mean((predicted > 0) == (y > 0)))
    return float(1 - np.mean((y - predicted) ** 2) / np.var(y))


def of_ours(job: Job, planted: Planted, train: tuple, test_x: np.ndarray) -> tuple:
    """Our binary: predictions of the test rows, and the seconds of training."""
    binary = job.request.binary
    with tempfile.TemporaryDirectory(prefix="interactions-") as folder:
        files = [Path(folder) / name for name in ("train.csv", "test.csv")]
        parts = (train, (test_x, np.zeros(len(test_x))))
        for file, (x, y) in zip(files, parts, strict=True):
            names = [f"x{at}" for at in range(x.shape[1])]
            frame = pd.DataFrame(x, columns=names).assign(target=y)
            frame.to_csv(file, index=False, float_format="%.7g")
        model = Path(folder) / "model.json"
        task = "classification" if planted.has_classes else "regression"
        command = [binary, "train", files[0], "--target", "target", "--task", task]
        command += [*OURS[job.contender], "--threads", 1, "--quiet", "--json", "--out", model]
        told = child.run(command, 1)
        return scores_of([binary, "predict", model, files[1]], planted), told["seconds"]["train"]


def scores_of(command: list, planted: Planted) -> np.ndarray:
    """What our binary predicts: numbers, or classes as 1 and -1."""
    words = [str(part) for part in command]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    predicted = pd.read_csv(io.StringIO(done.stdout))["prediction"].to_numpy()
    return np.where(predicted > 0.5, 1.0, -1.0) if planted.has_classes else predicted


def of_peer(job: Job, planted: Planted, train: tuple, test_x: np.ndarray) -> np.ndarray:
    """A library: raw scores of the test rows."""
    x, y = train
    task = "binary" if planted.has_classes else "regression"
    name = job.contender.removesuffix(MANY)
    if job.contender.endswith(MANY):
        growth = "leaf" if name == "lightgbm" else "oblivious" if name == "catboost" else "depth"
        shape = Shape(task, trees=500, growth=growth, depth=6, threads=1, equal=False)
        return raw_scores(name, shape, x, y, test_x)
    kept = np.arange(len(y)) % 5 != 4
    tried = []
    for trees, rate in product(TREES_OF, RATES):
        leaves = LEAVES // trees
        shape = Shape(task, trees=trees, learning_rate=rate, growth="leaf", depth=0, threads=1)
        shape = replace(shape, leaves=leaves)
        if name == "catboost":
            shape = replace(shape, growth="oblivious", depth=leaves.bit_length() - 1, leaves=0)
        judged = raw_scores(name, shape, x[kept], y[kept], x[~kept])
        tried.append((score(planted, y[~kept], judged), -trees, rate, shape))
    return raw_scores(name, max(tried, key=lambda one: one[:3])[3], x, y, test_x)


def raw_scores(
    name: str, shape: Shape, x: np.ndarray, y: np.ndarray, test_x: np.ndarray
) -> np.ndarray:
    """Trains a library and predicts."""
    peer = PEERS[name](shape)
    peer.bin(x, y)
    peer.train()
    build, call = next(iter(peer.ways(test_x).values()))
    return np.asarray(call(build())).ravel()


def of_ebm(job: Job, planted: Planted, train: tuple, test_x: np.ndarray) -> np.ndarray:
    """The explainable boosting machine with the interactions it looks for by default."""
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    kind = ExplainableBoostingClassifier if planted.has_classes else ExplainableBoostingRegressor
    model = kind(n_jobs=1, outer_bags=2, random_state=0).fit(*train)
    return model.decision_function(test_x) if planted.has_classes else model.predict(test_x)


def shown(lines: list[dict], name: str, size: str, contender: str) -> str:
    """The mean score of a cell."""
    found = [
        line["score"]
        for line in lines
        if (line["set"], line["size"], line["contender"]) == (name, size, contender)
    ]
    return f"{np.mean(found):.3f}" if found else "-"


def score_table(lines: list[dict], contenders: tuple[str, ...], size: str) -> str:
    """Every set with so many rows."""
    rows = []
    for name in (name for name in SETS if size in sizes_of(name)):
        own = [line for line in lines if (line["set"], line["size"]) == (name, size)]
        if not own:
            continue
        kind, others = SETS[name]
        oracle = np.mean([line["oracle"] for line in own])
        scores = [shown(own, name, size, contender) for contender in contenders]
        measure = "accuracy" if PLANTED[kind].has_classes else "R²"
        rows.append([MEANING[kind], str(others), measure, f"{oracle:.3f}", *scores])
    header = ["target", "noise columns", "score", "oracle", *contenders]
    return render(header, rows) if rows else ""


def share_table(lines: list[dict]) -> str:
    """By contender and number of rows, in how many cells it comes within 5 % of the oracle."""
    sizes = [size for size in SIZES if any(line["size"] == size for line in lines)]
    rows = []
    for contender in CONTENDERS:
        own = [line for line in lines if line["contender"] == contender]
        if own:
            worst = min(line["score"] / line["oracle"] for line in own)
            cells = [near_of([line for line in own if line["size"] == size]) for size in sizes]
            rows.append([contender, *cells, f"{worst:.2f}"])
    header = [f"{ROWS[size]:,} rows" for size in sizes]
    return render(["contender", *header, "worst share"], rows)


def near_of(lines: list[dict]) -> str:
    """How many of some cells are within 5 % of the oracle, and how many there are."""
    near = sum(line["score"] >= 0.95 * line["oracle"] for line in lines)
    return f"{near} of {len(lines)}" if lines else "-"


def tell(lines: list[dict], request: Request) -> Page:
    """Who comes near to the oracle, and every score."""
    page = Page(TITLE, SEEDS)
    if not lines:
        page.section("Scores", "No cell has been measured yet.")
        return page
    note = """Cells within 5 % of the oracle, which knows the function and not the noise, by R² or
accuracy on 20,000 test rows; a cell is a target and a number of noise columns. The last column is
the worst score as a share of the oracle's. Without an interaction, R² is 0 and the accuracy one
half."""
    page.section("Near the oracle", note, share_table(lines))
    note = """`swarm` is our default, `greedy` 24 trees of 8 leaves with the learning rate .3. The
libraries have 192 leaves in all: 6, 12 or 24 trees, learning rate .3 or 1, whatever 20 % of the
training rows prefer; `x 500` are 500 trees with their own defaults and 6 levels. `ebm` is measured
with 2,000 rows and up to 20 columns of noise. No claim is tested here, so there is no verdict."""
    page.section("Scores", note)
    for size in SIZES:
        table = score_table(lines, CONTENDERS, size)
        if table:
            page.section(f"{ROWS[size]:,} rows", table)
    return page
