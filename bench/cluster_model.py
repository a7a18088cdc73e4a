"""A model of the time that messages take on a Dask cluster, and a run that it was not fitted to.

python bench/cluster_model.py --out DIR [--repeats 5]

needs an environment with swarmwood and Dask, such as that of `make cluster`. Local clusters of 1,
2, 4 and 8 workers train greedy boosting on few rows, so that workers have next to nothing to
compute; every round of messages is timed. A run is repeated, and of each of its rounds the least
time counts: the sequence of rounds is the same in every repetition, and other programs of the
machine only add. The seconds of a round are fitted as

    latency + per_worker * workers + per_byte * bytes of all messages and replies of the round

by least squares over the rounds. The check is a run with other workers, columns and growth. With a
time per row and column of the kernel, also measured here, the model says how long trees take on any
number of rows and workers.
"""

import argparse
import json
import time
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
import swarmwood
from distributed import Client, LocalCluster
from swarmwood import _cluster
from swarmwood.dask import GreedyBoostRegressor

#: Rows of eight shards.
ROWS = 33_000
FITTED = [(workers, columns) for workers in (1, 2, 4, 8) for columns in (4, 40)]
DEPTH = {"n_estimators": 12, "max_depth": 6}
#: Workers, columns and settings that the model is not fitted to.
CHECKS = [
    (3, 30, {"n_estimators": 15, "growth": "leaf", "max_leaves": 32}),
    (6, 12, {"n_estimators": 10, "max_depth": 4}),
]


def table(rows: int, columns: int) -> tuple[pd.DataFrame, pd.Series]:
    """Make numbers whose sum is the target, with noise."""
    rng = np.random.default_rng(columns)
    X = rng.normal(size=(rows, columns))
    y = X @ rng.normal(size=columns) + rng.normal(size=rows)
    return pd.DataFrame(X, columns=[f"x{at}" for at in range(columns)]), pd.Series(y, name="y")


class Recorder:
    """Times the rounds of messages of a run."""

    def __init__(self) -> None:
        self.rounds: list[tuple[int, int, float]] = []
        self._exchange = _cluster.ClusterRun.exchange

    def __enter__(self) -> "Recorder":
        recorder = self

        def exchange(run, messages):
            started = time.perf_counter()
            replies = recorder._exchange(run, messages)
            seconds = time.perf_counter() - started
            sizes = [len(message) for _, message in messages] + [len(one or b"") for one in replies]
            recorder.rounds.append((len(messages), sum(sizes), seconds))
            return replies

        _cluster.ClusterRun.exchange = exchange
        return self

    def __exit__(self, *_) -> None:
        _cluster.ClusterRun.exchange = self._exchange


def measure(workers: int, columns: int, settings: dict, repeats: int) -> np.ndarray:
    """Return workers, bytes and least seconds of every round of a run."""
    X, y = table(ROWS, columns)
    runs = []
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with LocalCluster(n_workers=workers, **options) as cluster, Client(cluster):
        frames = [dd.from_pandas(one, npartitions=workers) for one in (X, y)]
        for _ in range(repeats):
            with Recorder() as recorder:
                GreedyBoostRegressor(**settings).fit(*frames)
            runs.append(np.array(recorder.rounds))
    least = np.min([run[:, 2] for run in runs], axis=0)
    return np.column_stack([runs[0][:, :2], least])


def kernel_seconds() -> float:
    """Return the seconds of a tree of depth 6 per row and column, on one thread."""
    rows, columns, trees = 400_000, 20, 10
    X, y = table(rows, columns)
    best = np.inf
    for _ in range(3):
        seconds = []
        for count in (1, 1 + trees):
            model = swarmwood.GreedyBoostRegressor(n_estimators=count, max_depth=6, n_jobs=1)
            started = time.process_time()
            model.fit(X, y)
            seconds.append(time.process_time() - started)
        best = min(best, (seconds[1] - seconds[0]) / trees)
    return best / rows / columns


def design(rounds: np.ndarray) -> np.ndarray:
    """Return the terms of the model by round."""
    return np.column_stack([np.ones(len(rounds)), rounds[:, 0], rounds[:, 1]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)

    lines, fitted = [], []
    for workers, columns in FITTED:
        rounds = measure(workers, columns, DEPTH, given.repeats)
        fitted.append(rounds)
        lines.append({"workers": workers, "columns": columns, "use": "fit"})
    everything = np.concatenate(fitted)
    # Relative errors: rounds with long tables must not decide alone.
    scale = 1 / everything[:, 2]
    terms, *_ = np.linalg.lstsq(
        design(everything) * scale[:, None], everything[:, 2] * scale, rcond=None
    )
    for workers, columns, settings in CHECKS:
        fitted.append(measure(workers, columns, settings, given.repeats))
        lines.append({"workers": workers, "columns": columns, "use": "check"})
    for line, rounds in zip(lines, fitted, strict=True):
        line["rounds"] = len(rounds)
        line["MB"] = round(rounds[:, 1].sum() / 1e6, 2)
        line["seconds"] = round(float(rounds[:, 2].sum()), 3)
        line["model"] = round(float((design(rounds) @ terms).sum()), 3)
    names = ["latency", "per_worker", "per_byte"]
    found = {name: float(value) for name, value in zip(names, terms, strict=True)}
    record = {
        "version": swarmwood.__version__,
        "terms": found,
        "kernel": kernel_seconds(),
        "runs": lines,
    }
    (given.out / "cluster-model.json").write_text(json.dumps(record, indent=1) + "\n")
    print(pd.DataFrame(lines).to_string(index=False))
    print(found, record["kernel"])


if __name__ == "__main__":
    main()
