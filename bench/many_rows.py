"""Memory and time of training and prediction by the number of rows.

bench/.venv/bin/python bench/many_rows.py --binary PATH --out DIR [--rows 100000 1000000 10000000]
[--only train lightgbm predict] [--figure docs/many-rows.svg]

Tables of 20 numeric columns are made as Parquet, piece by piece and the same on every machine: the
target is a sum of steps, products and noise. `swarmwood train` and `swarmwood predict` run with
default parameters; peak memory and seconds are what they report (`--json`), and seconds of the
processor are those of the whole process. LightGBM trains 200 trees of 31 leaves on an array in
memory, in a process of its own; its seconds of the processor are those of binning and training,
without reading. What was measured is added to `many-rows.json` in DIR; the figure is drawn of it.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from evidence.figures import Panel, draw
from peer_process import memory
from peers import LightGBM
from shape import Shape
from table import render

COLUMNS = 20
#: Rows of a row group; each is made from its own seed.
GROUP = 100_000


def group(number: int, rows: int) -> pa.Table:
    """Make some rows."""
    rng = np.random.default_rng([7, number])
    X = rng.normal(size=(rows, COLUMNS))
    X[:, 10:15] = np.round(4 * X[:, 10:15])
    y = 2 * np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + (X[:, 3] > 0.5) * X[:, 4] + 0.3 * X[:, 10]
    y += rng.normal(size=rows)
    columns = {f"x{at}": X[:, at] for at in range(COLUMNS)}
    return pa.table({**columns, "y": y})


def make(path: Path, rows: int) -> None:
    """Write a table, row group after row group."""
    if path.exists():
        return
    part = path.with_suffix(".part")
    with pq.ParquetWriter(part, group(0, 1).schema) as writer:
        for number, first in enumerate(range(0, rows, GROUP)):
            writer.write_table(group(number, min(GROUP, rows - first)))
    part.rename(path)


def run(command: list[str | Path]) -> dict:
    """Run a program that prints a report, and add its seconds of the processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu": cpu, **json.loads(done.stdout)}


def train_lightgbm(table: Path, threads: int) -> dict:
    """Train LightGBM in this process."""
    file = pq.ParquetFile(table)
    x, y, first = np.empty((file.metadata.num_rows, COLUMNS)), [], 0
    for batch in file.iter_batches(GROUP):
        for at in range(COLUMNS):
            x[first : first + batch.num_rows, at] = batch.column(at).to_numpy()
        y.append(batch.column(COLUMNS).to_numpy())
        first += batch.num_rows
    y = np.concatenate(y)
    limits = {"trees": 200, "growth": "leaf", "depth": 0, "leaves": 31}
    peer = LightGBM(Shape("regression", threads=threads, equal=False, **limits))
    cpu, started = time.process_time(), time.perf_counter()
    peer.bin(x, y)
    peer.train()
    return {
        "cpu": time.process_time() - cpu,
        "seconds": time.perf_counter() - started,
        "peak_memory_bytes": memory("VmHWM"),
    }


def measure(given: argparse.Namespace, rows: int) -> dict:
    """Run what is asked for on so many rows."""
    table, model = given.out / f"rows-{rows}.parquet", given.out / f"model-{rows}.json"
    make(table, rows)
    line: dict = {"rows": rows}
    options = ["--threads", given.threads, "--json", "--quiet"]
    if "train" in given.only:
        command = [given.binary, "train", table, "--target", "y", "--out", model]
        report = run([*command, *options])
        line["train MB"] = report["peak_memory_bytes"] >> 20
        line["train cpu s"] = round(report["cpu"], 1)
        line |= {f"{name} s": round(took, 1) for name, took in report["seconds"].items()}
    if "lightgbm" in given.only:
        report = run([sys.executable, __file__, "--lightgbm", table, "--threads", given.threads])
        line["lightgbm MB"] = report["peak_memory_bytes"] >> 20
        line["lightgbm cpu s"] = round(report["cpu"], 1)
        line["lightgbm s"] = round(report["seconds"], 1)
    if "predict" in given.only:
        for out in ("parquet", "csv"):
            scores = given.out / f"scores.{out}"
            report = run([given.binary, "predict", model, table, "--out", scores, *options])
            line[f"{out} MB"] = report["peak_memory_bytes"] >> 20
            line[f"{out} s"] = round(sum(report["seconds"].values()), 2)
    return line


def draw_figure(lines: list[dict]) -> str:
    """Memory and time of training by the number of rows."""
    lines = sorted((line for line in lines if "train MB" in line), key=lambda line: line["rows"])
    unit = lines[0]["train cpu s"] / lines[0]["rows"]
    peak = Panel("peak memory", "rows", "GB", has_decades=True)
    took = Panel("time per row, relative", "rows", "", has_decades=True)
    names = {"train": "Swarmwood", "lightgbm": "LightGBM, 200 trees of 31 leaves"}
    for who, name in names.items():
        known = [line for line in lines if f"{who} MB" in line]
        rows = [line["rows"] for line in known]
        peak.curves[name] = (rows, [line[f"{who} MB"] / 1024 for line in known])
        each = [line[f"{who} cpu s"] / line["rows"] / unit for line in known]
        took.curves[name] = (rows, each)
    return draw([peak, took], "Training by the number of rows")[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--rows", type=int, nargs="*", default=[100_000, 1_000_000, 10_000_000])
    parser.add_argument("--only", nargs="+", default=["train", "lightgbm", "predict"])
    parser.add_argument("--threads", default="2")
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--lightgbm", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.lightgbm:
        print(json.dumps(train_lightgbm(given.lightgbm, int(given.threads))))
        return
    given.out.mkdir(parents=True, exist_ok=True)
    record = given.out / "many-rows.json"
    known = json.loads(record.read_text()) if record.exists() else []
    measured = {line["rows"]: line for line in known}
    for rows in given.rows:
        line = measure(given, rows)
        measured[rows] = measured.get(rows, {}) | line
        record.write_text(json.dumps(list(measured.values()), indent=1) + "\n")
        print(json.dumps(line), flush=True)
    frame = pd.DataFrame([measured[rows] for rows in sorted(measured)])
    print(render(list(frame.columns), frame.astype(str).to_numpy().tolist()))
    if given.figure:
        given.figure.write_text(draw_figure(list(measured.values())), encoding="utf-8")


if __name__ == "__main__":
    main()
