"""Which engine finds the best parameters? Real fits, nested evaluation, all engines and Optuna's TPE on one objective.

    bench/.venv/bin/python bench/engines.py --data DIR --binary PATH --judge PATH --cache FILE [--seeds 20]
    bench/.venv/bin/python bench/engines.py --cache FILE --tables          # print, measure nothing

A cell is a set, a range (A or B of the schemata paper), a seed and an engine: a hundred trials, one after the other,
none given up early. The seed draws the fifth of the rows that no trial sees, the validation rows (a quarter of the
rest) that trials are judged by, and the engine's own randomness. Two figures count: the tuned score, and the score of
the chosen configuration on the rows that no trial saw. Larger sets are cut to a fixed sample of `--rows` rows (1000).
Optuna drives our own learner through `--judge`, the example `evaluate_configs` of the facade, so that nothing but the
engine differs (`pip install optuna==5.0.0`).

`FILE` gets one JSON line a cell; cells that are there are not run again, so a run can be stopped and goes on later.
`--quick` is a trial of the harness: two sets, two seeds, three engines, 15 trials of 10 trees.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import datasets
from table import number, render

SETS = {"mozilla4": "accuracy", "eeg_eye_state": "accuracy", "abalone": "r2", "wine_quality": "r2"}
PLAIN = ["random", "grid", "annealing", "ga", "de", "cmaes", "pso", "apso"]
ENGINES = [*PLAIN, "sse", "schemata", "tpe", "forest", "gbrt"]
RIVAL, YARDSTICK = "optuna", "random"
MARKS = (20, 50, 100)


def sample(data: Path, name: str, rows: int, scratch: Path) -> Path:
    """The set, cut to a fixed sample."""
    cut = scratch / f"{name}.csv"
    frame = datasets.read(data / f"{name}.csv")
    frame.iloc[datasets.sample(len(frame), rows)].to_csv(cut, index=False)
    return cut


def task_of(name: str) -> str:
    return "classification" if SETS[name] == "accuracy" else "regression"


def at_marks(improvements: list[dict], trials: int) -> dict[str, float]:
    """The best score after some numbers of trials."""
    best = {}
    for mark in sorted({min(mark, trials) for mark in MARKS} | {trials}):
        known = [step["score"] for step in improvements if step["trials_ended"] <= mark]
        best[str(mark)] = known[-1] if known else math.nan
    return best


def run_ours(options: argparse.Namespace, file: Path, name: str, search: str, seed: int, engine: str) -> dict:
    """One cell of an engine of ours."""
    line = [options.binary, "tune", file, "--target", "target", "--task", task_of(name), "--space", f"paper-{search}"]
    line += ["--metric", SETS[name], "--folds", 1, "--holdout", 0.2, "--seed", seed, "--engine", engine]
    line += ["--trials", options.trials, "--trees", options.trees, "--parallel", 1, "--threads", 1]
    line += ["--no-race", "--out", "-", "--json", "--quiet"]
    done = subprocess.run([str(word) for word in line], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, line))}\n{done.stderr}")
    told = json.loads(done.stdout)
    return {
        "tuned": told["tuned"]["score"],
        "untouched": told["untouched"]["score"],
        "marks": at_marks(told["improvements"], told["trials"]),
        "trials": told["trials"],
        "seconds": told["seconds"]["tune"],
    }


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
        chosen["colsample_bytree"] = round(trial.suggest_float("colsample_bytree", 0.30, 1.00, step=0.05), 2)
    return chosen


def run_optuna(options: argparse.Namespace, file: Path, name: str, search: str, seed: int) -> dict:
    """One cell of Optuna's TPE on our learner."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    line = [options.judge, file, "target", task_of(name), SETS[name], f"paper-{search}", 1, 0.2, seed, options.trees]
    judge = subprocess.Popen([str(word) for word in line], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(question: dict) -> dict:
        judge.stdin.write(json.dumps(question) + "\n")
        judge.stdin.flush()
        answer = json.loads(judge.stdout.readline())
        if "fault" in answer:
            raise RuntimeError(answer["fault"])
        return answer

    configurations, scores = [], []

    def objective(trial) -> float:
        chosen = suggest(trial, search)
        configurations.append(chosen)
        loss = ask({"evaluate": chosen})["loss"]
        scores.append(1.0 - loss)
        return loss

    try:
        # TPE of ours is asked one by one too; both see every outcome before the next trial.
        study = optuna.create_study(direction="minimize", sampler=optuna.samplers.TPESampler(seed=seed))
        study.optimize(objective, n_trials=options.trials)
        best = int(np.argmax(scores))
        untouched = ask({"untouched": configurations[best]})["score"]
    finally:
        judge.stdin.close()
        judge.wait()
    steps = [{"score": float(np.max(scores[: i + 1])), "trials_ended": i + 1} for i in range(len(scores))]
    seconds = sum((trial.duration.total_seconds() for trial in study.trials), 0.0)
    marks = at_marks(steps, len(scores))
    return {"tuned": max(scores), "untouched": untouched, "marks": marks, "trials": len(scores), "seconds": seconds}


def known_cells(cache: Path) -> list[dict]:
    """What was measured so far; a torn last line is left out and will be measured again."""
    if not cache.is_file():
        return []
    cells = []
    for line in cache.read_text().splitlines():
        try:
            cells.append(json.loads(line))
        except json.JSONDecodeError:
            print("a torn line is left out", file=sys.stderr)
    return cells


def budget_of(options: argparse.Namespace) -> str:
    """What cells must agree in to stand in one table."""
    return f"{options.trials}x{options.trees}x{options.rows}"


def key_of(cell: dict) -> tuple:
    return cell["set"], cell["range"], cell["seed"], cell["engine"], cell["budget"]


def measure(options: argparse.Namespace) -> None:
    """Every cell that is not known yet, seeds outermost, so that a run stopped early is balanced."""
    done = {key_of(cell) for cell in known_cells(options.cache)}
    budget = budget_of(options)
    cells = [
        (name, search, seed, engine)
        for seed in range(options.seeds)
        for name in options.sets
        for search in options.ranges
        for engine in options.engines
        if (name, search, seed, engine, budget) not in done
    ]
    print(f"{len(cells)} cells to measure, {len(done)} known", file=sys.stderr)
    lock = threading.Lock()
    with tempfile.TemporaryDirectory() as scratch, options.cache.open("a") as cache:
        files = {name: sample(options.data, name, options.rows, Path(scratch)) for name in options.sets}

        def work(cell: tuple) -> None:
            name, search, seed, engine = cell
            if engine == RIVAL:
                found = run_optuna(options, files[name], name, search, seed)
            else:
                found = run_ours(options, files[name], name, search, seed, engine)
            line = {"set": name, "range": search, "seed": seed, "engine": engine, "budget": budget, **found}
            with lock:
                cache.write(json.dumps(line) + "\n")
                cache.flush()

        with ThreadPoolExecutor(options.workers) as pool:
            for failed in filter(None, (one.exception() for one in [pool.submit(work, cell) for cell in cells])):
                print(f"failed: {failed}", file=sys.stderr)


def spread(values: list[float]) -> tuple[float, float]:
    """Mean and standard error."""
    if len(values) < 2:
        return (values[0] if values else math.nan), math.nan
    return float(np.mean(values)), float(np.std(values, ddof=1) / math.sqrt(len(values)))


def paired(cells: dict[tuple, dict], task: tuple, engine: str, other: str, what: str) -> tuple[float, float, int]:
    """Mean difference to another engine over the seeds both have, its standard error, and their number."""
    seeds = [key[2] for key in cells if key[:2] == task and key[3] == engine and (*task, key[2], other) in cells]
    both = [cells[(*task, seed, engine)][what] - cells[(*task, seed, other)][what] for seed in seeds]
    return *spread(both), len(both)


def tables(options: argparse.Namespace) -> str:
    """Means, then differences to Optuna and to random search, then who is ahead how often."""
    budget = budget_of(options)
    kept = [cell for cell in known_cells(options.cache) if cell["budget"] == budget]
    cells = {key_of(cell)[:4]: cell for cell in kept}
    tasks = sorted({key[:2] for key in cells})
    engines = [engine for engine in [RIVAL, *ENGINES] if any(key[3] == engine for key in cells)]
    text = []
    for what in ("tuned", "untouched"):
        text.append(f"## {what} score: mean (standard error)\n\n" + means(cells, tasks, engines, what))
        for other in (RIVAL, YARDSTICK):
            title = f"## {what} score less that of {other}, seed by seed, in thousandths: mean (standard error)"
            text.append(f"{title}\n\n" + differences(cells, tasks, engines, other, what))
    title = "## Tuned score by trials: 0 is random search at 20, 1 the best at 100, mean over tasks"
    text.append(f"{title}\n\n" + marks(cells, tasks, engines))
    return "\n".join(text)


def means(cells: dict, tasks: list, engines: list, what: str) -> str:
    rows = []
    for engine in engines:
        row = [engine]
        for task in tasks:
            mean, error = spread([cell[what] for key, cell in cells.items() if key[:2] == task and key[3] == engine])
            row.append(f"{number(mean, 5)} ({number(error, 2)})")
        rows.append(row)
    return render(["engine", *(f"{name}/{search.upper()}" for name, search in tasks)], rows)


def differences(cells: dict, tasks: list, engines: list, other: str, what: str) -> str:
    rows = []
    for engine in engines:
        if engine == other:
            continue
        found = [paired(cells, task, engine, other, what) for task in tasks]
        ahead = sum(mean > 2 * error for mean, error, _ in found if math.isfinite(error))
        behind = sum(mean < -2 * error for mean, error, _ in found if math.isfinite(error))
        known = [(mean, error) for mean, error, count in found if count > 1]
        overall = float(np.mean([mean for mean, _ in known])) if known else math.nan
        error = math.sqrt(sum(error**2 for _, error in known)) / len(known) if known else math.nan
        row = [engine, *(f"{1000 * mean:+.1f} ({1000 * error:.1f})" for mean, error, _ in found)]
        rows.append([*row, f"{1000 * overall:+.1f} ({1000 * error:.1f})", f"{ahead}/{behind}"])
    names = [f"{name}/{search.upper()}" for name, search in tasks]
    return render(["engine", *names, "mean", "ahead/behind by 2 SE"], rows)


def marks(cells: dict, tasks: list, engines: list) -> str:
    """0 is random search after 20 trials, 1 the best mean of any engine at the end."""
    at = sorted({int(mark) for cell in cells.values() for mark in cell["marks"]})

    def mean(task: tuple, engine: str, mark: int) -> float:
        found = [c["marks"].get(str(mark), math.nan) for k, c in cells.items() if k[:2] == task and k[3] == engine]
        return float(np.nanmean(found)) if found else math.nan

    rows = []
    for engine in engines:
        row = [engine]
        for mark in at:
            shares = []
            for task in tasks:
                floor = mean(task, YARDSTICK, at[0])
                top = np.nanmax([mean(task, other, at[-1]) for other in engines])
                if top > floor:
                    shares.append((mean(task, engine, mark) - floor) / (top - floor))
            row.append(number(float(np.nanmean(shares)), 3) if shares else "-")
        rows.append(row)
    return render(["engine", *(f"after {mark}" for mark in at)], rows)


def main() -> None:
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--data", type=Path)
    parse.add_argument("--binary", type=Path)
    parse.add_argument("--judge", type=Path)
    parse.add_argument("--cache", type=Path, required=True)
    parse.add_argument("--sets", nargs="*", default=list(SETS))
    parse.add_argument("--ranges", nargs="*", default=["a", "b"])
    parse.add_argument("--engines", nargs="*", default=[RIVAL, *ENGINES])
    parse.add_argument("--seeds", type=int, default=20)
    parse.add_argument("--trials", type=int, default=100)
    parse.add_argument("--trees", type=int, default=100)
    parse.add_argument("--rows", type=int, default=1000)
    parse.add_argument("--workers", type=int, default=2)
    parse.add_argument("--tables", action="store_true", help="print the tables of what is in the cache")
    parse.add_argument("--quick", action="store_true", help="a trial of the harness")
    options = parse.parse_args()
    if options.quick:
        options.sets, options.seeds, options.trials, options.trees = ["abalone", "mozilla4"], 2, 15, 10
        options.engines = [RIVAL, YARDSTICK, "forest"]
    if not options.tables:
        measure(options)
    sys.stdout.write(tables(options))


if __name__ == "__main__":
    main()
