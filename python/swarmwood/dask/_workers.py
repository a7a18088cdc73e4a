"""The workers of a Dask cluster.

Hosts live in a table of each worker process and are reached by tasks that must run on that worker.
Whether a worker is alive is asked of the scheduler, so that no call waits for one that is gone.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from typing import Any

from swarmwood import _cluster, _core
from swarmwood._cluster import Deal, Plan

#: Seconds between two looks at the workers.
POLL = 0.5

#: The most seconds that one attempt to fetch a reply may take before the workers are looked at.
LONGEST_FETCH = 16.0

#: Seconds that a cluster may be without workers.
PATIENCE = 60.0

#: Larger messages do not go through the scheduler.
SCATTERED = 1 << 20


class LostResult(Exception):
    """A result that went with its worker."""


class DaskWorkers:
    """A pool of the workers of a client."""

    def __init__(self, client: Any, parts: list[Any], timeout: float) -> None:
        import distributed

        self._client = distributed.get_client() if client is None else client
        self._parts = parts
        self._timeout = timeout
        self._places: dict[str, str] = {}
        # The last heartbeat of each worker, and when it was new.
        self._beats: dict[str, tuple[float | None, float]] = {}

    def _workers(self) -> dict[str, int]:
        """Return the threads of the workers that are alive, by address."""
        try:
            info = self._client.scheduler_info(n_workers=-1)
        except TypeError:
            info = self._client.scheduler_info()
        now = time.monotonic()
        alive = {}
        for address, worker in info["workers"].items():
            beat, since = self._beats.get(address, (None, now))
            if beat != worker["last_seen"]:
                self._beats[address] = (worker["last_seen"], now)
            elif now - since > self._timeout:
                self._give_up(address)
                continue
            alive[address] = worker["nthreads"]
        return alive

    def _give_up(self, address: str) -> None:
        """Let the scheduler forget a worker that does not reply, so that no task waits for it."""
        self._beats.pop(address, None)

        # A function of its own, so that the scheduler needs no swarmwood.
        async def forget(dask_scheduler: Any, address: str) -> None:
            await dask_scheduler.remove_worker(address, stimulus_id="does not reply")

        self._client.run_on_scheduler(forget, address=address)

    def count(self) -> int:
        """Return the number of workers."""
        return len(self._alive())

    def _alive(self) -> dict[str, int]:
        """Return the workers; wait for a while if there are none."""
        deadline = time.monotonic() + PATIENCE
        while not (workers := self._workers()):
            if time.monotonic() > deadline:
                raise _core.SwarmwoodError(
                    f"the Dask cluster has had no worker for {PATIENCE:.0f} s; start some and fit "
                    "again"
                )
            time.sleep(POLL)
        return workers

    def map_parts(
        self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]
    ) -> list[Any]:
        """Call a function with every partition, on any worker."""
        futures = self._submit(function, arguments)
        self._wait(futures)
        return [self._result(future, at) for at, future in enumerate(futures)]

    def _submit(
        self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]
    ) -> list[Any]:
        import dask

        call = dask.delayed(function, pure=False)
        tasks = [call(part, *more) for part, more in zip(self._parts, arguments, strict=True)]
        futures: list[Any] = self._client.compute(tasks, retries=2)
        return futures

    def _wait(self, futures: Sequence[Any]) -> None:
        """Wait for futures that any worker may compute."""
        import distributed

        while True:
            try:
                distributed.wait(futures, timeout=POLL)
                return
            except TimeoutError:
                self._alive()
            except BaseException as error:
                # What became of them is seen when they are asked for their results.
                if _is_loss(error):
                    return
                raise

    def _result(self, future: Any, part: int) -> Any:
        error: BaseException | None = None
        if future.status == "finished":
            try:
                # Any worker may compute it again, so that it is lost only if there is none.
                return self._fetched(future, lambda: not self._alive())
            except LostResult as lost:
                error = lost
        elif future.status == "error":
            error = future.exception()
            if not _is_loss(error):
                raise error
        raise _core.SwarmwoodError(
            f"the rows of partition {part} cannot be read again after a worker was lost; give data "
            "that the workers can compute or read from files, not data scattered by this process"
        ) from error

    def build(
        self, hosts: Sequence[tuple[int, str]], plan: Plan, deals: Sequence[Deal]
    ) -> tuple[list[bool], list[int]]:
        """Make hosts, each on the worker that has the fewest."""
        pieces = self._submit(_cluster.part_pieces, [(plan, deal) for deal in deals])
        found = [self._client.submit(_cluster.conflicts_of, piece, pure=False) for piece in pieces]
        self._wait(found)
        conflicts = {at for part, one in enumerate(found) for at in self._result(one, part)}
        if conflicts:
            return [], sorted(conflicts)

        workers, places = self._alive(), list(self._places.values())
        futures, addresses = [], []
        for host, key in hosts:
            address = min(sorted(workers), key=places.count)
            places.append(address)
            own = [self._client.submit(_cluster.piece_of, one, host, pure=False) for one in pieces]
            built = self._client.submit(
                _cluster.build_host,
                key,
                plan,
                host,
                own,
                workers[address],
                workers=[address],
                allow_other_workers=False,
                pure=False,
            )
            futures.append(built)
            addresses.append(address)
        self._await(futures, addresses, None)
        made = []
        for (_, key), built, address in zip(hosts, futures, addresses, strict=True):
            if built.status == "error" and not _is_loss(built.exception()):
                raise built.exception()
            made.append(built.status == "finished")
            if made[-1]:
                self._places[key] = address
        return made, []

    def exchange(self, messages: Sequence[tuple[str, bytes]]) -> list[bytes | None]:
        """Ask hosts; None for those whose worker is gone or does not reply in time."""
        futures, addresses = [], []
        for key, message in messages:
            address = self._places.get(key)
            futures.append(None if address is None else self._ask(key, message, address))
            addresses.append(address)
        deadline = time.monotonic() + self._timeout
        self._await(futures, addresses, deadline)
        return [
            self._reply(key, future, address, deadline)
            for (key, _), future, address in zip(messages, futures, addresses, strict=True)
        ]

    def _ask(self, key: str, message: bytes, address: str) -> Any:
        """Return the future of a reply; None if the worker cannot be reached."""
        data: Any = message
        if len(message) > SCATTERED:
            try:
                data = self._client.scatter(
                    message, workers=[address], hash=False, timeout=10 * POLL
                )
            except (TimeoutError, OSError):
                return None
        return self._client.submit(
            _cluster.ask_host,
            key,
            data,
            workers=[address],
            allow_other_workers=False,
            pure=False,
            priority=10,
        )

    def _await(
        self, futures: Sequence[Any], addresses: Sequence[str | None], deadline: float | None
    ) -> None:
        """Wait until every future is done or its worker is gone."""
        import distributed

        while waiting := [
            (future, address)
            for future, address in zip(futures, addresses, strict=True)
            if future is not None and not future.done()
        ]:
            try:
                distributed.wait([future for future, _ in waiting], timeout=POLL)
            except TimeoutError:
                alive = self._workers()
                is_late = deadline is not None and time.monotonic() > deadline
                late = {address for _, address in waiting if is_late and address in alive}
                for one in late:
                    self._give_up(str(one))
                for future, address in waiting:
                    if is_late or address not in alive:
                        future.cancel(force=True)
            except BaseException as error:
                if not _is_loss(error):
                    raise

    def _reply(self, key: str, future: Any, address: str | None, deadline: float) -> bytes | None:
        if future is not None and future.status == "finished":
            with contextlib.suppress(LostResult):
                reply: bytes | None = self._fetched(
                    future, lambda: address not in self._workers() or time.monotonic() > deadline
                )
                if reply is not None:
                    return reply
        elif future is not None and future.status == "error":
            error = future.exception()
            if not _is_loss(error):
                raise error
        self._places.pop(key, None)
        return None

    def _fetched(self, future: Any, is_lost: Callable[[], bool]) -> Any:
        """Return the result of a future that is done; raise `LostResult` if it is gone for good.

        A worker that dies now takes the result with it. The scheduler computes it again, or waits
        for ever if only that worker may.
        """
        patience = POLL
        while True:
            try:
                return future.result(timeout=patience)
            except TimeoutError:
                if is_lost():
                    future.cancel(force=True)
                    raise LostResult from None
                # The result may be long, and the network slow.
                patience = min(2 * patience, LONGEST_FETCH)
            except BaseException as error:
                if not _is_loss(error):
                    raise
                raise LostResult from error

    def drop(self, keys: Sequence[str]) -> None:
        """Forget hosts."""
        alive = self._workers()
        futures = []
        for key in keys:
            address = self._places.pop(key, None)
            if address in alive:
                futures.append(
                    self._client.submit(
                        _cluster.drop_host, key, workers=[address], pure=False, priority=10
                    )
                )
        import distributed

        try:
            distributed.wait(futures, timeout=10 * POLL)
        except TimeoutError:
            for future in futures:
                future.cancel(force=True)


def _is_loss(error: BaseException | None) -> bool:
    """Whether an exception only says that a worker is gone."""
    names = {
        "KilledWorker",
        "FutureCancelledError",
        "FuturesCancelledError",
        "CancelledError",
        "CommClosedError",
        "LostWorker",
        "NoValidWorkerError",
        "P2PConsistencyError",
    }
    return error is None or any(kind.__name__ in names for kind in type(error).__mro__)
