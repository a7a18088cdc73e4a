"""At equal size, who predicts best?

Small ensembles: 6 trees of 32 leaves, 16 and 64 trees of 64, and 192 leaves in all. Ours beside XGBoost (depth-wise and
leaf-wise), LightGBM and CatBoost, each tuned by learning rate and lambda on an inner division of the training rows, and
beside our own greedy learner tuned in the same way. The same 80/20 splits for all.

A cell (set, split, size, contender) is measured once and kept in the file given with `--cache`. Ours is measured again
when the binary has changed. Cells are independent, so workers measure several at a time, each with one thread.
"""

import argparse
import hashlib
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from importlib.util import find_spec
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from pathlib import Path

import numpy as np
import pandas as pd

import child
from equal import bar, cache, tables
from equal.compare import Results
from equal.contenders import CONTENDERS, SIZES, Contender, variant
from equal.measure import Job, measure, train_words
from equal.sets import SETS
from session import Session

EXPERIMENT = "equal-size"
TITLE = """## Equal size

Means over the splits: RMSE, or accuracy in percent. `a / b` is how much better a is than b: percent lower RMSE or log
loss, points of accuracy or AUC; mean over the splits ± its standard error (wins-losses). The rival is the best of the
four peers in hindsight, by the mean over the splits. With several classes every class has so many trees. `splits` are
those of ours and of the others; means are over the splits each was measured on, comparisons over those of both.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this experiment alone."""
    group = parser.add_argument_group("equal-size")
    group.add_argument("--cache", type=Path, metavar="FILE", help="results measured once, one JSON object a line")
    group.add_argument("--sizes", metavar="NAMES", help=f"comma-separated, of {', '.join(SIZES)} (default: all)")
    group.add_argument("--only-contenders", metavar="NAMES", help=f"measure these: {', '.join(CONTENDERS)}")
    group.add_argument("--variant", action="append", default=[], metavar="NAME=FLAGS", help="the swarm with more flags")
    group.add_argument("--workers", type=int, default=2, help="cells at a time (default: 2; 0: in this process)")
    group.add_argument("--tables", action="store_true", help="measure nothing, print the tables of the cache")


def check(options: argparse.Namespace, complain: Callable[[str], None]) -> None:
    """Turn names into lists; unknown ones and a missing cache are faults of the command line."""
    try:
        options.equal = CONTENDERS | {made.name: made for made in map(variant, options.variant)}
    except ValueError as error:
        return complain(str(error))
    for flag, known in (("sets", SETS), ("sizes", SIZES), ("only_contenders", options.equal)):
        given = getattr(options, flag)
        names = given.split(",") if given else list(known)
        unknown = [name for name in names if name not in known]
        if unknown:
            complain(f"--{flag.replace('_', '-')}: unknown {', '.join(unknown)}; known are {', '.join(known)}")
        setattr(options, flag, names)
    if not options.cache:
        complain("--cache: name the file that keeps the results, outside the repository")


def needs_binary(options: argparse.Namespace) -> bool:
    """Whether any contender of ours is going to run."""
    return not options.tables and any(options.equal[name].ours for name in options.only_contenders)


def run(session: Session) -> None:
    options = session.options
    if not options.tables:
        known = cache.read(options.cache)
        jobs = [job for job in planned(session) if stale(known.get(job.key), job)]
        session.say(f"equal-size: {len(jobs)} cells to measure, {len(known)} lines in the cache")
        for done, (job, result) in enumerate(results(jobs, options.workers), 1):
            settle(session, job, result, f"{done}/{len(jobs)}")
    wanted = (set(options.sets), set(options.sizes))
    lines = [line for line in cache.read(options.cache).values() if line.get("limit") == session.rows]
    lines = [line for line in lines if line["set"] in wanted[0] and line["size"] in wanted[1]]
    for line in lines:
        place = (EXPERIMENT, f"{line['set']}/{line['size']}", line["contender"], 1, line["split"])
        session.measured += [(*place, name, float(f"{value:.7g}")) for name, value in cache.quantities(line)]
    builds = Counter((line["contender"], line["build"]) for line in lines)
    session.notes += [f"{name} {build}: {count} cells" for (name, build), count in sorted(builds.items())]


def planned(session: Session) -> Iterator[Job]:
    """All cells asked for, sizes outermost, so that the small size is complete first."""
    options = session.options
    build = hashlib.sha256(session.binary.read_bytes()).hexdigest()[:12] if needs_binary(options) else ""
    able = {
        (name, size): able_to(session, options.equal[name], size)
        for size in options.sizes
        for name in options.only_contenders
        if size in options.equal[name].sizes
    }
    for size in options.sizes:
        for name in options.sets:
            asked = SETS[name]
            if asked.file and not (session.data / asked.file).is_file():
                session.say(f"skip {name}: no {asked.file} in the data directory")
                continue
            for split in range(min(asked.splits, options.splits or asked.splits)):
                for contender in (options.equal[who] for who in options.only_contenders if able.get((who, size))):
                    if asked.task in contender.tasks:
                        ours = {"binary": session.binary, "build": build} if contender.ours else {}
                        yield Job(name, split, size, contender, session.data, session.scratch, session.rows, **ours)


def able_to(session: Session, contender: Contender, size: str) -> bool:
    """Whether the contender can run at all: a binary may not know a method yet, a library may not be installed."""
    if not contender.ours:
        there = find_spec(contender.library) is not None
        if not there:
            session.say(f"skip {contender.name}: {contender.library} is not installed")
        return there
    folder = session.scratch / "equal"
    folder.mkdir(parents=True, exist_ok=True)
    data, model = folder / f"probe-{os.getpid()}.csv", folder / f"probe-{os.getpid()}.json"
    x = np.random.default_rng(0).random((200, 3))
    pd.DataFrame(x, columns=["a", "b", "c"]).assign(target=x[:, 0] + x[:, 1]).to_csv(data, index=False)
    setting = contender.grid(SIZES[size])[0]
    try:
        child.run([session.binary, *train_words(contender, size, "regression", setting, data, model)], 1)
    except child.ChildError as error:
        session.say(f"skip {contender.name} at size {size}: the binary refuses it ({error})")
        return False
    finally:
        data.unlink(missing_ok=True)
        model.unlink(missing_ok=True)
    return True


def stale(line: dict | None, job: Job) -> bool:
    """Whether a cell must be measured: never before, or by another binary."""
    return line is None or (job.contender.ours and line["build"] != job.build)


def results(jobs: list[Job], workers: int) -> Iterator[tuple[Job, dict | Exception]]:
    """Each job with its line or with what went wrong, as they finish."""
    if not workers:
        for job in jobs:
            yield job, attempt(job)
        return
    os.environ.update({f"{pool}_NUM_THREADS": "1" for pool in child.POOLS})
    with ProcessPoolExecutor(workers, get_context("spawn"), initializer=be_modest) as pool:
        waiting: dict[Future, Job] = {pool.submit(attempt, job): job for job in jobs}
        try:
            for future in as_completed(waiting):
                try:
                    yield waiting[future], future.result()
                except BrokenProcessPool as error:
                    yield waiting[future], error
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def be_modest() -> None:
    """A worker yields to everything else, and ends with the run that started it, even if that was killed."""
    os.nice(19)
    threading.Thread(target=end_with_parent, daemon=True).start()


def end_with_parent() -> None:
    wait([parent_process().sentinel])
    os._exit(1)


def attempt(job: Job) -> dict | Exception:
    """One contender that fails must not end the run, whichever library's kind of error it is."""
    try:
        return measure(job)
    except Exception as error:
        return RuntimeError(f"{type(error).__name__}: {error}")


def settle(session: Session, job: Job, result: dict | Exception, place: str) -> None:
    """Keep a line, or write down a failure."""
    label = f"{job.name} split {job.split} size {job.size} {job.contender.name}"
    if isinstance(result, Exception):
        session.failures.append(f"{label}: {result}")
        session.say(f"  FAILED {session.failures[-1]}")
        return
    cache.add(session.options.cache, result)
    found = " ".join(f"{name}={value:.5g}" for name, value in cache.quantities(result))
    session.say(f"  {place} {label} {found} {result['chosen'] or ''}")


def tell(frame: pd.DataFrame) -> tuple[str, list[list[str]]]:
    parts, demands = [TITLE], []
    measured = {name.partition("/")[2] for name in frame["dataset"].unique()}
    for size in SIZES:
        if size in measured:
            found = Results.of(frame, size)
            parts.append(tables.section(found, size, "swarm"))
            demands += bar.demands(found, size, "swarm")
    return "\n".join(parts), demands
