"""Measures the cells that are not known yet and keeps each as soon as it is there.

Cells are independent of each other, so several can be measured at a time, each with one thread; and
a run that was killed goes on where it was.
"""

import os
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait

import child
from equal import cache
from evidence import raw
from evidence.request import Job, Request, Stopped, say


def measure(request: Request, planned: Iterable[Job]) -> list[str]:
    """Measures what is missing; what failed, in words. A contender that fails does not end the
    run."""
    known = known_cells(request)
    jobs = [job for job in planned if not job.is_known(known)]
    say(f"{request.experiment}: {len(jobs)} cells to measure, {len(known)} known")
    failures, left = [], 0
    for done, (job, result) in enumerate(results(jobs, request.workers), 1):
        if isinstance(result, Stopped):
            left += 1
            continue
        if isinstance(result, Exception):
            failures.append(" ".join(f"{job.label}: {result}".split()))
            say(f"  FAILED {failures[-1]}")
            continue
        cache.add(request.cells, result)
        figures = {
            name: value
            for name, value in raw.figures_of(result).items()
            if not name.startswith(raw.AFTER)
        }
        told = [
            f"{name}={value if isinstance(value, str) else f'{value:.5g}'}"
            for name, value in figures.items()
        ]
        say(f"  {done}/{len(jobs)} {job.label} {' '.join(told)}")
    if left:
        say(f"the time is over: {left} cells are left, the same command goes on from here")
    return failures


def known_cells(request: Request) -> dict[tuple, dict]:
    """What was measured before: the cells of a page, and those of this run, which are newer."""
    of_page = raw.read(request.known) if request.known else {}
    return of_page | cache.read(request.cells)


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
    """A worker yields to everything else, and ends with the run that started it, even if that was
    killed."""
    os.nice(19)
    threading.Thread(target=end_with_parent, daemon=True).start()


def end_with_parent() -> None:
    wait([parent_process().sentinel])
    os._exit(1)


def attempt(job: Job) -> dict | Exception:
    """One contender that fails must not end the run, whichever library's kind of error it is."""
    if job.request.is_over:
        return Stopped()
    try:
        return job.line()
    except Stopped as stopped:
        return stopped
    except Exception as error:
        return RuntimeError(f"{type(error).__name__}: {error}")
