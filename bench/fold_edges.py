"""Does it flatter a configuration that all folds of a tuning share their bin boundaries?

bench/.venv/bin/python bench/fold_edges.py --data DIR --binary PATH --judge PATH --out DIR [--draws
2] [--tried 4]

The tuner bins its rows once and cuts the bins into folds: a fold's own rows helped to place the
boundaries, their targets unseen. Here small samples, where that could matter most, are judged in
both ways: by the tuner's own code (`--judge`, the example `evaluate_configs` of the facade), and by
`swarmwood train` and `evaluate` on the files of each fold, which know nothing of the rows they are
judged by. A figure below zero means that shared boundaries flatter.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import child
import datasets
from table import render

SETS = {"abalone": "rmse", "wine_quality": "rmse", "eeg_eye_state": "logloss"}
ROWS, FOLDS, TREES = (300, 1000), 5, 100


def configurations(count: int, seed: int) -> list[dict]:
    """Ordinary configurations without random rows and columns, which both ways would draw
    differently."""
    rng = np.random.default_rng(seed)
    return [
        {
            "learning_rate": float(rng.choice([0.06, 0.10, 0.16])),
            "depth": int(rng.integers(3, 9)),
            "min_child_weight": int(rng.integers(1, 8)),
            "subsample": 1.0,
            "colsample_bytree": 1.0,
        }
        for _ in range(count)
    ]


def shared(
    options: argparse.Namespace, file: Path, name: str, seed: int, tried: list[dict]
) -> tuple[np.ndarray, list]:
    """The fold of each row, and the losses of each configuration by fold, as the tuner finds
    them."""
    line = [
        options.judge,
        file,
        "target",
        task_of(name),
        SETS[name],
        "paper-a",
        FOLDS,
        0,
        seed,
        TREES,
    ]
    asked = [{"folds": True}, *({"evaluate": one} for one in tried)]
    text = "\n".join(map(json.dumps, asked)) + "\n"
    done = subprocess.run(
        [str(word) for word in line], input=text, capture_output=True, text=True, check=True
    )
    told = [json.loads(answer) for answer in done.stdout.splitlines()]
    return np.array(told[0]["folds"]), [answer["losses"] for answer in told[1:]]


def alone(
    options: argparse.Namespace, folder: Path, name: str, seed: int, one: dict, fold: int
) -> float:
    """The loss of a configuration on a fold whose rows the training never saw, not even for
    boundaries."""
    model = folder / "model.json"
    words = [
        options.binary,
        "train",
        folder / f"rest-{fold}.csv",
        "--target",
        "target",
        "--task",
        task_of(name),
    ]
    words += [
        "--method",
        "greedy",
        "--trees",
        TREES,
        "--seed",
        seed,
        "--threads",
        1,
        "--quiet",
        "--json",
        "--out",
        model,
    ]
    child.run(
        words
        + [word for key, value in one.items() for word in (f"--{key.replace('_', '-')}", value)],
        1,
    )
    return child.run([options.binary, "evaluate", model, folder / f"fold-{fold}.csv", "--json"], 1)[
        SETS[name]
    ]


def task_of(name: str) -> str:
    return "regression" if SETS[name] == "rmse" else "classification"


def differences(
    options: argparse.Namespace, frame: pd.DataFrame, name: str, seed: int
) -> list[float]:
    """By how many percent the losses of the folds are higher with shared boundaries."""
    found, tried = [], configurations(options.tried, seed)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        frame.to_csv(folder / "all.csv", index=False)
        folds, losses = shared(options, folder / "all.csv", name, seed, tried)
        for fold in range(FOLDS):
            frame[folds != fold].to_csv(folder / f"rest-{fold}.csv", index=False)
            frame[folds == fold].to_csv(folder / f"fold-{fold}.csv", index=False)
            found += [
                100.0 * (by_fold[fold] / alone(options, folder, name, seed, one, fold) - 1.0)
                for one, by_fold in zip(tried, losses, strict=True)
            ]
    return found


def main() -> None:
    parse = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for flag in ("--data", "--binary", "--judge", "--out"):
        parse.add_argument(flag, type=Path, required=True)
    parse.add_argument("--draws", type=int, default=2, help="samples of each set and size")
    parse.add_argument("--tried", type=int, default=4, help="configurations of each sample")
    options = parse.parse_args()
    lines, every = [], []
    for name in SETS:
        whole = datasets.read(options.data / f"{name}.csv")
        for rows in ROWS:
            found = []
            for draw in range(options.draws):
                found += differences(options, whole.sample(rows, random_state=draw), name, draw)
            lines.append([name, str(rows), *summary(found)])
            every += found
    lines.append(["all", "", *summary(every)])
    text = render(
        ["set", "rows", "shared over own, %", "standard error", "of a fold", "folds"], lines
    )
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "summary.md").write_text(text)
    sys.stdout.write(text)


def summary(found: list[float]) -> list[str]:
    """Mean, its standard error, the standard deviation, and how many."""
    spread = float(np.std(found, ddof=1))
    return [
        f"{np.mean(found):+.2f}",
        f"{spread / len(found) ** 0.5:.2f}",
        f"{spread:.2f}",
        str(len(found)),
    ]


if __name__ == "__main__":
    main()
