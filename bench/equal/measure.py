"""The measurement of one contender on one cell: tune on the inner division, train on all training
rows, judge.

Of the settings the one with the lowest RMSE or the highest accuracy on the inner validation rows is
taken; equal accuracies are parted by log loss. For log loss and AUC the setting with the lowest log
loss is taken, which may be another one. Every fit runs on one thread.
"""

import json
import math
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd

import child
import metrics
from equal import latency
from equal.cell import Cell, cell
from equal.contenders import SIZES, Contender
from peers import PACKAGES, PEERS
from shape import Shape

LAMBDA = {"xgboost": "lambda", "lightgbm": "lambda_l2", "catboost": "l2_leaf_reg"}
UNTOLD = ("parameters", "model", "classes", "warnings")  # of what our binary says, not kept


@dataclass(frozen=True)
class Job:
    """What one worker is asked to do."""

    name: str
    split: int
    size: str
    contender: Contender
    data: Path
    scratch: Path
    limit: int | None = None
    binary: Path | None = None
    build: str = ""
    is_timed: bool = False

    @property
    def key(self) -> tuple:
        return (self.name, self.split, self.size, self.contender.name, self.limit)


class PeerFits:
    """A peer of `peers.py`; the rows of a part are binned once and shared by all its settings."""

    def __init__(self, job: Job, rows: Cell):
        self.job, self.rows, self.binned, self.found = job, rows, {}, {}

    def model(self, part: str, setting: dict[str, float]):
        contender, size = self.job.contender, SIZES[self.job.size]
        by_leaves = contender.growth == "leaf"
        shape = Shape(
            task=self.rows.task,
            classes=self.rows.table.classes,
            trees=size.trees,
            learning_rate=setting["learning_rate"],
            growth=contender.growth,
            depth=0 if by_leaves else size.depth,
            leaves=size.leaves if by_leaves else 0,
            threads=1,
            equal=False,
        )
        peer = PEERS[contender.library](shape)
        peer.params[LAMBDA[contender.library]] = setting["lambda"]
        if part not in self.binned:
            peer.bin(self.rows.x(part), self.rows.y(part))
            self.binned[part] = peer.data
        peer.data = self.binned[part]
        peer.train()
        return peer

    def score(self, part: str, setting: dict[str, float], judged: str) -> dict[str, float]:
        peer = self.model(part, setting)
        if judged == "test":
            self.found = {"leaves": sum(peer.leaves())}
            if self.job.is_timed:
                self.found["nanoseconds"] = latency.of_peer(peer, self.rows)
        prepare, raw = peer.ways(self.rows.x(judged))["array"]
        return metrics.score(self.rows.task, raw(prepare()), self.rows.y(judged))


class ForestFits:
    """Regularised greedy forest (Johnson and Zhang 2014): at most so many leaves, in as many trees
    as it likes.

    The library works with files of fixed names in the temporary directory, so every process gets
    its own.
    """

    def __init__(self, job: Job, rows: Cell):
        self.job, self.rows, self.found = job, rows, {}
        own = rows.folder.parent / f"rgf-{os.getpid()}"
        own.mkdir(parents=True, exist_ok=True)
        tempfile.tempdir = str(own)

    def score(self, part: str, setting: dict[str, float], judged: str) -> dict[str, float]:
        from rgf.sklearn import RGFRegressor

        total = SIZES[self.job.size].total
        model = RGFRegressor(max_leaf=total, test_interval=total, l2=setting["l2"])
        model.fit(self.rows.x(part).astype(np.float64), self.rows.y(part))
        found = metrics.score(
            "regression", model.predict(self.rows.x(judged).astype(np.float64)), self.rows.y(judged)
        )
        model.cleanup()
        return found


class OurFits:
    """The real binary. It reports the metrics of the validation rows itself; the test rows are
    judged here, from raw scores, by the same code as the peers'."""

    def __init__(self, job: Job, rows: Cell):
        self.job, self.rows, self.told, self.found = job, rows, {}, {}

    def score(self, part: str, setting: dict[str, float], judged: str) -> dict[str, float]:
        job, task = self.job, self.rows.task
        model = self.rows.folder / f"model-{os.getpid()}.json"
        command = [
            job.binary,
            *train_words(job.contender, job.size, task, setting, self.rows.csv(part), model),
        ]
        try:
            if judged == "valid":
                return child.run([*command, "--valid", self.rows.csv("valid")], 1)["metrics"][
                    "valid"
                ]
            self.told = child.run(command, 1, limit=4 * 3600.0)
            self.found = {
                "leaves": sum(
                    len(tree["leaf"]) for tree in json.loads(model.read_text()).get("trees", [])
                )
            }
            if job.is_timed:
                self.found["nanoseconds"] = latency.of_ours(job.binary, model, self.rows)
            return metrics.score(
                task, raw_scores(job.binary, model, self.rows), self.rows.y("test")
            )
        finally:
            model.unlink(missing_ok=True)


def train_words(
    contender: Contender, size: str, task: str, setting: dict, data: Path, model: Path
) -> list:
    """The whole command line of one fit of ours."""
    words = ["train", data, "--target", "target"]
    words += ["--task", "regression"] if task == "regression" else ["--task", "classification"]
    words += ["--positive", "1"] if task == "binary" else []
    words += contender.words(SIZES[size], setting)
    return [*words, "--seed", 0, "--threads", 1, "--quiet", "--json", "--out", model]


def raw_scores(binary: Path, model: Path, rows: Cell) -> np.ndarray:
    """Values, log-odds of class 1, or a column of logits for each class in the order of the
    codes."""
    out = model.with_suffix(".csv")
    try:
        options = ["--raw", "--threads", 1, "--quiet", "--json", "--out", out]
        child.run([binary, "predict", model, rows.csv("test"), *options], 1)
        table = pd.read_csv(out)
    finally:
        out.unlink(missing_ok=True)
    if rows.task != "multiclass":
        return table["raw"].to_numpy()
    return table[[f"raw_{code}" for code in range(rows.table.classes)]].to_numpy()


def choose(task: str, found: list[dict[str, float]]) -> tuple[int, int]:
    """The places of the best setting by RMSE or accuracy and of the best by RMSE or log loss; the
    first of equals."""
    if task == "regression":
        best = min(range(len(found)), key=lambda place: found[place]["rmse"])
        return best, best
    loss = [each["logloss"] for each in found]
    right = [each["accuracy"] for each in found]
    first = min(range(len(found)), key=lambda place: (-right[place], loss[place]))
    return first, min(range(len(found)), key=lambda place: loss[place])


FITS: dict[str, Callable] = {"ours": OurFits, "rgf": ForestFits}


def measure(job: Job) -> dict:
    """The line of the cache for this job."""
    rows = cell(job.name, job.split, job.data, job.scratch, job.limit)
    fits = FITS.get(job.contender.library, PeerFits)(job, rows)
    grid = job.contender.grid(SIZES[job.size])
    started = time.perf_counter()
    inner = [fits.score("fit", setting, "valid") for setting in grid] if len(grid) > 1 else []
    by_metric, by_loss = choose(rows.task, inner) if inner else (0, 0)
    tuned = time.perf_counter()
    found = fits.score("train", grid[by_metric], "test")
    if not all(math.isfinite(value) for value in found.values()):
        raise ValueError(f"predictions that cannot be judged: {found}")
    line = {"set": job.name, "split": job.split, "size": job.size, "contender": job.contender.name}
    line |= {
        "limit": job.limit,
        "build": job.build or built(job.contender),
        "rows": len(rows.table.y),
    }
    line |= {"metrics": found, "chosen": grid[by_metric]} | fits.found
    line |= {
        "seconds": {"tune": round(tuned - started, 3), "fit": round(time.perf_counter() - tuned, 3)}
    }
    if rows.task != "regression":
        line["by_loss"] = (
            found if by_loss == by_metric else fits.score("train", grid[by_loss], "test")
        )
        line["chosen_by_loss"] = grid[by_loss]
    if job.contender.ours and not job.contender.tuned:
        line["told"] = {name: said for name, said in fits.told.items() if name not in UNTOLD}
    return line


def built(contender: Contender) -> str:
    """The version of the library that competed."""
    return version("rgf-python" if contender.library == "rgf" else PACKAGES[contender.library])
