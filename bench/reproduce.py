"""Every table and figure again: what papers say, what comes out here, and the libraries people use
on the same rows.

bench/.venv/bin/python bench/reproduce.py EXPERIMENT --data DIR --out DIR [--repeats N] [--quick]

EXPERIMENT is one of `EXPERIMENTS` below (README.md says what each asks), or `all`. `--out` gets
summary.md, README.md, raw.csv and the figures. Cells are kept in `cells.jsonl` there, or in the
file given with `--cells`: a run that was stopped, by `--seconds` for example, goes on where it was,
and `--tables` writes the page without measuring. `--known` takes the cells of a page that is there
already from its raw.csv. `--quick` is a trial of the harness on generated and packaged data. Data
that is not there is skipped; it is said where to get it.
"""

import argparse
import hashlib
import sys
import time
from pathlib import Path
from types import ModuleType

from equal.contenders import SIZES, variant
from equal.sets import SETS
from evidence import (
    ablation,
    ablation_tables,
    boosting,
    boosting_tables,
    compress,
    interactions,
    intervals,
    iris,
    max_features,
    monotone,
    page,
    points,
    raw,
    rules,
    rules_tables,
    small_models,
    total_leaves,
    total_leaves_tables,
    tree,
    tree_tables,
    tuning,
    tuning_tables,
    xgboost_tables,
    xgboost_tuning,
)
from evidence.measuring import known_cells, measure
from evidence.request import Request, say

HERE = Path(__file__).resolve().parent
RELEASE = HERE.parent / "target" / "release"
EXPERIMENTS: dict[str, tuple[ModuleType, ModuleType]] = {
    "boosting": (boosting, boosting_tables),
    "ablation": (ablation, ablation_tables),
    "iris": (iris, iris),
    "tree": (tree, tree_tables),
    "tuning": (tuning, tuning_tables),
    "tuning-xgboost": (xgboost_tuning, xgboost_tables),
    "small-models": (small_models, small_models),
    "total-leaves": (total_leaves, total_leaves_tables),
    "rules": (rules, rules_tables),
    "compress": (compress, compress),
    "interactions": (interactions, interactions),
    "max-features": (max_features, max_features),
    "monotone": (monotone, monotone),
    "intervals": (intervals, intervals),
    "points": (points, points),
}
KNOWN_SETS = {
    "boosting": SETS,
    "ablation": SETS,
    "iris": (iris.NAME,),
    "tree": tree.SETS,
    "tuning": tuning.METRICS,
    "tuning-xgboost": tuning.METRICS,
    "small-models": SETS,
    "total-leaves": SETS,
    "rules": rules.SETS,
    "compress": SETS,
    "interactions": interactions.SETS,
    "max-features": SETS,
    "monotone": monotone.SETS,
    "intervals": intervals.SETS,
    "points": SETS,
}
KNOWN_SIZES = {
    "boosting": (boosting.SIZE,),
    "ablation": (ablation.SIZE,),
    "iris": (iris.SIZE,),
    "tree": (tree.SIZE,),
    "tuning": tuning.RANGES,
    "tuning-xgboost": tuning.RANGES,
    "small-models": SIZES,
    "total-leaves": total_leaves.SIZES,
    "rules": rules.SIZES,
    "compress": compress.SIZES,
    "interactions": interactions.SIZES,
    "max-features": max_features.SIZES,
    "monotone": monotone.SIZES,
    "intervals": intervals.SIZES,
    "points": points.SIZES,
}
QUICK_ROWS, TUNING_ROWS = 600, 1000


def arguments(given: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("experiment", choices=[*EXPERIMENTS, "all"])
    parser.add_argument("--data", type=Path, metavar="DIR", help="directory with the data sets")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="where the page goes"
    )
    parser.add_argument(
        "--repeats",
        type=int,
        metavar="N",
        help="splits, repetitions or seeds (default: the paper's)",
    )
    parser.add_argument(
        "--quick", action="store_true", help="a trial of the harness, not a result; needs no data"
    )
    parser.add_argument(
        "--cells",
        type=Path,
        metavar="FILE",
        help="results measured once (default: OUT/cells.jsonl)",
    )
    parser.add_argument(
        "--binary", type=Path, default=RELEASE / "swarmwood", metavar="PATH", help="our binary"
    )
    parser.add_argument(
        "--known", type=Path, metavar="RAW", help="raw.csv of a page: its cells count as measured"
    )
    judge = RELEASE / "examples" / "evaluate_configs"
    parser.add_argument(
        "--judge", type=Path, default=judge, metavar="PATH", help="judge of others' tuners"
    )
    parser.add_argument(
        "--scratch", type=Path, default=HERE / "runs" / "scratch", help="prepared rows and models"
    )
    for name, what in (("sets", "data sets"), ("sizes", "sizes, or ranges of tuning")):
        parser.add_argument(
            f"--{name}", metavar="NAMES", help=f"only these {what}, comma-separated"
        )
    parser.add_argument(
        "--contenders", metavar="NAMES", help="measure only these, separated by semicolons"
    )
    parser.add_argument(
        "--variant",
        action="append",
        default=[],
        metavar="NAME=FLAGS",
        help="the search with more flags",
    )
    parser.add_argument(
        "--rows",
        type=int,
        help="at most so many rows: a trial; of tuning the sample (default: 1000)",
    )
    parser.add_argument(
        "--workers", type=int, default=1, help="cells at a time (default: 1; more: no times)"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        metavar="N",
        help="begin no cell after so many seconds; the same command goes on from there",
    )
    parser.add_argument(
        "--busy",
        action="store_true",
        help="other work runs on this machine: take and tell no times",
    )
    parser.add_argument(
        "--tables", action="store_true", help="measure nothing, write the page of what is known"
    )
    parser.add_argument(
        "--note", action="append", default=[], metavar="TEXT", help="a line for how it was made"
    )
    options = parser.parse_args(given)
    check(options, parser)
    return options


def check(options: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    """Names into lists; what is unknown or missing is a fault of the command line."""
    for flag, known in (("sets", KNOWN_SETS), ("sizes", KNOWN_SIZES)):
        given = getattr(options, flag)
        names = tuple(given.split(",")) if given else ()
        if names and options.experiment == "all":
            parser.error(f"--{flag} belongs to one experiment; name it instead of all")
        unknown = [name for name in names if name not in known[options.experiment]] if names else []
        if unknown:
            parser.error(
                f"--{flag}: unknown {', '.join(unknown)}; "
                f"known are {', '.join(known[options.experiment])}"
            )
        setattr(options, flag, names)
    options.contenders = tuple(options.contenders.split(";")) if options.contenders else ()
    if options.known and options.experiment == "all":
        parser.error("--known belongs to one experiment; name it instead of all")
    if options.contenders and options.experiment == "all":
        parser.error("--contenders belongs to one experiment; name it instead of all")
    try:
        made = {variant(text).name for text in options.variant}
    except ValueError as error:
        parser.error(str(error))
    known = made | set(known_contenders(options.experiment))
    unknown = [name for name in options.contenders if name not in known]
    if unknown:
        parser.error(
            f"--contenders: unknown {', '.join(unknown)}; known are {'; '.join(sorted(known))}"
        )
    needs_data = not (options.quick or options.tables or options.experiment == "interactions")
    if needs_data and not (options.data and options.data.is_dir()):
        parser.error(
            "--data: name the directory that holds the data sets, or try --quick, which needs none"
        )
    needs_binary = not options.tables and options.experiment != "tuning-xgboost"
    if needs_binary and not options.binary.is_file():
        parser.error(
            f"--binary {options.binary}: no such file; build it with `cargo build --release`"
        )
    if options.repeats is not None and options.repeats < 1:
        parser.error("--repeats must be at least 1")
    if options.seconds is not None and not options.seconds > 0:
        parser.error("--seconds must be more than 0")
    options.until = time.time() + options.seconds if options.seconds else None


def known_contenders(experiment: str) -> tuple[str, ...]:
    """Who can be named."""
    return {
        "boosting": boosting.METHODS,
        "ablation": tuple(ablation.VARIANTS),
        "iris": tuple(iris.OURS),
        "tree": tree.CONTENDERS,
        "tuning": (*tuning.PEERS, *tuning.ENGINES),
        "tuning-xgboost": tuple(xgboost_tuning.TUNERS),
        "small-models": tuple(small_models.CONTENDERS),
        "total-leaves": total_leaves.CONTENDERS,
        "rules": rules.CONTENDERS,
        "compress": compress.CONTENDERS,
        "interactions": interactions.CONTENDERS,
        "max-features": max_features.CONTENDERS,
        "intervals": intervals.CONTENDERS,
        "points": points.CONTENDERS,
    }.get(experiment, ())


def request_of(options: argparse.Namespace, experiment: str) -> Request:
    """The request for one experiment; of `all` each has a folder of its own."""
    out = options.out / experiment if options.experiment == "all" else options.out
    build = (
        hashlib.sha256(options.binary.read_bytes()).hexdigest()[:12]
        if options.binary.is_file()
        else ""
    )
    is_limited = options.quick and experiment in (
        "boosting",
        "ablation",
        "small-models",
        "total-leaves",
        "rules",
        "compress",
        "intervals",
        "points",
    )
    return Request(
        experiment=experiment,
        out=out,
        cells=options.cells or out / "cells.jsonl",
        known=options.known,
        scratch=options.scratch,
        binary=options.binary.resolve(),
        build=build,
        data=options.data,
        judge=options.judge.resolve(),
        repeats=options.repeats,
        quick=options.quick,
        busy=options.busy or options.workers > 1,
        tables=options.tables,
        workers=options.workers,
        until=options.until,
        rows=None
        if experiment == "tuning"
        else options.rows or (QUICK_ROWS if is_limited else None),
        sample=options.rows or TUNING_ROWS,
        sets=options.sets,
        sizes=options.sizes,
        contenders=options.contenders,
        variants=tuple(options.variant),
    )


def reproduce(request: Request, given: list[str], notes: list[str]) -> int:
    """One experiment from its cells to its page; how many cells failed."""
    cells, tables = EXPERIMENTS[request.experiment]
    failures = []
    # The cells of a later plan may depend on the results of an earlier one.
    for plan in () if request.tables else getattr(cells, "PLANS", None) or (cells.plan,):
        if not request.is_over:
            failures += measure(request, plan(request))
    lines = [line for line in known_cells(request).values() if line.get("limit") == request.rows]
    lines = [
        line
        for line in lines
        if request.wants("sets", line["set"]) and cells.asked_for(line, request)
    ]
    lines = page.in_order(lines)
    told = tables.tell(lines, request)
    path = page.store(request, told, lines, given, failures, notes)
    say(f"wrote {path}")
    return len(failures)


def main(given: list[str]) -> int:
    options = arguments(given)
    failed = 0
    try:
        for experiment in EXPERIMENTS if options.experiment == "all" else (options.experiment,):
            failed += reproduce(request_of(options, experiment), given, options.note)
    except KeyboardInterrupt:
        say("interrupted: what was measured is kept, the same command goes on from there")
        return 130
    except raw.NotAPage as error:
        say(f"--known {error}")
        return 2
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
