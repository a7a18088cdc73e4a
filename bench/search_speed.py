"""How fast is the search? Particles beside XGBoost's refresh and LightGBM's refit, and a default
run beside LightGBM.

bench/.venv/bin/python bench/search_speed.py --data DIR --particles PATH --binary PATH --out DIR

`--particles` is the example `particle_speed` of `swarmwood-papers` (`cargo build --release
--example particle_speed`); without `--binary` the default runs are left out. Everything is run in
turns, round after round; figures are minima. Run it on an idle machine.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import lightgbm
import numpy as np
import xgboost

import datasets

TREES, DEPTH, ROWS = 6, 5, 44_000


def particle_peers(data: Path) -> dict[str, object]:
    """Functions that re-fit the leaves of six trees of higgs with one thread, as each library does
    it."""
    frame = datasets.read(data / "higgs.csv.gz").iloc[:ROWS]
    x, y = frame.drop(columns="target").to_numpy(np.float32), frame["target"].to_numpy()
    matrix = xgboost.DMatrix(x, label=y, nthread=1)
    grow = {"max_depth": DEPTH, "objective": "binary:logistic", "nthread": 1, "tree_method": "hist"}
    grown = xgboost.train(grow, matrix, TREES)
    refresh = {**grow, "process_type": "update", "updater": "refresh", "refresh_leaf": True}
    refresh.pop("tree_method")
    leaves = {"num_leaves": 1 << DEPTH, "objective": "binary", "num_threads": 1, "verbose": -1}
    booster = lightgbm.train(leaves, lightgbm.Dataset(x, label=y), TREES)
    return {
        "XGBoost refresh": lambda: xgboost.train(refresh, matrix, TREES, xgb_model=grown),
        "LightGBM refit": lambda: booster.refit(x, y, num_threads=1, verbose=-1),
    }


def seconds(work: object) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def particles(example: Path, threads: int) -> dict[str, float]:
    """Nanoseconds per row and tree of a logistic particle with codes of one byte, evaluated alone
    and beside others, alone with codes of two bytes, the share of it that a new last tree costs,
    and how many particles all replacements of one rule in a tree cost, for a table of few rules."""
    line = [example, str(ROWS), str(threads), "logistic"]
    said = subprocess.run(line, check=True, capture_output=True, text=True).stdout.splitlines()
    speed, wide = (
        next(line for line in said if line.startswith(f"logistic loss Oblivious, {width} bytes"))
        for width in (1, 2)
    )
    replaced = next(line for line in said if line.startswith("logistic loss, "))
    figures = {
        "alone": re.search(r"one by one ([\d.]+)", speed),
        "two bytes": re.search(r"one by one ([\d.]+)", wide),
        "beside": re.search(r"beside each other ([\d.]+)", speed),
        "last": re.search(r"costs ([\d.]+)", speed),
        "replace": re.search(r"cost ([\d.]+)", replaced),
    }
    return {name: float(found.group(1)) for name, found in figures.items()}


def default_runs(
    binary: Path, data: Path, threads: int, rounds: int, name: str, task: str
) -> dict[str, float]:
    """Least seconds of one LightGBM fit of 200 trees of 31 leaves, and of a default run, binning
    included in both."""
    known = datasets.KNOWN[name]
    with tempfile.TemporaryDirectory() as folder:
        prepared, _ = datasets.prepare(known, data, Path(folder), None, None)
        frame = datasets.read(prepared.csv)
        x, y = frame.iloc[:, :-1].to_numpy(np.float32), frame.iloc[:, -1].to_numpy()
        settings = {"num_leaves": 31, "num_threads": threads, "verbose": -1, "objective": task}
        took: dict[str, list[float]] = {"lightgbm": [], "swarm": []}
        for _ in range(rounds):
            took["lightgbm"].append(
                seconds(lambda: lightgbm.train(settings, lightgbm.Dataset(x, label=y), 200))
            )
            line = [
                binary,
                "train",
                prepared.csv,
                "--target",
                frame.columns[-1],
                "--threads",
                str(threads),
                "--json",
            ]
            out = [*line, "--quiet", "--out", Path(folder) / "model.json"]
            told = json.loads(
                subprocess.run(out, check=True, capture_output=True, text=True).stdout
            )
            took["swarm"].append(told["seconds"]["bin"] + told["seconds"]["train"])
    return {contender: min(times) for contender, times in took.items()}


def main(given: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for flag in ("--data", "--particles", "--out"):
        parser.add_argument(flag, type=Path, required=True)
    parser.add_argument("--binary", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(given)
    lines = ["# Speed of the search", "", "| what | ratio or value |", "|---|---:|"]
    peers, took, own = particle_peers(options.data), {}, {1: [], 2: []}
    for _ in range(options.rounds):
        for threads, figures in own.items():
            figures.append(particles(options.particles, threads))
        for name, work in peers.items():
            took[name] = min(took.get(name, np.inf), seconds(work))
    least_of = {
        threads: {name: min(run[name] for run in runs) for name in runs[0]}
        for threads, runs in own.items()
    }
    widths = {"one byte": least_of[1]["alone"], "two bytes": least_of[1]["two bytes"]}
    for name, least in took.items():
        each = least * 1e9 / ROWS / TREES
        for width, own_time in widths.items():
            lines.append(
                f"| {name} / particle with codes of {width}, per row and tree, 1 thread "
                f"| {each / own_time:.0f} |"
            )
    for width, own_time in widths.items():
        what = f"ns per row and tree of a particle with codes of {width}, 1 thread"
        lines.append(f"| {what} | {own_time:.2f} |")
    lines.append(f"| a new last tree / a particle | {least_of[1]['last']:.2f} |")
    lines.append(
        f"| all replacements of one rule in a tree / a particle | {least_of[1]['replace']:.2f} |"
    )
    lines.append(
        f"| particles, 2 threads over 1 | {least_of[1]['beside'] / least_of[2]['beside']:.2f} |"
    )
    runs = (("kc_house", "regression"), ("covtype_2", "binary")) if options.binary else ()
    for name, task in runs:
        least = default_runs(
            options.binary,
            options.data,
            2,
            1 if name == "covtype_2" else options.rounds,
            name,
            task,
        )
        ratio = least["swarm"] / least["lightgbm"]
        lines.append(f"| default run / LightGBM 200 x 31, {name}, 2 threads | {ratio:.1f} |")
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "summary.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
