"""How much shorter are rules than the paths of a tree? Conditions before and after, on real data.

python3 bench/rules_size.py --data DIR --binary PATH [--splits 5] [--method swarm-tree |
--train="--method ..."]

Two thirds of the rows of every set of `DIR` that is there are drawn `--splits` times; one tree of 8
and one of 16 leaves is trained on them, and `swarmwood rules` counts the conditions of the tree's
paths and of the rules. Then the rules, as a Python function, decide all rows of the set, and are
compared with what the model predicts. Numbers become two classes at a value of the table below.
Needs nothing but Python.
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
# Methods that make one tree, with what else they need for a tree of the size asked for.
METHODS = {
    "greedy": "--method greedy --trees 1 --learning-rate 1 --growth leaf",
    "cart": "--method cart --prune none",
    "swarm-tree": "--method swarm-tree",
}


def two_classes(path: Path, cut: float | None) -> tuple[list[str], list[list[str]]]:
    """The header and the rows of a set, with two classes."""
    with path.open(newline="") as file:
        header, *rows = csv.reader(file)
    if cut is not None:
        rows = [[*row[:-1], "high" if float(row[-1]) >= cut else "low"] for row in rows]
    return header, rows


def write(header: list[str], rows: list[list[str]], out: Path) -> None:
    with out.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def draw(rows: list[list[str]], seed: int) -> list[list[str]]:
    """Two thirds of the rows."""
    shuffled = rows.copy()
    random.Random(seed).shuffle(shuffled)
    return shuffled[: len(rows) * 2 // 3]


def said(binary: Path, *words: str | Path) -> str:
    return subprocess.run([binary, *words], check=True, capture_output=True, text=True).stdout


def sizes(
    binary: Path, rows: Path, leaves: int, train: str, model: Path
) -> tuple[int, int, int, int]:
    """Trains a tree; rules and conditions of its paths and of the rules."""
    task = [
        "--target",
        "target",
        "--task",
        "classification",
        "--max-leaves",
        str(leaves),
        "--quiet",
    ]
    said(binary, "train", rows, *task, *shlex.split(train), "--out", model)
    found = json.loads(said(binary, "rules", model, "--format", "json"))
    return (
        found["leaf_paths"]["rule_count"],
        found["leaf_paths"]["condition_count"],
        len(found["rules"]),
        found["condition_count"],
    )


def value(text: str) -> float | str | None:
    """A field as a row of the generated function has it."""
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        return text


def changed(binary: Path, model: Path, whole: Path) -> tuple[int, int]:
    """Of how many rows the rules say something else than the model, and how many rows there are."""
    scope: dict = {}
    exec(said(binary, "rules", model, "--format", "python"), scope)
    out = model.with_suffix(".csv")
    said(binary, "predict", model, whole, "--quiet", "--out", out)
    with whole.open(newline="") as rows, out.open(newline="") as predictions:
        pairs = list(zip(csv.DictReader(rows), csv.DictReader(predictions), strict=True))
    by_rules = [
        str(scope["predict"]({name: value(field) for name, field in row.items()}))
        for row, _ in pairs
    ]
    return sum(
        rule != line["prediction"] for rule, (_, line) in zip(by_rules, pairs, strict=True)
    ), len(pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--binary", type=Path, required=True)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--method", choices=METHODS, default="greedy", help="default: greedy")
    parser.add_argument(
        "--train", metavar="FLAGS", help="flags of `swarmwood train` instead of a method's"
    )
    args = parser.parse_args()
    train = args.train or METHODS[args.method]
    print(
        "| leaves | set | paths: rules / conditions | rules / conditions | fewer conditions |\n"
        "|---|---|---|---|---|"
    )
    wrong = judged = 0
    with tempfile.TemporaryDirectory() as folder:
        drawn, whole, model = (
            Path(folder) / name for name in ("rows.csv", "whole.csv", "model.json")
        )
        for leaves in (8, 16):
            fewer = []
            for name, cut in SETS.items():
                path = args.data / f"{name}.csv"
                if not path.exists():
                    continue
                header, rows = two_classes(path, cut)
                write(header, rows, whole)
                runs = []
                for seed in range(args.splits):
                    write(header, draw(rows, seed), drawn)
                    runs.append(sizes(args.binary, drawn, leaves, train, model))
                    now = changed(args.binary, model, whole)
                    wrong, judged = wrong + now[0], judged + now[1]
                shares = [1 - run[3] / max(run[1], 1) for run in runs]
                fewer.extend(shares)
                mean = [sum(column) / len(runs) for column in zip(*runs, strict=True)]
                share = 100 * sum(shares) / len(shares)
                paths, rules = f"{mean[0]:.1f} / {mean[1]:.1f}", f"{mean[2]:.1f} / {mean[3]:.1f}"
                print(f"| {leaves} | {name} | {paths} | {rules} | {share:.0f} % |", flush=True)
            if fewer:
                print(f"| {leaves} | **mean** | | | **{100 * sum(fewer) / len(fewer):.1f} %** |")
    print(f"\n{wrong} of {judged} rows changed by the rules as Python.")


if __name__ == "__main__":
    main()
