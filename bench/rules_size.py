"""How much shorter are rules than the paths of a tree? Conditions before and after, on real data.

    python3 bench/rules_size.py --data DIR --binary PATH [--splits 5] [--train="--method greedy ..."]

Two thirds of the rows of every set of `DIR` that is there are drawn `--splits` times; one tree of 8 and one of 16
leaves is trained on them, and `swarmwood rules` counts the conditions of the tree's paths and of the rules. Numbers
become two classes at a value of the table below. Needs nothing but Python.
"""

import argparse
import csv
import json
import random
import shlex
import subprocess
import tempfile
from pathlib import Path

# The classification sets, and regressions with the value from which a row is "high".
SETS: dict[str, float | None] = {
    "banknote": None,
    "parkinsons": None,
    "pima": None,
    "transfusion": None,
    "eeg_eye_state": None,
    "mozilla4": None,
    "wine_red": 6.0,
    "abalone": 10.0,
    "insurance": 10_000.0,
}
TREE = "--method greedy --trees 1 --learning-rate 1 --growth leaf"


def draw(path: Path, cut: float | None, seed: int, out: Path) -> None:
    """Writes two thirds of the rows, with two classes."""
    with path.open(newline="") as file:
        header, *rows = csv.reader(file)
    if cut is not None:
        rows = [[*row[:-1], "high" if float(row[-1]) >= cut else "low"] for row in rows]
    random.Random(seed).shuffle(rows)
    with out.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows[: len(rows) * 2 // 3]])


def sizes(binary: Path, rows: Path, leaves: int, train: str, folder: Path) -> tuple[int, int, int, int]:
    """Rules and conditions of the paths and of the rules."""
    model = folder / "model.json"
    task = ["--target", "target", "--task", "classification", "--max-leaves", str(leaves), "--quiet"]
    line = [binary, "train", rows, *task, *shlex.split(train), "--out", model]
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL)
    said = subprocess.run([binary, "rules", model, "--format", "json"], check=True, capture_output=True, text=True)
    found = json.loads(said.stdout)
    return found["paths"]["rules"], found["paths"]["conditions"], len(found["rules"]), found["conditions"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--binary", type=Path, required=True)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--train", default=TREE)
    args = parser.parse_args()
    print("| leaves | set | paths: rules / conditions | rules / conditions | fewer conditions |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for leaves in (8, 16):
            fewer = []
            for name, cut in SETS.items():
                path = args.data / f"{name}.csv"
                if not path.exists():
                    continue
                runs = []
                for seed in range(args.splits):
                    rows = Path(folder) / "rows.csv"
                    draw(path, cut, seed, rows)
                    runs.append(sizes(args.binary, rows, leaves, args.train, Path(folder)))
                shares = [1 - run[3] / max(run[1], 1) for run in runs]
                fewer.extend(shares)
                mean = [sum(column) / len(runs) for column in zip(*runs, strict=True)]
                share = 100 * sum(shares) / len(shares)
                paths, rules = f"{mean[0]:.1f} / {mean[1]:.1f}", f"{mean[2]:.1f} / {mean[3]:.1f}"
                print(f"| {leaves} | {name} | {paths} | {rules} | {share:.0f} % |")
            if fewer:
                print(f"| {leaves} | **mean** | | | **{100 * sum(fewer) / len(fewer):.1f} %** |")


if __name__ == "__main__":
    main()
