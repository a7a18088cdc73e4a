"""Tasks of a search on an executor: any object with `submit`, as in `concurrent.futures`.

A task is a candidate fitted to a fold, or a trial of a tuner (`_trial_tasks`), a few hundred bytes.
The rows are pickled once and sent to each worker process once: a task goes out without them, and if
its worker does not have them yet, it is sent again with them. Results do not depend on where, how
often or in which order tasks run, so that a failed task is simply sent again.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import queue
import socket
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass
from typing import Any, Protocol

from swarmwood import _core
from swarmwood._errors import parameter_error
from swarmwood._objective import CoreLoss
from swarmwood._table import readable, table_of

#: How often a task may fail before the run does.
MOST_FAILURES = 3

#: How often a broken executor is replaced by a new one in one run.
MOST_RESTARTS = 3

#: Seconds between two looks at whether the run was interrupted.
INTERVAL = 0.1

#: Searches whose rows a worker process keeps.
MOST_HELD = 2


class OpenData(Protocol):
    """What a worker keeps: it runs tasks."""

    def run(self, task: bytes) -> bytes:
        """Run a task; its result."""


class TaskData(Protocol):
    """What each worker is sent once."""

    def open(self) -> OpenData:
        """Make what runs tasks."""


@dataclass(frozen=True)
class SearchData:
    """What a worker needs to run the tasks of a search."""

    X: Any
    names: list[str]
    categorical: Any
    target: Any
    weight: Any
    classes: list[str] | None
    parameters: list[tuple[str, Any]]
    holds_out: bool
    objective: Any

    def open(self) -> _core.SearchRows:
        """Bin the rows."""
        table = table_of(self.X, self.names, self.categorical)
        table.set_target(readable(self.target))
        if self.weight is not None:
            table.set_weight(self.weight)
        loss = None if self.objective is None else CoreLoss(self.objective)
        return _core.SearchRows(
            table, "target", self.classes, self.parameters, self.holds_out, objective=loss
        )


_held: OrderedDict[str, OpenData] = OrderedDict()
_lock = threading.Lock()


def run_task(version: str, key: str, data: bytes | None, task: bytes) -> tuple[str, bytes | None]:
    """Run a task in a worker; return the worker and the result, None without the rows."""
    if version != _core.__version__:
        raise RuntimeError(
            f"the worker has swarmwood {_core.__version__}, but the task is of {version}; "
            "install the same version everywhere"
        )
    worker = f"{socket.gethostname()}:{os.getpid()}"
    with _lock:
        rows = _held.get(key)
        if rows is None and data is not None:
            rows = pickle.loads(data).open()
            _held[key] = rows
            while len(_held) > MOST_HELD:
                _held.popitem(last=False)
    return worker, None if rows is None else rows.run(task)


class TaskSender:
    """Sends the tasks of a search to an executor, and to a new one if it breaks."""

    def __init__(self, executor: Any, data: TaskData) -> None:
        self._make = None if hasattr(executor, "submit") else executor
        if self._make is not None and not callable(executor):
            raise parameter_error(
                "executor",
                f"is {executor!r}, must have the method submit, as executors of "
                "concurrent.futures, or be a function that makes such an object",
            )
        self._executor = executor if self._make is None else None
        try:
            self._data = pickle.dumps(data, protocol=pickle.HIGHEST_PROTOCOL)
        except Exception as error:
            raise parameter_error(
                "executor", f"needs data and a loss that can be pickled: {error}"
            ) from error
        self._key = hashlib.sha256(self._data).hexdigest()
        self._restarts = 0
        # Workers that have the rows, and others.
        self._holding: set[str] = set()
        self._lacking: set[str] = set()

    def __call__(self, tasks: list[bytes], is_stopped: Callable[[], bool]) -> list[bytes] | None:
        """Return the results of the tasks in their order; None if the run was interrupted."""
        batch = _Batch(tasks)
        try:
            while batch.missing > 0:
                if is_stopped():
                    return None
                while batch.waiting:
                    self._send(batch, *batch.waiting.popleft())
                try:
                    future = batch.done.get(timeout=INTERVAL)
                except queue.Empty:
                    continue
                self._receive(batch, future, batch.open.pop(future))
            return batch.results
        finally:
            for future in batch.open:
                future.cancel()

    def close(self) -> None:
        """End an executor that was made here."""
        if self._make is not None and self._executor is not None:
            # No task is under way any more; not every executor has to be ended.
            if hasattr(self._executor, "shutdown"):
                self._executor.shutdown(wait=False)
            self._executor = None

    def _send(self, batch: _Batch, at: int, carries: bool) -> None:
        data = self._data if carries else None
        try:
            if self._executor is None:
                assert self._make is not None
                self._executor = self._make()
            arguments = (_core.__version__, self._key, data, batch.tasks[at])
            future = self._executor.submit(run_task, *arguments)
        except BrokenExecutor as error:
            self._replace(error)
            batch.waiting.append((at, carries))
            return
        batch.open[future] = (at, carries, self._executor)
        batch.carriers += carries
        future.add_done_callback(batch.done.put)

    def _receive(self, batch: _Batch, future: Any, sent: tuple[int, bool, Any]) -> None:
        at, carries, executor = sent
        batch.carriers -= carries
        try:
            worker, result = future.result()
        except BrokenExecutor as error:
            # All tasks of a broken executor fail, which says nothing about them.
            if executor is self._executor:
                self._replace(error)
            batch.waiting.append((at, False))
        except Exception:
            batch.failures[at] += 1
            if batch.failures[at] >= MOST_FAILURES:
                raise
            batch.waiting.append((at, False))
        else:
            if result is None:
                self._lacking.add(worker)
                batch.parked.append(at)
            else:
                batch.results[at] = result
                batch.missing -= 1
                self._holding.add(worker)
                if carries:
                    batch.unpark()
        # One copy of the rows is under way for each worker that lacks them.
        lacking = len(self._lacking - self._holding)
        while batch.parked and batch.carriers + batch.carrying() < max(lacking, 1):
            batch.waiting.append((batch.parked.popleft(), True))

    def _replace(self, error: BaseException) -> None:
        """Make a new executor, if the caller said how."""
        self._holding.clear()
        self._lacking.clear()
        if self._make is None:
            raise _core.SwarmwoodError(
                f"the executor has lost its workers ({type(error).__name__}: {error}); pass a "
                "function that makes an executor instead, such as executor=lambda: "
                "ProcessPoolExecutor(4), and the tasks are sent again to a new one"
            ) from error
        self._restarts += 1
        if self._restarts > MOST_RESTARTS:
            raise _core.SwarmwoodError(
                f"{self._restarts} executors have lost their workers ({error}); is there enough "
                "memory for so many of them?"
            ) from error
        self._executor = None


class _Batch:
    """Tasks under way, and what has come of them."""

    def __init__(self, tasks: list[bytes]) -> None:
        self.tasks = tasks
        self.results: list[Any] = [None] * len(tasks)
        self.missing = len(tasks)
        self.failures = [0] * len(tasks)
        #: Tasks to be sent, and whether with the rows.
        self.waiting: deque[tuple[int, bool]] = deque((at, False) for at in range(len(tasks)))
        #: Tasks whose worker lacked the rows.
        self.parked: deque[int] = deque()
        #: What is under way: by future the task, whether it carries the rows, and its executor.
        self.open: dict[Any, tuple[int, bool, Any]] = {}
        #: Tasks under way that carry the rows.
        self.carriers = 0
        #: Futures that are done.
        self.done: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def carrying(self) -> int:
        """Return how many tasks are about to be sent with the rows."""
        return sum(carries for _, carries in self.waiting)

    def unpark(self) -> None:
        """Send all again whose worker lacked the rows: somebody has them now."""
        self.waiting.extend((at, False) for at in self.parked)
        self.parked.clear()
