"""At equal size, who predicts best, and how small may a model be?

Ensembles of 1, 2, 4 and 6 trees of 32 leaves, 16 and 64 of 64, and 192 leaves in all. Ours beside
XGBoost (depth-wise and leaf-wise), LightGBM and CatBoost, each with learning rate and lambda chosen
on an inner division of the training rows, and beside our own greedy learner tuned in the same way.
The same 80/20 splits for all.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
import pandas as pd

import child
from equal import bar, measure, tables
from equal.compare import Results, main_metric
from equal.contenders import CONTENDERS, SIZES, Contender, variant
from equal.sets import SETS
from evidence import frontier
from evidence.boosting import OURS as SWARMS
from evidence.page import Page
from evidence.request import Job, Request, say
from evidence.verdict import DEFINITION, extent, pooled, tally, verdict
from table import render

QUICK_SETS, QUICK_SIZES = (
    ("diabetes", "friedman_1", "breast_cancer", "hastie"),
    ("1", "2", "4", "6"),
)
TITLE = "Small models: comparison at equal size"
SEEDS = (
    "split k is drawn with numpy's `default_rng(k)`, its inner split with `default_rng(1000 + k)`; "
    "all fits have seed 0"
)
HOW_TO_READ = """Means over the splits: RMSE, or accuracy in percent. `a / b` is how much better a
is than b: percent lower RMSE or log loss, percentage points of accuracy or AUC; mean over the
splits ± standard error (wins-ties-losses; p-value of the two-sided Wilcoxon signed-rank test, not
corrected; with five splits it cannot be below .062). The rival is the best of the four peers,
selected in hindsight by the mean over the splits. With several classes there is this number of
trees per class. `splits` are those of Swarmwood and of the others; means are over the splits of
each contender, comparisons over the splits of both."""

CLAIMS = """Differences are percent of RMSE, or percentage points of accuracy. `sets for/against`
counts the sets with p < .05 by themselves, which those with five splits cannot have. The seven
classes of Covertype are left out, whose rows are those of the two-class set."""


@dataclass(frozen=True)
class Timed(Job):
    """A cell of the first split, where prediction is timed too, unless the machine is busy."""

    @property
    def is_timed(self) -> bool:
        return self.split == 0 and not self.request.busy and self.contender != "rgf"

    def is_known(self, lines: dict[tuple, dict]) -> bool:
        return super().is_known(lines) and (not self.is_timed or "nanoseconds" in lines[self.key])


def contenders_of(request: Request) -> dict[str, Contender]:
    """The usual ones and the variants that were given."""
    return CONTENDERS | {made.name: made for made in map(variant, request.variants)}


def plan(request: Request) -> Iterator[Job]:
    """All cells asked for, sizes outermost, so that the small sizes are complete first."""
    known = contenders_of(request)
    sizes = request.sizes or (QUICK_SIZES if request.quick else tuple(SIZES))
    names = request.sets or (
        QUICK_SETS if request.quick else [name for name in SETS if not SETS[name].unlisted]
    )
    there = [name for name in names if request.has(name, SETS[name].file)]
    wanted = [name for name in known if request.wants("contenders", name)]
    able = {
        (name, size): is_able(request, known[name], size)
        for size in sizes
        for name in wanted
        if size in known[name].sizes
    }
    for size in sizes:
        for name in there:
            splits = request.repeats or (2 if request.quick else SETS[name].splits)
            for split in range(min(splits, SETS[name].splits)):
                for who in (
                    who
                    for who in wanted
                    if able.get((who, size)) and SETS[name].task in known[who].tasks
                ):
                    yield Timed(name, split, size, who, request, work, known[who].ours)


def is_able(request: Request, contender: Contender, size: str) -> bool:
    """Whether the contender can run at all: a binary may not know a method yet, a library may not
    be installed."""
    if not contender.ours:
        there = find_spec(contender.library) is not None
        if not there:
            say(f"skip {contender.name}: {contender.library} is not installed")
        return there
    folder = request.scratch / "equal"
    folder.mkdir(parents=True, exist_ok=True)
    data, model = folder / f"probe-{os.getpid()}.csv", folder / f"probe-{os.getpid()}.json"
    x = np.random.default_rng(0).random((200, 3))
    pd.DataFrame(x, columns=["a", "b", "c"]).assign(target=x[:, 0] + x[:, 1]).to_csv(
        data, index=False
    )
    setting = contender.grid(SIZES[size])[0]
    try:
        child.run(
            [
                request.binary,
                *measure.train_words(contender, size, "regression", setting, data, model),
            ],
            1,
        )
    except child.ChildError as error:
        say(f"skip {contender.name} at size {size}: the binary refuses it ({error})")
        return False
    finally:
        data.unlink(missing_ok=True)
        model.unlink(missing_ok=True)
    return True


def work(job: Timed) -> dict:
    """One cell."""
    request = job.request
    asked = measure.Job(
        job.name,
        job.split,
        job.size,
        contenders_of(request)[job.contender],
        request.folder,
        request.scratch,
        request.rows,
        request.binary,
        request.build if job.ours else "",
        job.is_timed,
    )
    return measure.measure(asked)


def asked_for(line: dict, request: Request) -> bool:
    """Whether a line of the cache belongs on the page; the published swarms, once kept here, have
    their own."""
    is_ours = (
        line["size"] in SIZES
        and "metrics" in line
        and line["contender"] not in set(SWARMS) - {"swarm"}
    )
    return is_ours and request.wants("sizes", line["size"])


def claims_table(by_size: dict[str, Results]) -> str:
    """Whether the search is better than each of the others at each size, over all sets."""
    rows = []
    for size, results in by_size.items():
        names = [name for name in results.sets(*frontier.TASKS) if not SETS[name].extra]
        for other in frontier.ALL[1:]:
            gaps = [results.gap(name, frontier.OURS, other, main_metric(name)) for name in names]
            gaps = [gap for gap in gaps if len(gap.each)]
            if not gaps:
                continue
            trees = "1 tree" if size == "1" else f"{size} trees"
            what = f"(ours) {trees}: the search is better than {frontier.NAMES[other]}"
            together, clear = pooled(gaps), "/".join(map(str, tally(gaps)))
            told = [extent(gaps), f"{together.mean:+.2f}", together.chance(), clear]
            rows.append([what, *told, verdict(together)])
    header = ["claim", "splits x sets", "difference", "p", "sets for/against", "verdict"]
    return render(header, rows) if rows else ""


def tell(lines: list[dict], request: Request) -> Page:
    """The frontiers of all sizes first, then one size after the other, and what is asked of the
    search."""
    page = Page(TITLE, SEEDS)
    results = {size: Results.of(lines, size) for size in SIZES}
    results = {size: found for size, found in results.items() if found.values}
    boosters = {size: found for size, found in results.items() if SIZES[size].trees}
    if boosters:
        common = frontier.on_common_splits(boosters)
        drawn = frontier.draw_frontiers(common)
        shown = page.figure("frontiers.svg", drawn) if drawn else ""
        page.section("Test metric against size", frontier.NOTE, shown, frontier.summary(boosters))
        page.section("Dominance", frontier.DOMINANCE, frontier.dominance_table(boosters))
        page.section(
            "Number of trees that peers need", frontier.TREES, frontier.trees_table(common)
        )
        counted = frontier.leaves_table(boosters)
        page.section("Number of leaves", *([frontier.LEAVES, counted] if counted else []))
        timed = frontier.latency_table(
            lines
        )  # of the cells that were measured alone, whoever writes the page
        page.section(
            "Prediction time in nanoseconds per row",
            *([frontier.LATENCY, timed] if timed else [frontier.NOT_TIMED]),
        )
    told, demands = [], []
    for size, found in results.items():
        told.append(tables.section(found, size, "swarm", request.busy))
        if size in bar.NAMED or size == "192":
            demands += bar.demands(found, size, "swarm")
    judged = claims_table(boosters)
    page.section("Claims", *([DEFINITION, CLAIMS, judged] if judged else []))
    page.section("Results by size", HOW_TO_READ, *told)
    if demands and not request.quick:
        page.section(
            "Key comparisons",
            render(
                ["comparison", "difference"],
                [[what, "not measured" if gap == "-" else gap] for what, gap, *_ in demands],
            ),
        )
    return page
