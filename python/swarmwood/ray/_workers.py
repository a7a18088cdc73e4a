"""Ray actors that hold rows. An actor that dies is started again, and knows no host then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from swarmwood import _cluster, _core
from swarmwood._cluster import Deal, Plan

#: Seconds that the actors may take to start.
PATIENCE = 60.0


class HostActor:
    """A process that holds rows."""

    def build(self, key: str, plan: Plan, host: int, threads: int, *pieces: bytes) -> bool:
        """Make a host."""
        return _cluster.build_host(key, plan, host, pieces, threads)

    def ask(self, key: str, message: bytes) -> bytes | None:
        """Return the reply of a host; None if it is not here."""
        return _cluster.ask_host(key, message)

    def drop(self, key: str) -> None:
        """Forget a host."""
        _cluster.drop_host(key)


def call_part(
    function: Callable[..., Any], source: Any, target: str, weight: str | None, *more: Any
) -> Any:
    """Read a partition and call a function with it."""
    return function(_cluster.read_part(source, target, weight), *more)


class RayWorkers:
    """A pool of actors, and tasks that read partitions."""

    def __init__(
        self,
        sources: list[Any],
        target: str,
        weight: str | None,
        workers: int | None,
        timeout: float,
    ) -> None:
        import ray

        if not ray.is_initialized():
            ray.init()
        self._ray = ray
        self._sources = sources
        self._columns = (target, weight)
        self._timeout = timeout
        if workers is None:
            workers = int(ray.cluster_resources().get("CPU", 1))
        # Actors reserve nothing: the tasks that read partitions need the processors, too.
        make = ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=0)(HostActor)
        self._actors = [make.remote() for _ in range(max(workers, 1))]
        self._places: dict[str, int] = {}

    def count(self) -> int:
        """Return the number of actors."""
        return len(self._actors)

    def map_parts(
        self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]
    ) -> list[Any]:
        """Call a function with every partition, on any worker."""
        return [self._result(task, at) for at, task in enumerate(self._submit(function, arguments))]

    def _submit(
        self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]
    ) -> list[Any]:
        task = self._ray.remote(max_retries=5)(call_part)
        return [
            task.remote(function, source, *self._columns, *more)
            for source, more in zip(self._sources, arguments, strict=True)
        ]

    def _result(self, task: Any, part: int) -> Any:
        try:
            return self._ray.get(task)
        except self._ray.exceptions.RayTaskError as error:
            raise error.as_instanceof_cause() from None
        except self._ray.exceptions.RayError as error:
            raise _core.SwarmwoodError(
                f"the rows of partition {part} cannot be read again after a worker was lost; give "
                "files, or references to data that tasks computed"
            ) from error

    def build(
        self, hosts: Sequence[tuple[int, str]], plan: Plan, deals: Sequence[Deal]
    ) -> tuple[list[bool], list[int]]:
        """Make hosts, each on the actor that has the fewest."""
        parts = self._submit(_cluster.part_pieces, [(plan, deal) for deal in deals])
        found_in = self._ray.remote(max_retries=5)(_cluster.conflicts_of)
        found = [found_in.remote(part) for part in parts]
        conflicts = {at for part, one in enumerate(found) for at in self._result(one, part)}
        if conflicts:
            return [], sorted(conflicts)

        piece_of = self._ray.remote(max_retries=5)(_cluster.piece_of)
        places, tasks = list(self._places.values()), []
        for host, key in hosts:
            at = min(range(len(self._actors)), key=places.count)
            places.append(at)
            pieces = [piece_of.remote(part, host) for part in parts]
            tasks.append((key, at, self._actors[at].build.remote(key, plan, host, 1, *pieces)))
        made = []
        for key, at, task in tasks:
            try:
                made.append(self._ray.get(task, timeout=self._timeout + PATIENCE))
                self._places[key] = at
            except self._ray.exceptions.RayTaskError as error:
                raise error.as_instanceof_cause() from None
            except self._ray.exceptions.RayError:
                # The actor or what it was given is lost, or it is late.
                made.append(False)
        return made, []

    def exchange(self, messages: Sequence[tuple[str, bytes]]) -> list[bytes | None]:
        """Ask hosts; None for those whose actor is gone or does not reply in time."""
        tasks = []
        for key, message in messages:
            at = self._places.get(key)
            tasks.append(None if at is None else self._actors[at].ask.remote(key, message))
        asked = [task for task in tasks if task is not None]
        if asked:
            self._ray.wait(asked, num_returns=len(asked), timeout=self._timeout)
        return [self._reply(key, task) for (key, _), task in zip(messages, tasks, strict=True)]

    def _reply(self, key: str, task: Any) -> bytes | None:
        reply: bytes | None = None
        if task is not None:
            try:
                reply = self._ray.get(task, timeout=0)
            except self._ray.exceptions.RayTaskError as error:
                raise error.as_instanceof_cause() from None
            except self._ray.exceptions.RayError:
                # The actor is gone, its reply is gone with it, or it is late.
                reply = None
        if reply is None:
            self._places.pop(key, None)
        return reply

    def drop(self, keys: Sequence[str]) -> None:
        """Forget hosts; their processes end with the run."""
        for key in keys:
            self._places.pop(key, None)

    def stop(self) -> None:
        """End the actors."""
        for actor in self._actors:
            self._ray.kill(actor)
