"""Makino and Kita 2024 as published: engines tune XGBoost on the full sets, figures 3 and 4 and
tables 5 to 8.

A cell is a set, a range (tables 3 and 4), a seed, and an engine with one of its settings (table 1):
a hundred trials of a hundred trees. The seed draws the split (80 % training, 20 % test rows) and
the randomness of the engine; the score of a configuration is its accuracy or R² on the test rows
(eqs. 29 and 30), and configurations are selected by it. The setting of an engine is selected for
each set and range on the seeds before `SELECTION_SEEDS`, its results are those of later seeds.

XGBoost gets every gene in every trial, whether its booster uses it or not, and otherwise its
defaults at the time of the paper, before version 2, such as the base score 0.5. The exception is
the split search: `hist`, the default since version 2, because the exact one takes two to five
times as long. Its result follows from configuration and rows, so that a configuration is fitted
once per split, and later searches get its score and its seconds from a file.
"""

import hashlib
import inspect
import json
import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

import datasets
from equal import cache
from equal.sets import SETS as DRAWN
from evidence.measuring import known_cells
from evidence.peer_tuners import optuna_sampler, search_with_optuna, search_with_skopt
from evidence.request import Job, Request, Stopped, say
from evidence.tuning import QUICK_SETS, RANGES, SETS, curve_of, task_of

# Tables 3 and 4. Numbers are ordered, words are not.
NUMBERS = {
    "learning_rate": [round(0.02 * step, 2) for step in range(1, 16)],
    "max_depth": list(range(1, 21)),
    "min_child_weight": list(range(1, 21)),
    "subsample": [round(0.05 * step, 2) for step in range(6, 21)],
    "colsample_bytree": [round(0.05 * step, 2) for step in range(6, 21)],
}
BOOSTERS = ("gbtree", "gblinear", "dart")
OBJECTIVES = ("reg:squarederror", "reg:squaredlogerror")
SPACES = {
    "a": NUMBERS,
    "b": {"booster": list(BOOSTERS), **NUMBERS, "objective": list(OBJECTIVES)},
}
# What the linear booster does not read.
OF_TREES = ("max_depth", "min_child_weight", "subsample", "colsample_bytree")
# The base score is the default of XGBoost 1, which differs from that of the pinned version.
DEFAULTS = {"tree_method": "hist", "base_score": 0.5}
FIXED = {"nthread": 1, "seed": 0, "verbosity": 0}

SELECTION_SEEDS = 2
REPEATS = 5
# Of SSEopt. Neither this nor the number of trials is stated in the paper.
POPULATION = 20
BUDGET, QUICK_BUDGET = (100, 100), (6, 5)  # trials, trees of each
PACKAGES = {"swarmwood": ("swarmwood",), "optuna": ("optuna", "cmaes"), "skopt": ("skopt",)}


@dataclass(frozen=True)
class Tuner:
    """An algorithm of the paper, as a library has it, with its settings by name (table 1)."""

    algorithm: str
    library: str
    engine: str
    settings: dict[str, dict] = field(default_factory=lambda: {"": {}})


def mutations(kind: str, rates: Iterable[float]) -> dict[str, dict]:
    """SSEopt with a kind of mutation and some rates."""
    return {
        f"{rate:.2f}": {"mutation": kind, "rate": rate, "population": POPULATION} for rate in rates
    }


# The libraries are those of the paper; SSEopt is ours, as the paper has no program.
TUNERS = {
    "sse-normal": Tuner("SSEopt_nor", "swarmwood", "sse", mutations("normal", (0.05, 0.1, 0.15))),
    "sse-rank": Tuner("SSEopt_rnk", "swarmwood", "sse", mutations("rank", (0.05, 0.1, 0.15, 0.2))),
    "skopt-gbrt": Tuner("GBRT", "skopt", "gbrt", {f"{n}": {"initial": n} for n in (5, 10, 20)}),
    "optuna-tpe": Tuner(
        "TPE", "optuna", "tpe", {f"{g:.2f}": {"gamma": g} for g in (0.01, 0.02, 0.05, 0.1, 0.15)}
    ),
    "optuna-cmaes": Tuner("CMA-ES", "optuna", "cmaes"),
    "random": Tuner("Random", "swarmwood", "random"),
    "gbrt": Tuner("GBRT", "swarmwood", "gbrt"),
    "tpe": Tuner("TPE", "swarmwood", "tpe"),
    "cmaes": Tuner("CMA-ES", "swarmwood", "cmaes"),
}
# Those that take the place of the algorithms of the paper.
OF_PAPER = ("sse-normal", "sse-rank", "skopt-gbrt", "optuna-tpe", "optuna-cmaes", "random")

Task = tuple[str, str]


def contender_of(tuner: str, setting: str) -> str:
    """How the cache calls a tuner with one of its settings."""
    return f"{tuner}@{setting}" if setting else tuner


def tuner_of(contender: str) -> tuple[str, str]:
    """The tuner and its setting."""
    tuner, _, setting = contender.partition("@")
    return tuner, setting


def settings_of(request: Request, tuner: str) -> list[str]:
    """The settings of table 1; a trial of the harness takes two of them."""
    settings = list(TUNERS[tuner].settings)
    return settings[:2] if request.quick else settings


def budget_of(request: Request) -> tuple[int, int]:
    return QUICK_BUDGET if request.quick else BUDGET


def size_of(request: Request, search: str) -> str:
    """How the cache calls a range and a budget."""
    trials, trees = budget_of(request)
    return f"{search}/{trials}x{trees}"


def tasks_of(request: Request) -> list[Task]:
    """The sets that are there, with every range."""
    names = request.sets or (QUICK_SETS if request.quick else SETS)
    there = [name for name in names if name in QUICK_SETS or request.has(name, f"{name}.csv")]
    return [(name, search) for name in there for search in RANGES if request.wants("sizes", search)]


def jobs_of(request: Request, seed: int, task: Task, contenders: Iterable[str]) -> Iterator[Job]:
    name, search = task
    for contender in contenders:
        yield Job(name, seed, size_of(request, search), contender, request, measure)


def plan_selection(request: Request) -> Iterator[Job]:
    """Every setting of the tuners that have several, seeds outermost, so that a run that is stopped
    early is balanced."""
    tuners = [name for name in able_tuners(request) if len(settings_of(request, name)) > 1]
    contenders = [
        contender_of(name, setting) for name in tuners for setting in settings_of(request, name)
    ]
    for seed in range(SELECTION_SEEDS):
        for task in tasks_of(request):
            yield from jobs_of(request, seed, task, contenders)


def plan_final(request: Request) -> Iterator[Job]:
    """The selected setting of every tuner, where all settings are measured, on seeds that did not
    select it."""
    cells = cells_of(known_cells(request).values(), request)
    tuners, repeats = able_tuners(request), request.repeats or (1 if request.quick else REPEATS)
    for seed in range(SELECTION_SEEDS, SELECTION_SEEDS + repeats):
        for task in tasks_of(request):
            found = {name: selected_setting(cells, request, task, name) for name in tuners}
            contenders = [
                contender_of(name, setting)
                for name, setting in found.items()
                if setting is not None
            ]
            yield from jobs_of(request, seed, task, contenders)


# Which settings are measured in the second part follows from the first.
PLANS = (plan_selection, plan_final)


def asked_for(line: dict, request: Request) -> bool:
    """Whether a line of the cache belongs on the page."""
    sizes = [size_of(request, search) for search in RANGES if request.wants("sizes", search)]
    return line["size"] in sizes and tuner_of(line["contender"])[0] in TUNERS


def cells_of(lines: Iterable[dict], request: Request) -> dict[tuple[str, str, int, str], dict]:
    """The cells by set, range, seed and contender."""
    kept = [
        line for line in lines if line.get("limit") == request.rows and asked_for(line, request)
    ]
    return {(line["set"], line["size"][0], line["split"], line["contender"]): line for line in kept}


def selection_scores(cells: dict, request: Request, task: Task, tuner: str) -> dict[str, list]:
    """The scores of every setting on the seeds of the selection, as far as they are measured."""
    return {
        setting: [
            cells[key]["tuned"]
            for seed in range(SELECTION_SEEDS)
            if (key := (*task, seed, contender_of(tuner, setting))) in cells
        ]
        for setting in settings_of(request, tuner)
    }


def selected_setting(cells: dict, request: Request, task: Task, tuner: str) -> str | None:
    """The setting with the best mean score, the first one of ties; None while a cell is missing."""
    scores = selection_scores(cells, request, task, tuner)
    if len(scores) == 1:
        return next(iter(scores))
    if any(len(found) < SELECTION_SEEDS for found in scores.values()):
        return None
    return max(scores, key=lambda setting: float(np.mean(scores[setting])))


@lru_cache
def is_able(library: str, needs_options: bool) -> bool:
    """Whether a library is there and can be told settings."""
    for package in PACKAGES[library]:
        if find_spec(package) is None:
            say(f"skip tuners of {library}: {package} is not installed")
            return False
    if library == "swarmwood" and needs_options:
        import swarmwood

        if "engine_options" not in inspect.signature(swarmwood.Tuner).parameters:
            say("skip SSEopt: this build of the package swarmwood has no engine_options")
            return False
    return True


def able_tuners(request: Request) -> list[str]:
    wanted = [name for name in TUNERS if request.wants("contenders", name)]
    return [
        name for name in wanted if is_able(TUNERS[name].library, len(TUNERS[name].settings) > 1)
    ]


@dataclass(frozen=True)
class Fit:
    """The score of a configuration, and the processor seconds of fitting and predicting."""

    score: float
    seconds: float


class Fits:
    """The configurations that were fitted to one split of a set, in a file that several processes
    may read and append to."""

    def __init__(self, x: np.ndarray, y: np.ndarray, task: str, seed: int, trees: int, file: Path):
        import xgboost

        train, test = datasets.split(len(y), seed)
        self.task, self.trees, self.file = task, trees, file
        self.train = xgboost.DMatrix(x[train], y[train], nthread=1)
        self.test, self.target = xgboost.DMatrix(x[test], nthread=1), y[test]
        self.known: dict[str, Fit] = {}

    def refresh(self) -> None:
        """Reads what other processes have added; a line that was cut off is passed over."""
        for text in self.file.read_text().splitlines() if self.file.is_file() else []:
            try:
                line = json.loads(text)
                self.known[line["parameters"]] = Fit(line["score"], line["seconds"])
            except (json.JSONDecodeError, KeyError, TypeError):
                continue

    def parameters(self, configuration: dict) -> dict:
        """A configuration as XGBoost takes it, without what has no effect."""
        default = "binary:logistic" if self.task == "classification" else OBJECTIVES[0]
        told = {"booster": BOOSTERS[0], "objective": default} | configuration
        if told["booster"] != "gblinear":
            return told | DEFAULTS
        told |= {name: value for name, value in DEFAULTS.items() if name != "tree_method"}
        return {name: value for name, value in told.items() if name not in OF_TREES}

    def fit(self, configuration: dict) -> Fit:
        """The score of a configuration; it is computed unless it is known."""
        parameters = self.parameters(configuration)
        key = json.dumps(parameters | {"trees": self.trees}, sort_keys=True)
        if key not in self.known:
            found = self.compute(parameters)
            self.known[key] = found
            cache.add(
                self.file, {"parameters": key, "score": found.score, "seconds": found.seconds}
            )
        return self.known[key]

    def compute(self, parameters: dict) -> Fit:
        import xgboost

        started = time.process_time()
        booster = xgboost.train(parameters | FIXED, self.train, self.trees)
        predicted = booster.predict(self.test)
        seconds = time.process_time() - started

        if self.task == "classification":
            score = float(np.mean((predicted > 0.5) == (self.target > 0.5)))
        else:
            errors, spread = self.target - predicted, self.target - self.target.mean()
            score = 1.0 - float(np.sum(errors**2) / np.sum(spread**2))
        if not math.isfinite(score):
            raise RuntimeError(f"XGBoost predicts no finite numbers with {parameters}")
        return Fit(score, seconds)


@lru_cache(maxsize=2)
def rows_of(folder: Path, name: str, at_most: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Features, text columns as 0/1 columns, and the target."""
    if name in QUICK_SETS:
        x, y = DRAWN[name].draw(DRAWN[name].rows)
        return x, y.astype(float)
    frame = datasets.read(folder / f"{name}.csv")
    frame = frame.iloc[datasets.sample(len(frame), at_most)]
    features = pd.get_dummies(frame.drop(columns="target"))
    return features.to_numpy(np.float32), frame["target"].to_numpy(np.float64)


@lru_cache(maxsize=2)
def fits_of(
    folder: Path, scratch: Path, name: str, at_most: int | None, seed: int, trees: int
) -> Fits:
    """One object per process, so that XGBoost sorts the columns of a split once."""
    x, y = rows_of(folder, name, at_most)
    file = f"{name}-{at_most or 'all'}-{seed}-{version('xgboost-cpu')}.jsonl"
    return Fits(x, y, task_of(name), seed, trees, scratch / "tuning-xgboost" / file)


def measure(job: Job) -> dict:
    """One search."""
    request, (trials, trees) = job.request, budget_of(job.request)
    fits = fits_of(request.folder, request.scratch, job.name, request.rows, job.split, trees)
    fits.refresh()
    chosen, found, own = [], [], 0.0

    def score(configuration: dict) -> float:
        nonlocal own
        if request.is_over:
            raise Stopped
        started = time.process_time()
        found.append(fits.fit(configuration))
        chosen.append(configuration)
        own += time.process_time() - started
        return found[-1].score

    tuner, setting = tuner_of(job.contender)
    started = time.process_time()
    drive(TUNERS[tuner], setting, SPACES[job.size[0]], job.split, trials, score)
    engine_seconds = time.process_time() - started - own

    scores = [fit.score for fit in found]
    best = int(np.argmax(scores))
    return {
        "tuned": scores[best],
        "curve": curve_of(scores),
        "parameters": chosen[best],
        "trials": len(scores),
        "distinct": len({json.dumps(one, sort_keys=True) for one in chosen}),
        "fit_seconds": sum(fit.seconds for fit in found),
        "engine_seconds": max(0.0, engine_seconds),
        "build": build_of(TUNERS[tuner].library),
    }


@lru_cache
def build_of(library: str) -> str:
    """The version of a library; of ours, the check sum of the compiled part."""
    if library != "swarmwood":
        return version({"skopt": "scikit-optimize"}.get(library, library))
    import swarmwood

    compiled = sorted(Path(swarmwood.__file__).parent.glob("_core*.so"))
    return hashlib.sha256(compiled[0].read_bytes()).hexdigest()[:12] if compiled else "-"


def drive(
    tuner: Tuner,
    setting: str,
    space: dict[str, list],
    seed: int,
    trials: int,
    score: Callable[[dict], float],
) -> None:
    """Runs a search of so many trials, one after the other."""
    options = tuner.settings[setting]
    if tuner.library == "swarmwood":
        engine = our_tuner(tuner.engine, options, space, seed)
        for _ in range(trials):
            trial = engine.ask()
            engine.tell(trial, score(trial.params))
    elif tuner.library == "optuna":
        sampler = optuna_sampler(tuner.engine, seed, options.get("gamma"))
        search_with_optuna(
            sampler, lambda trial: suggest(trial, space), trials, lambda one: -score(one)
        )
    else:
        # Steps of numbers, as scikit-optimize has no ordered lists; the acquisition function is
        # that of its `gbrt_minimize`.
        search_with_skopt(
            dimensions(space),
            options["initial"],
            seed,
            trials,
            lambda point: -score(configuration_of(point, space)),
            acq_func="EI",
        )


def our_tuner(engine: str, options: dict, space: dict[str, list], seed: int):
    """An engine of ours, to ask and tell. A list of numbers is ordered."""
    import swarmwood

    more = {"engine_options": options} if options else {}
    return swarmwood.Tuner(space, engine=engine, seed=seed, maximize=True, **more)


def is_ordered(values: list) -> bool:
    return not isinstance(values[0], str)


def suggest(trial, space: dict[str, list]) -> dict:
    """A configuration of one of Optuna's trials."""
    chosen = {}
    for name, values in space.items():
        if not is_ordered(values):
            chosen[name] = trial.suggest_categorical(name, values)
        elif isinstance(values[0], int):
            chosen[name] = trial.suggest_int(name, values[0], values[-1])
        else:
            step = round(values[1] - values[0], 2)
            chosen[name] = round(trial.suggest_float(name, values[0], values[-1], step=step), 2)
    return chosen


def dimensions(space: dict[str, list]) -> list:
    """The space of scikit-optimize: places in the lists of numbers, and words."""
    from skopt.space import Categorical, Integer

    return [
        Integer(0, len(values) - 1, name=name)
        if is_ordered(values)
        else Categorical(values, name=name)
        for name, values in space.items()
    ]


def configuration_of(point: list, space: dict[str, list]) -> dict:
    """A point of `dimensions` as a configuration."""
    return {
        name: values[int(place)] if is_ordered(values) else str(place)
        for place, (name, values) in zip(point, space.items(), strict=True)
    }
