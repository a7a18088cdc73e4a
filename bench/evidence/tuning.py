"""Makino and Kita 2024, figures 3 and 4 and tables 5 to 8: which engine finds the best parameters,
and how soon?

A cell is a set, a range (A or B of the paper, tables 3 and 4), a seed and an engine: a hundred
trials of a hundred trees, one after the other, none given up early. The paper chooses
configurations by the rows it reports them on. Here the seed draws a fifth of the rows that no trial
sees and the validation rows (a quarter of the rest) that trials are judged by, and two figures are
told: the tuned score, which is the paper's, and the score on the rows that no trial saw. Larger
sets are cut to a fixed sample of as many rows as `--rows` says. Optuna and scikit-optimize drive
our own learner through `--judge`, the example `evaluate_configs` of the facade, so that nothing but
the engine differs.
"""

import json
import math
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

import child
import datasets
from equal.sets import SETS as DRAWN
from evidence.peer_tuners import optuna_sampler, search_with_optuna, search_with_skopt
from evidence.request import Job, Request, say

SETS = {"mozilla4": "accuracy", "eeg_eye_state": "accuracy", "abalone": "r2", "wine_quality": "r2"}
QUICK_SETS = {"breast_cancer": "accuracy", "diabetes": "r2"}
METRICS = SETS | QUICK_SETS
RANGES = ("a", "b")
PLAIN = ("random", "grid", "annealing", "ga", "de", "cmaes", "pso", "pso-discrete", "apso")
ENGINES = (*PLAIN, "sse", "schemata", "tpe", "forest", "gbrt")
# Engines of others, each with the packages it needs.
PEERS = {"optuna": ("optuna",), "optuna-cmaes": ("optuna", "cmaes"), "skopt-gbrt": ("skopt",)}
QUICK_ENGINES = ("random", "sse", "tpe", "forest", *PEERS)
REPEATS = 20
BUDGET, QUICK_BUDGET = (100, 100), (12, 10)  # trials, trees of each


def budget_of(request: Request) -> tuple[int, int]:
    return QUICK_BUDGET if request.quick else BUDGET


def size_of(request: Request, search: str) -> str:
    """How the cache calls a range and a budget: trials, trees of each, and at most so many rows."""
    trials, trees = budget_of(request)
    return f"{search}/{trials}x{trees}x{request.sample}"


def plan(request: Request) -> Iterator[Job]:
    """Every engine on every set and range, seeds outermost, so that a run stopped early is
    balanced."""
    engines = request.contenders or (QUICK_ENGINES if request.quick else (*PEERS, *ENGINES))
    engines = [engine for engine in engines if is_able(request, engine)]
    names = request.sets or (QUICK_SETS if request.quick else SETS)
    there = [name for name in names if name in QUICK_SETS or request.has(name, f"{name}.csv")]
    for seed in range(request.repeats or (2 if request.quick else REPEATS)):
        for name in there:
            for search in (search for search in RANGES if request.wants("sizes", search)):
                for engine in engines:
                    yield Job(
                        name,
                        seed,
                        size_of(request, search),
                        engine,
                        request,
                        measure,
                        engine not in PEERS,
                    )


def asked_for(line: dict, request: Request) -> bool:
    """Whether a line of the cache belongs on the page: searches of this budget alone."""
    ranges = [search for search in RANGES if request.wants("sizes", search)]
    return line["size"] in [size_of(request, search) for search in ranges] and "tuned" in line


def is_able(request: Request, engine: str) -> bool:
    """Whether an engine of others can be asked: its packages must be there, and who judges what it
    proposes."""
    if engine not in PEERS:
        return True
    for package in PEERS[engine]:
        if find_spec(package) is None:
            say(f"skip {engine}: {package} is not installed")
            return False
    if not (request.judge and request.judge.is_file()):
        say(f"skip {engine}: no --judge; build it: `cargo build --release -p swarmwood --examples`")
        return False
    return True


@lru_cache
def sample(folder: Path, scratch: Path, name: str, rows: int) -> Path:
    """The set, cut to a fixed sample, as a file; written once by each process, to the side, as
    others may be reading."""
    cut = scratch / "tuning" / f"{name}-{rows}.csv"
    cut.parent.mkdir(parents=True, exist_ok=True)
    if name in QUICK_SETS:
        x, y = DRAWN[name].draw(DRAWN[name].rows)
        frame = pd.DataFrame(x, columns=[f"x{column}" for column in range(x.shape[1])]).assign(
            target=y
        )
    else:
        frame = datasets.read(folder / f"{name}.csv")
    aside = cut.with_suffix(f".{os.getpid()}.part")
    frame.iloc[datasets.sample(len(frame), rows)].to_csv(aside, index=False)
    os.replace(aside, cut)
    return cut


def task_of(name: str) -> str:
    return "classification" if METRICS[name] == "accuracy" else "regression"


def measure(job: Job) -> dict:
    """One search."""
    file = sample(job.request.folder, job.request.scratch, job.name, job.request.sample)
    return run_ours(job, file) if job.ours else run_peer(job, file)


def run_ours(job: Job, file: Path) -> dict:
    """An engine of ours."""
    (trials, trees), search = budget_of(job.request), job.size[0]
    line = [job.request.binary, "tune", file, "--target", "target", "--task", task_of(job.name)]
    line += [
        "--space",
        f"paper-{search}",
        "--metric",
        METRICS[job.name],
        "--folds",
        1,
        "--holdout",
        0.2,
    ]
    line += ["--seed", job.split, "--engine", job.contender, "--trials", trials, "--trees", trees]
    line += ["--parallel", 1, "--threads", 1, "--no-pruning", "--out", "-", "--json", "--quiet"]
    told = child.run(line, 1)
    curve = [(step["trials_finished"], step["score"]) for step in told["improvements"]]
    return {
        "tuned": told["cv_score"]["score"],
        "untouched": told["holdout"]["score"],
        "curve": curve,
        "parameters": told["best"]["parameters"],
        "trials": told["trials"],
        "seconds": told["seconds"]["tune"],
    }


@contextmanager
def judge_of(job: Job, file: Path) -> Iterator[Callable[[dict], dict]]:
    """Somebody to ask how good a configuration is: our own learner on the rows of this seed."""
    search = f"paper-{job.size[0]}"
    line = [
        job.request.judge,
        file,
        "target",
        task_of(job.name),
        METRICS[job.name],
        search,
        1,
        0.2,
        job.split,
    ]
    words = [str(word) for word in [*line, budget_of(job.request)[1]]]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(question: dict) -> dict:
        process.stdin.write(json.dumps(question) + "\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        if "fault" in answer:
            raise RuntimeError(answer["fault"])
        return answer

    try:
        yield ask
    finally:
        process.stdin.close()
        process.wait()


def run_peer(job: Job, file: Path) -> dict:
    """An engine of others on our learner. It is asked one by one and sees every outcome before the
    next trial."""
    trials, search = budget_of(job.request)[0], job.size[0]
    propose = {"skopt-gbrt": skopt_search}.get(job.contender, partial(optuna_search, job.contender))
    chosen, scores, started = [], [], time.perf_counter()
    with judge_of(job, file) as ask:

        def loss(configuration: dict) -> float:
            found = ask({"evaluate": configuration})["loss"]
            chosen.append(configuration)
            scores.append(1.0 - found)
            return found

        propose(search, job.split, trials, loss)
        seconds = time.perf_counter() - started
        best = int(np.argmax(scores))
        untouched = ask({"holdout": chosen[best]})["score"]
    found = {"tuned": scores[best], "untouched": untouched, "curve": curve_of(scores)}
    package = {"skopt-gbrt": "scikit-optimize"}.get(job.contender, "optuna")
    return found | {
        "parameters": chosen[best],
        "trials": len(scores),
        "seconds": seconds,
        "build": version(package),
    }


def curve_of(scores: list[float]) -> list[tuple[int, float]]:
    """The trials that were better than all before, counted from 1, with their scores."""
    best = np.maximum.accumulate([-math.inf, *scores])
    return [(place + 1, score) for place, score in enumerate(scores) if score > best[place]]


def suggest(trial, search: str) -> dict:
    """A configuration of a range, as Optuna says it."""
    chosen = {}
    if search == "b":
        chosen["booster"] = trial.suggest_categorical("booster", ["gbtree", "gblinear", "dart"])
        chosen["objective"] = trial.suggest_categorical("objective", ["squared", "squared-log"])
    chosen["learning_rate"] = round(trial.suggest_float("learning_rate", 0.02, 0.30, step=0.02), 2)
    if chosen.get("booster") != "gblinear":
        chosen["depth"] = trial.suggest_int("depth", 1, 20)
        chosen["min_child_weight"] = trial.suggest_int("min_child_weight", 1, 20)
        chosen["subsample"] = round(trial.suggest_float("subsample", 0.30, 1.00, step=0.05), 2)
        chosen["colsample_bytree"] = round(
            trial.suggest_float("colsample_bytree", 0.30, 1.00, step=0.05), 2
        )
    return chosen


def optuna_search(
    engine: str, search: str, seed: int, trials: int, loss: Callable[[dict], float]
) -> None:
    """Optuna's TPE or CMA-ES with their defaults."""
    sampler = optuna_sampler("cmaes" if engine == "optuna-cmaes" else "tpe", seed)
    search_with_optuna(sampler, lambda trial: suggest(trial, search), trials, loss)


def skopt_search(search: str, seed: int, trials: int, loss: Callable[[dict], float]) -> None:
    """scikit-optimize's GBRT with ten initial points; it has no conditions."""
    from skopt.space import Categorical, Integer

    steps = {"learning_rate": (1, 15), "depth": (1, 20), "min_child_weight": (1, 20)}
    steps |= {"subsample": (6, 20), "colsample_bytree": (6, 20)}
    places = [Integer(*ends, name=name) for name, ends in steps.items()]
    if search == "b":
        places += [
            Categorical(["gbtree", "gblinear", "dart"]),
            Categorical(["squared", "squared-log"]),
        ]
    search_with_skopt(places, 10, seed, trials, lambda point: loss(configuration(point, search)))


def configuration(point: list, search: str) -> dict:
    """A point of scikit-optimize as our learner knows it: numbers of steps become values."""
    rate, depth, weight, rows, columns = (int(place) for place in point[:5])
    of_trees = {"depth": depth, "min_child_weight": weight}
    of_trees |= {"subsample": round(0.05 * rows, 2), "colsample_bytree": round(0.05 * columns, 2)}
    chosen = {"learning_rate": round(0.02 * rate, 2)}
    if search == "b":
        chosen |= {"booster": str(point[5]), "objective": str(point[6])}
    return chosen if chosen.get("booster") == "gblinear" else chosen | of_trees
