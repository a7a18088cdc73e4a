"""What does a trial cost the engines themselves? Ours and Optuna's TPE in one run, seven
parameters, 200 trials.

bench/.venv/bin/python bench/engine_cost.py --examples target/release/examples [--rounds 3]

`--examples` holds `engine_speed` of the search crate and `surrogate_speed` of the facade (`cargo
build --release --examples -p swarmwood-search -p swarmwood`). Sides take turns; the least of the
rounds counts.
"""

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path

import optuna

from table import number, render

TRIALS = 200
TPE = "TPE of Optuna"
# What an engine may cost, in microseconds a trial.
MOST = {"schemata": 50, "tpe": 200, "forest": 2000, "gbrt": 2000}


def ours(examples: Path) -> dict[str, float]:
    """Microseconds a trial of every engine of ours."""
    cost = {}
    told = subprocess.run(
        [examples / "engine_speed"], capture_output=True, text=True, check=True
    ).stdout
    for name, micros in re.findall(r"^(\w+) +([\d.]+) µs a trial", told, re.MULTILINE):
        cost[name] = float(micros)
    line = [examples / "surrogate_speed", str(TRIALS), "forest", "gbrt"]
    told = subprocess.run(line, capture_output=True, text=True, check=True).stdout
    for name, micros in re.findall(r"^(\w+): \d+ \d+ (\d+)$", told, re.MULTILINE):
        cost[name] = float(micros)
    return cost


def suggest(trial: optuna.Trial) -> float:
    """Range B of the published experiments, which has seven parameters; the loss costs nothing."""
    loss = float(trial.suggest_categorical("booster", ["gbtree", "gblinear", "dart"]) == "dart")
    loss += float(trial.suggest_categorical("objective", ["squared", "squared-log"]) == "squared")
    loss += (trial.suggest_float("learning_rate", 0.02, 0.30, step=0.02) - 0.1) ** 2
    loss += (trial.suggest_int("depth", 1, 20) - 8) ** 2 + (
        trial.suggest_int("min_child_weight", 1, 20) - 8
    ) ** 2
    loss += (trial.suggest_float("subsample", 0.30, 1.00, step=0.05) - 0.6) ** 2
    return loss + (trial.suggest_float("colsample_bytree", 0.30, 1.00, step=0.05) - 0.6) ** 2


def theirs(seed: int) -> float:
    """Microseconds a trial of Optuna's default sampler, its study in memory."""
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    start = time.perf_counter()
    study.optimize(suggest, n_trials=TRIALS)
    return (time.perf_counter() - start) / TRIALS * 1e6


def main() -> None:
    parse = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parse.add_argument("--examples", type=Path, required=True)
    parse.add_argument("--rounds", type=int, default=3)
    options = parse.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    cost: dict[str, float] = {}
    for seed in range(options.rounds):
        for name, micros in {**ours(options.examples), TPE: theirs(seed)}.items():
            cost[name] = min(micros, cost.get(name, micros))
    rows = []
    for name, micros in cost.items():
        most = MOST.get(name)
        verdict = "" if most is None else "met" if micros <= most else "not met"
        rows.append([name, number(micros), number(cost[TPE] / micros), str(most or ""), verdict])
    sys.stdout.write(render(["engine", "µs a trial", f"{TPE} / it", "at most", ""], rows))


if __name__ == "__main__":
    main()
