"""Memory and time of training and prediction by the number of rows.

bench/.venv/bin/python bench/many_rows.py --binary PATH --out DIR [--rows 100000 1000000 4000000]
[--only train predict]

Tables of 20 numeric columns are made as Parquet, piece by piece and the same on every machine: the
target is a sum of steps, products and noise. `swarmwood train` and `swarmwood predict` run with
default parameters; peak memory and seconds are what they report (`--json`).
"""

import argparse
import json
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

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


def run(binary: str, *arguments: str | Path) -> dict:
    """Run the command line and return its report."""
    command = [binary, *map(str, arguments), "--json", "--quiet"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000, 4_000_000])
    parser.add_argument("--only", nargs="+", default=["train", "predict"])
    parser.add_argument("--threads", default="2")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    lines = []
    for rows in given.rows:
        table, model = given.out / f"rows-{rows}.parquet", given.out / f"model-{rows}.json"
        make(table, rows)
        line = {"rows": rows}
        threads = ("--threads", given.threads)
        if "train" in given.only:
            report = run(given.binary, "train", table, "--target", "y", "--out", model, *threads)
            line["train MB"] = report["peak_memory_bytes"] >> 20
            line |= {f"{name} s": round(took, 1) for name, took in report["seconds"].items()}
        if "predict" in given.only:
            for out in ("parquet", "csv"):
                scores = given.out / f"scores.{out}"
                report = run(given.binary, "predict", model, table, "--out", scores, *threads)
                line[f"{out} MB"] = report["peak_memory_bytes"] >> 20
                line[f"{out} s"] = round(sum(report["seconds"].values()), 2)
        lines.append(line)
        print(json.dumps(line), flush=True)
    frame = pd.DataFrame(lines)
    print(render(list(frame.columns), frame.astype(str).to_numpy().tolist()))


if __name__ == "__main__":
    main()
