"""Do prediction intervals cover what they promise?

Fresh random 80/20 splits of every regression set. Ours are `--interval 0.9` of the default search
with a small budget of time, with constant and with adaptive width, and of greedy boosting, whose
folds are fitted for the interval. LightGBM fits two quantiles, at 5 and at 95 %, as published and
with split-conformal correction on a fifth of the training rows (conformalised quantile regression,
Romano, Patterson and Candes 2019). Coverage is the share of test rows within the interval, width is
in units of the standard deviation of the test targets.
"""

import tempfile
import time
import warnings
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd

import child
import datasets
from equal.sets import SETS as ALL_SETS
from equal.sets import load
from evidence.page import Page
from evidence.request import Job, Request
from table import render

LEVEL = 0.9
SIZES = ("0.9",)
SPLITS, QUICK_SPLITS = 20, 2
# Splits of the other experiments are drawn with small numbers; these are fresh.
FIRST_SPLIT = 1000
SECONDS = 4
MOST_ROWS = 6000
SETS = {
    name: known
    for name, known in ALL_SETS.items()
    if known.task == "regression" and not known.extra
}
OURS = {
    "swarm, constant": ("--time-limit", SECONDS),
    "swarm, adaptive": ("--time-limit", SECONDS, "--interval-kind", "adaptive"),
    "greedy, constant": ("--method", "greedy"),
    "greedy, adaptive": ("--method", "greedy", "--interval-kind", "adaptive"),
}
PEERS = ("LightGBM quantiles", "LightGBM quantiles, conformal")
CONTENDERS = (*OURS, *PEERS)
TOLERANCE = 1.5

TITLE = "Prediction intervals: coverage and width"
SEEDS = (
    f"split k is drawn with numpy's `default_rng({FIRST_SPLIT} + k)`, generated rows with 2022; "
    "all fits have seed 0"
)
HOW_TO_READ = f"""Mean over the splits ± its standard error; nominal coverage {100 * LEVEL:.0f} %.
Width is the mean width divided by the standard deviation of the test targets. Sets with more rows
are samples of {MOST_ROWS:,}."""


def plan(request: Request) -> Iterator[Job]:
    """Every contender on every split of every set."""
    names = request.sets or [name for name in SETS if not request.quick or SETS[name].draw]
    splits = request.repeats or (QUICK_SPLITS if request.quick else SPLITS)
    for split in range(splits):
        for name in [name for name in names if request.has(name, SETS[name].file)]:
            for who in [who for who in CONTENDERS if request.wants("contenders", who)]:
                yield Job(name, split, SIZES[0], who, request, measure, who in OURS)


def asked_for(line: dict, request: Request) -> bool:
    """Whether a line of the cache belongs on the page."""
    return line["contender"] in CONTENDERS and line["set"] in SETS


def measure(job: Job) -> dict:
    """Coverage in percent and mean width of a contender on the test rows."""
    table = load(job.name, job.request.folder, job.request.rows or MOST_ROWS)
    kept, tested = datasets.split(len(table.y), FIRST_SPLIT + job.split)
    rows = (table.x.iloc[kept], table.y[kept]), (table.x.iloc[tested], table.y[tested])
    if job.ours:
        return trained(job, *rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fitted(job.contender, *rows)


def figures(lower: np.ndarray, upper: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Coverage and width of intervals."""
    return {
        "coverage": 100 * float(np.mean((lower <= y) & (y <= upper))),
        "width": float(np.mean(upper - lower) / np.std(y)),
    }


def fitted(who: str, train: tuple, test: tuple) -> dict:
    """Two quantiles of LightGBM."""
    import lightgbm

    x, y = train[0].to_numpy(np.float64), train[1]
    order = np.random.default_rng(0).permutation(len(y))
    is_conformal = who != PEERS[0]
    kept, held = (order[len(y) // 5 :], order[: len(y) // 5]) if is_conformal else (order, [])
    started = time.perf_counter()
    ends = [
        lightgbm.LGBMRegressor(
            objective="quantile", alpha=alpha, n_jobs=1, random_state=0, verbose=-1
        ).fit(x[kept], y[kept])
        for alpha in ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
    ]
    margin = 0.0
    if is_conformal:
        lower, upper = (end.predict(x[held]) for end in ends)
        scores = np.sort(np.maximum(lower - y[held], y[held] - upper))
        margin = scores[min(int(np.ceil((len(held) + 1) * LEVEL)), len(held)) - 1]
    seconds = time.perf_counter() - started
    lower, upper = (end.predict(test[0].to_numpy(np.float64)) for end in ends)
    made = {"build": version("lightgbm"), "seconds": seconds}
    return made | figures(lower - margin, upper + margin, test[1])


def trained(job: Job, train: tuple, test: tuple) -> dict:
    """A model of our binary."""
    with tempfile.TemporaryDirectory(prefix="intervals-") as folder:
        rows, tested, model, told = (
            Path(folder) / name for name in ("a.csv", "b.csv", "m", "p.csv")
        )
        train[0].assign(target=train[1]).to_csv(rows, index=False)
        test[0].to_csv(tested, index=False)
        flags = ["--target", "target", "--task", "regression", *OURS[job.contender]]
        flags += ["--interval", LEVEL, "--threads", 1, "--quiet", "--json", "--out", model]
        started = time.perf_counter()
        child.run([job.request.binary, "train", rows, *flags], 1)
        seconds = time.perf_counter() - started
        child.run([job.request.binary, "predict", model, tested, "--json", "--out", told], 1)
        found = pd.read_csv(told)
    return {"seconds": seconds} | figures(
        found["lower"].to_numpy(float), found["upper"].to_numpy(float), test[1]
    )


def told(values: list[float], digits: int) -> str:
    """The mean and its standard error."""
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return f"{np.mean(values):.{digits}f} ± {error:.{digits}f}"


def table_of(lines: list[dict], figure: str, digits: int) -> str:
    """One line per set, one column per contender, and the mean over the sets."""
    names = [name for name in SETS if any(line["set"] == name for line in lines)]
    found = {
        (name, who): [
            line[figure] for line in lines if (line["set"], line["contender"]) == (name, who)
        ]
        for name in names
        for who in CONTENDERS
    }
    rows = [
        [name, *(told(found[name, who], digits) if found[name, who] else "-" for who in CONTENDERS)]
        for name in names
    ]
    means = ["mean"]
    for who in CONTENDERS:
        own = [np.mean(found[name, who]) for name in names if found[name, who]]
        means.append(f"{np.mean(own):.{digits}f}" if own else "-")
    return render(["set", *CONTENDERS], [*rows, means])


def verdict(lines: list[dict]) -> str:
    """Which sets are within the tolerance of the nominal coverage."""
    told_of = []
    for who in CONTENDERS:
        names = sorted({line["set"] for line in lines if line["contender"] == who})
        off = []
        for name in names:
            own = [
                line["coverage"]
                for line in lines
                if (line["set"], line["contender"]) == (name, who)
            ]
            if abs(np.mean(own) - 100 * LEVEL) > TOLERANCE:
                off.append(f"{name} ({np.mean(own):.1f} %)")
        if names:
            exceptions = f"; not {', '.join(off)}" if off else ""
            told_of.append(f"- {who}: {len(names) - len(off)} of {len(names)} sets{exceptions}")
    return "\n".join(told_of)


def tell(lines: list[dict], request: Request) -> Page:
    page = Page(TITLE, SEEDS)
    page.section(
        "Coverage in percent",
        HOW_TO_READ,
        table_of(lines, "coverage", 1),
        f"Mean coverage within {TOLERANCE} points of {100 * LEVEL:.0f} %:",
        verdict(lines),
    )
    page.section("Width", table_of(lines, "width", 2))
    if not request.busy:
        page.section("Seconds of training, one thread", table_of(lines, "seconds", 1))
    return page
