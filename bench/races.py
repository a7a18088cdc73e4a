"""When should a tuning give up a configuration before all its folds are done?

bench/.venv/bin/python bench/races.py --data DIR --binary PATH --out DIR [--seeds 2] [--trials 150]

Studies are made in which every configuration is evaluated on all five folds (`tune --no-pruning`).
Rules of racing are then replayed on them: how many fits and how much of the time a rule would have
needed, how much worse the best configuration is among those it would have evaluated to the end, and
how many it would have given up that end ahead of their rival. What the engine would have asked
after a rule's verdicts is not part of it. Studies are kept in OUT and not made again.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

import datasets
from table import render

SETS = {
    "abalone": "rmse",
    "wine_red": "rmse",
    "insurance": "rmse",
    "pima": "logloss",
    "mozilla4": "logloss",
    "higgs": "logloss",
    "eeg_eye_state": "logloss",
}
SPACES = ("paper-a", "default")
ROWS, FOLDS, LAG = 1500, 5, 4
NEAREST, FEWEST = 12, 4

# Whether to give up: by the differences to the rival so far, and the deviation of earlier
# differences if it is known.
Rule = Callable[[np.ndarray, float | None], bool]


def never(_seen: np.ndarray, _noise: float | None) -> bool:
    return False


def own_error(seen: np.ndarray, _noise: float | None) -> bool:
    """After two folds, behind by more than one standard error of the trial's own differences."""
    return len(seen) >= 2 and bool(seen.mean() > seen.std(ddof=1) / len(seen) ** 0.5)


def to_come(deviations: float) -> Rule:
    """Behind by more than so many deviations of what the folds to come may bring, as earlier trials
    tell it."""

    def rule(seen: np.ndarray, noise: float | None) -> bool:
        count = len(seen)
        margin = deviations * ((FOLDS - count) / (FOLDS * count)) ** 0.5
        return noise is not None and bool(seen.mean() > margin * noise)

    return rule


RULES: dict[str, Rule] = {
    "every fold": never,
    "one own standard error after two folds": own_error,
    **{
        f"{deviations} deviations of what is to come": to_come(deviations)
        for deviations in (0.5, 0.75, 1.0, 1.25, 1.5)
    },
}


def scatter(near: list[np.ndarray]) -> float | None:
    """The standard deviation of differences, pooled over the trials whose mean difference is
    smallest."""
    near = sorted(near, key=lambda seen: abs(seen.mean()))[:NEAREST]
    free = sum(len(seen) - 1 for seen in near)
    squares = sum(float(((seen - seen.mean()) ** 2).sum()) for seen in near)
    return (squares / free) ** 0.5 if free >= FEWEST else None


def replay(losses: np.ndarray, seconds: np.ndarray, rule: Rule) -> list[float]:
    """Fits a trial, the share of the time, by how many percent the best is worse, and wrong
    verdicts."""
    used, wrong = np.full(len(losses), FOLDS), 0
    for trial in range(len(losses)):
        known = np.arange(max(0, trial + 1 - LAG))
        whole = known[used[known] == FOLDS]
        if not len(whole):
            continue
        rival = whole[losses[whole].mean(axis=1).argmin()]
        near = [
            losses[j, : used[j]] - losses[rival, : used[j]]
            for j in known
            if used[j] > 1 and j != rival
        ]
        noise, apart = scatter(near), losses[trial] - losses[rival]
        used[trial] = next(
            (count for count in range(1, FOLDS) if rule(apart[:count], noise)), FOLDS
        )
        wrong += int(used[trial] < FOLDS and apart.mean() < 0.0)
    spent = sum(float(seconds[trial, : used[trial]].sum()) for trial in range(len(losses)))
    best = losses[used == FOLDS].mean(axis=1).min() / losses.mean(axis=1).min()
    return [float(used.mean()), spent / float(seconds.sum()), 100.0 * (best - 1.0), wrong]


def study(
    options: argparse.Namespace, name: str, space: str, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """The losses of all folds of all trials, and the seconds they took."""
    rows, journal = options.out / f"{name}.csv", options.out / f"{name}-{space}-{seed}.jsonl"
    if not rows.exists():
        whole = datasets.read(next(options.data.glob(f"{name}.csv*")))
        whole.sample(min(ROWS, len(whole)), random_state=3).to_csv(rows, index=False)
    if not journal.exists():
        task = "regression" if SETS[name] == "rmse" else "classification"
        line = [
            options.binary,
            "tune",
            rows,
            "--target",
            "target",
            "--task",
            task,
            "--metric",
            SETS[name],
        ]
        line += ["--space", space, "--folds", FOLDS, "--holdout", 0, "--seed", seed, "--trees", 100]
        line += [
            "--trials",
            options.trials,
            "--no-pruning",
            "--out",
            "-",
            "--quiet",
            "--study",
            journal,
        ]
        subprocess.run([str(word) for word in line], check=True, stdout=subprocess.DEVNULL)
    events = [json.loads(line) for line in journal.read_text().splitlines()]
    losses = np.full((options.trials, FOLDS), np.nan)
    seconds = losses.copy()
    for event in events:
        if event.get("event") == "fold":
            losses[event["id"], event["fold"]] = event["loss"]
            seconds[event["id"], event["fold"]] = event["seconds"]
    whole = ~np.isnan(losses).any(axis=1)
    return losses[whole], seconds[whole]


def main() -> None:
    parse = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for flag in ("--data", "--binary", "--out"):
        parse.add_argument(flag, type=Path, required=True)
    parse.add_argument("--seeds", type=int, default=2, help="studies of each set and space")
    parse.add_argument(
        "--first", type=int, default=200, metavar="SEED", help="the seed of the first study"
    )
    parse.add_argument("--trials", type=int, default=150)
    options = parse.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    seeds = range(options.first, options.first + options.seeds)
    there = [name for name in SETS if any(options.data.glob(f"{name}.csv*"))]
    for name in (name for name in SETS if name not in there):
        print(f"{name}: not in {options.data}, skipped", file=sys.stderr)
    if not there:
        parse.error(
            f"--data {options.data}: none of {', '.join(SETS)} is there; name their directory"
        )
    made = [
        study(options, name, space, seed) for name in there for space in SPACES for seed in seeds
    ]
    lines = []
    for name, rule in RULES.items():
        fits, time, worse, wrong = np.mean([replay(*one, rule) for one in made], axis=0)
        lines.append([name, f"{fits:.2f}", f"{time:.3f}", f"{worse:.3f}", f"{wrong:.2f}"])
    text = render(
        ["given up", "fits a trial", "share of the time", "best worse by %", "wrongly given up"],
        lines,
    )
    (options.out / "summary.md").write_text(text)
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
