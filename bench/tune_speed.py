"""How soon does `swarmwood tune` reach what Optuna with XGBoost reaches in a hundred trials?

bench/.venv/bin/python bench/tune_speed.py --data DIR --binary PATH --judge PATH --out DIR [--rounds
3] [--quick]

`--judge` is the example `evaluate_configs` of the facade (`cargo build --release -p swarmwood
--examples`); it tells the folds, so that both sides judge on the same rows. Both search the same
space, ours of `--space default` (what `tune` searches unless told otherwise) or range A of the
schemata paper, with 100 trees and 255 bins, by cross-validated RMSE or log loss, with two threads.
The peer is Optuna's default sampler with XGBoost's histogram trees, its quantile matrices made once
for each fold and kept for all trials; it runs twice, once with both threads in XGBoost and once
with two trials at a time on one thread each, and the faster of the two counts. Sides take turns,
round after round, each with its own seed.

A round asks: after how many seconds was our best score so far at least as good as the peer's final
one, reading the file included? If a hundred trials do not get there, ours goes on for as long as
the peer took. Writes summary.md and raw.jsonl; seconds of processor time stand beside those of the
clock. `--at-a-time 2` runs the peer in one way only.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import optuna
import xgboost

import datasets
from table import number, render

SETS = {"wine_quality": "regression", "kc_house": "regression", "eeg_eye_state": "classification"}
METRICS = {"regression": "rmse", "classification": "logloss"}
FOLDS, TREES, THREADS = 5, 100, 2


def judged_folds(options: argparse.Namespace, name: str, seed: int) -> np.ndarray:
    """The fold of each row, as our tuner cuts them."""
    task = SETS[name]
    line = [
        options.judge,
        options.data / f"{name}.csv",
        "target",
        task,
        METRICS[task],
        options.space,
        FOLDS,
        0,
        seed,
    ]
    asked = json.dumps({"folds": True}) + "\n"
    done = subprocess.run(
        [str(word) for word in line], input=asked, capture_output=True, text=True, check=True
    )
    return np.array(json.loads(done.stdout)["folds"])


def suggest_default(trial: optuna.Trial) -> dict:
    """A configuration of our default space."""
    return {
        "learning_rate": trial.suggest_float("learning_rate", 0.02, 0.5, log=True),
        "max_depth": trial.suggest_int("max_depth", 2, 10),
        "min_child_weight": trial.suggest_float("min_child_weight", 0.5, 64.0, log=True),
        "subsample": trial.suggest_float("subsample", 0.4, 1.0),
        "colsample_bytree": trial.suggest_float("colsample_bytree", 0.3, 1.0),
        "reg_lambda": trial.suggest_float("reg_lambda", 0.01, 100.0, log=True),
    }


def suggest_range_a(trial: optuna.Trial) -> dict:
    """A configuration of range A."""
    return {
        "learning_rate": trial.suggest_float("learning_rate", 0.02, 0.30, step=0.02),
        "max_depth": trial.suggest_int("max_depth", 1, 20),
        "min_child_weight": trial.suggest_int("min_child_weight", 1, 20),
        "subsample": trial.suggest_float("subsample", 0.30, 1.00, step=0.05),
        "colsample_bytree": trial.suggest_float("colsample_bytree", 0.30, 1.00, step=0.05),
    }


SPACES = {"default": suggest_default, "paper-a": suggest_range_a}


def peer(
    options: argparse.Namespace, name: str, folds: np.ndarray, seed: int, at_a_time: int
) -> dict:
    """One study of Optuna and XGBoost: seconds from the rows in memory to the last trial, and the
    best score."""
    frame = datasets.read(options.data / f"{name}.csv")
    x, y = frame.drop(columns="target").to_numpy(np.float32), frame["target"].to_numpy(np.float64)
    fixed = {
        "tree_method": "hist",
        "max_bin": 255,
        "nthread": THREADS // at_a_time,
        "seed": seed,
        "verbosity": 0,
    }
    fixed["objective"] = "reg:squarederror" if SETS[name] == "regression" else "binary:logistic"
    start, worked = time.perf_counter(), time.process_time()
    parts = []
    for fold in range(FOLDS):
        test = folds == fold
        bins = {"max_bin": 255, "nthread": THREADS}
        kept = xgboost.QuantileDMatrix(x[~test], label=y[~test], **bins)
        parts.append(
            (kept, xgboost.QuantileDMatrix(x[test], label=y[test], ref=kept, **bins), y[test])
        )

    def objective(trial: optuna.Trial) -> float:
        params = {**fixed, **SPACES[options.space](trial)}
        losses = []
        for kept, test, truth in parts:
            predicted = xgboost.train(params, kept, options.trees).predict(test)
            if SETS[name] == "regression":
                losses.append(float(np.sqrt(np.mean((predicted - truth) ** 2))))
            else:
                chance = np.clip(predicted.astype(np.float64), 2.2e-16, 1 - 2.2e-16)
                losses.append(
                    float(
                        -np.mean(np.where(truth == truth.max(), np.log(chance), np.log1p(-chance)))
                    )
                )
        return float(np.mean(losses))

    study = optuna.create_study(direction="minimize", sampler=optuna.samplers.TPESampler(seed=seed))
    study.optimize(objective, n_trials=options.trials, n_jobs=at_a_time)
    spent = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - worked}
    return {**spent, "score": study.best_value, "parameters": study.best_params}


def ours(options: argparse.Namespace, name: str, seed: int, more: list) -> dict:
    """One run of our tuner, nothing held out, no model kept."""
    task = SETS[name]
    line = [
        options.binary,
        "tune",
        options.data / f"{name}.csv",
        "--target",
        "target",
        "--task",
        task,
    ]
    line += [
        "--space",
        options.space,
        "--metric",
        METRICS[task],
        "--folds",
        FOLDS,
        "--holdout",
        0,
        "--seed",
        seed,
    ]
    line += [
        "--trees",
        options.trees,
        "--threads",
        THREADS,
        "--out",
        "-",
        "--json",
        "--quiet",
        *options.flags,
        *more,
    ]
    start, worked = time.perf_counter(), children_time()
    done = subprocess.run([str(word) for word in line], capture_output=True, text=True, check=True)
    return {
        **json.loads(done.stdout),
        "wall": time.perf_counter() - start,
        "cpu": children_time() - worked,
    }


def children_time() -> float:
    """Processor time of the programs that were run."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def reached(told: dict, score: float) -> float | None:
    """Seconds until our best was at least as good, reading included; none if it never was."""
    good = (step["seconds"] for step in told["improvements"] if step["score"] <= score)
    first = next(good, None)
    return None if first is None else told["seconds"]["read"] + first


def round_of(options: argparse.Namespace, name: str, seed: int) -> dict:
    """Both sides once."""
    folds = judged_folds(options, name, seed)
    peers = {
        f"{count} at a time": peer(options, name, folds, seed, count) for count in options.at_a_time
    }
    fastest = min(peers.values(), key=lambda one: one["seconds"])
    told = ours(options, name, seed, ["--trials", options.trials])
    soon = reached(told, fastest["score"])
    longer = None
    if soon is None:
        longer = ours(
            options, name, seed, ["--trials", 100_000, "--time-limit", fastest["seconds"]]
        )
        soon = reached(longer, fastest["score"])
    return {
        "set": name,
        "space": options.space,
        "seed": seed,
        "peers": peers,
        "peer_seconds": fastest["seconds"],
        "peer_cpu": fastest["cpu"],
        "peer_score": fastest["score"],
        "seconds": told["wall"],
        "cpu": told["cpu"],
        "score": told["cv_score"]["score"],
        "fits": told["fits"],
        "engine": told["engine"],
        "reached": soon,
        "within_trials": longer is None,
    }


def tables(lines: list[dict]) -> str:
    """Medians over the rounds, set by set."""
    rows = []
    for name in dict.fromkeys(line["set"] for line in lines):
        here = [line for line in lines if line["set"] == name]
        soon = [
            line["reached"] / line["peer_seconds"] if line["reached"] else float("inf")
            for line in here
        ]

        def middle(key: str, here: list[dict] = here) -> str:
            return number(float(np.median([line[key] for line in here])), 4)

        ratio = np.median([line["seconds"] / line["peer_seconds"] for line in here])
        worst = max(soon)
        worked = np.median([line["cpu"] / line["peer_cpu"] for line in here])
        sides = [
            middle("peer_seconds"),
            middle("seconds"),
            number(float(ratio)),
            number(float(worked)),
        ]
        sides += [middle("peer_score"), middle("score")]
        verdict = "met" if np.median(soon) <= 1 / 3 else "not met"
        last = number(worst) if np.isfinite(worst) else "never"
        rows.append([name, *sides, number(float(np.median(soon))), last, verdict])
    header = [
        "set",
        "Optuna s",
        "ours s",
        "ratio",
        "CPU ratio",
        "Optuna score",
        "our score",
        "reached at",
        "worst",
    ]
    return render([*header, "at most 1/3"], rows)


def main() -> None:
    parse = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for flag in ("--data", "--binary", "--judge", "--out"):
        parse.add_argument(flag, type=Path, required=True)
    parse.add_argument("--sets", nargs="*", default=list(SETS))
    parse.add_argument(
        "--space", choices=list(SPACES), default="default", help="what both sides search"
    )
    parse.add_argument("--rounds", type=int, default=3)
    parse.add_argument(
        "--first", type=int, default=0, metavar="SEED", help="the seed of the first round"
    )
    parse.add_argument("--trials", type=int, default=100)
    parse.add_argument("--trees", type=int, default=TREES)
    parse.add_argument(
        "--at-a-time",
        type=int,
        nargs="*",
        default=[1, 2],
        help="how many trials the peer runs at once",
    )
    parse.add_argument(
        "--flags", nargs="*", default=[], help="further flags of our tuner, such as --engine=tpe"
    )
    parse.add_argument(
        "--quick",
        action="store_true",
        help="a trial of the harness: 6 trials of 10 trees, one round",
    )
    options = parse.parse_args()
    if options.quick:
        options.rounds, options.trials, options.trees = 1, 6, 10
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    options.out.mkdir(parents=True, exist_ok=True)
    lines = []
    with (options.out / "raw.jsonl").open("a") as raw:
        for seed in range(options.first, options.first + options.rounds):
            for name in options.sets:
                lines.append(round_of(options, name, seed))
                raw.write(json.dumps(lines[-1]) + "\n")
                raw.flush()
                print(
                    json.dumps(
                        {
                            key: lines[-1][key]
                            for key in ("set", "peer_seconds", "seconds", "reached")
                        }
                    )
                )
    text = tables(lines)
    (options.out / "summary.md").write_text(text)
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
