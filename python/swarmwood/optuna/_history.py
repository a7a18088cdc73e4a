"""The state of an engine, reconstructed from the trials of a study.

Every trial that an engine proposed has a record in the storage of the study: which search proposed
it, its turn in that search, the configuration, and which results the engine had received since the
turn before. Any process can replay the records with its own engine, so that a study can be resumed
anywhere and several processes share the state of one engine. Trials of other samplers are adopted.
A process keeps its engine and continues from there as long as the records match.

An engine that works in generations may wait for results. Trials do not wait: they get a random
configuration instead, which the engine adopts. If a trial is overtaken by many others, its worker
is assumed to be dead and the trial is reported as failed; if its result arrives later, it is
adopted.
"""

from __future__ import annotations

import json
import math
from bisect import insort
from collections.abc import Iterable, Mapping
from itertools import count, takewhile
from typing import Any

from optuna.trial import FrozenTrial, TrialState

from swarmwood._space import Configuration
from swarmwood.optuna._domains import Domains, hashed_seed, independent_value

#: The system attribute of a trial with its record.
RECORD = "swarmwood:record"

#: The search ends after this number of consecutive repeated configurations.
MAX_REPEATS = 1000

Record = dict[str, Any]
Trials = Mapping[int, FrozenTrial]
Key = tuple[tuple[str, Any], ...]


def record_of(trial: FrozenTrial) -> Record | None:
    """Return the record of a trial."""
    return trial.system_attrs.get(RECORD)


def is_enqueued(trial: FrozenTrial) -> bool:
    """Whether the trial was enqueued with given values."""
    return "fixed_params" in trial.system_attrs


def key_of(point: Configuration) -> Key:
    """Return a hashable key of a configuration."""
    return tuple(sorted(point.items()))


class History:
    """One search: an engine, its seed, its space, and its trials."""

    def __init__(
        self,
        engine: str,
        options: dict[str, Any],
        seed: int,
        domains: Domains,
        maximize: bool,
    ) -> None:
        self.domains = domains
        self.by = f"{engine}/{seed}"
        if options:
            # Searches with other options have other records.
            self.by += "/" + json.dumps(options, sort_keys=True)
        self._name, self._options, self._seed = engine, options, seed
        self._maximize = maximize
        self._forget()
        self._start()

    def _forget(self) -> None:
        #: Identifies the first trial: another one belongs to another study of the same name.
        self._first: tuple[Any, ...] | None = None
        #: Finished trials whose records were processed, and the turns of those of this search.
        self._filed: set[int] = set()
        self._ended: dict[int, int] = {}

    def _start(self) -> None:
        self._engine = self.domains.engine(self._name, self._seed, self._options)
        #: The trials of the turns so far.
        self._turns: list[int] = []
        #: Running trials of this search: number in the study, number in the engine, configuration.
        self._open: dict[int, tuple[int, Configuration]] = {}
        self._told: set[int] = set()
        self._adopted: set[int] = set()
        #: Losses by configuration; None where a trial failed.
        self._losses: dict[Key, float | None] = {}
        #: Configurations that are being evaluated.
        self._running: dict[Key, int] = {}
        #: The losses of completed trials in ascending order.
        self._completed: list[float] = []

    # -- replay of records

    def follow(self, trials: Trials) -> None:
        """Replay all recorded turns."""
        first = next(((trial.number, trial.datetime_start) for trial in trials.values()), None)
        if first != self._first:
            self._forget()
            self._first = first
        order = self._order(trials)
        if order[: len(self._turns)] != self._turns:
            self._start()
        for number in order[len(self._turns) :]:
            record = record_of(trials[number]) or {}
            self._learn(trials, _listed(record["told"]), _listed(record["open"]), record["lost"])
            asked = self._ask()
            if asked is not None and asked[1] != record["point"]:
                # Another version of the engine, for example: continue with the actual trial.
                self._engine.tell([(asked[0], None)])
                asked = None
            self._begin(number, asked, record["point"])

    def _order(self, trials: Trials) -> list[int]:
        """Return the trials of this search in the order of their turns."""
        turns = dict(self._ended)
        for number, trial in trials.items():
            if number in self._filed:
                continue
            record = record_of(trial)
            own = record is not None and self._is_own(record, number)
            if record is not None and own:
                # Two trials share a turn only if one was assumed to be dead; the other is adopted.
                turns[record["turn"]] = min(number, turns.get(record["turn"], number))
            if trial.state.is_finished():
                # A finished trial does not change.
                self._filed.add(number)
                if record is not None and own:
                    self._ended[record["turn"]] = turns[record["turn"]]
        return [turns[turn] for turn in takewhile(turns.__contains__, count())]

    def _begin(
        self, number: int, asked: tuple[int, Configuration] | None, point: Configuration
    ) -> None:
        """Store the trial of a turn: one that the engine asked, or one that it adopts."""
        if asked is not None:
            self._open[number] = asked
        else:
            self._adopted.add(number)
            self._adopt(point, None, is_open=True)
        self._running[key_of(point)] = number
        self._turns.append(number)

    def _is_own(self, record: Record, number: int) -> bool:
        """Whether a record belongs to this search; copies under other numbers do not."""
        same = record.get("by") == self.by and record.get("space") == self.domains.fingerprint
        return same and record.get("number") == number

    def _learn(
        self, trials: Trials, told: Iterable[int], opened: Iterable[int], lost: Iterable[int]
    ) -> None:
        """Update the engine: finished trials, running ones of others, and dead workers."""
        for number in told:
            if number in trials and number not in self._told and trials[number].state.is_finished():
                self._told.add(number)
                self._take(trials[number])
        for number in opened:
            if number in trials and number not in self._adopted:
                self._adopted.add(number)
                point = self._point_ahead(trials[number])
                if point is not None:
                    self._adopt(point, None, is_open=True)
                    self._running[key_of(point)] = number
        for number in lost:
            if number in self._open:
                known_as, _ = self._open.pop(number)
                self._engine.tell([(known_as, None)])

    def _take(self, trial: FrozenTrial) -> None:
        """Process the result of a trial."""
        point = self.domains.encode(trial.params)
        loss = self._loss(trial)
        if trial.number in self._open:
            known_as, asked = self._open.pop(trial.number)
            if point == asked:
                self._engine.tell([(known_as, loss)])
            else:
                # The trial was evaluated with other values.
                self._engine.tell([(known_as, None)])
                self._adopt(point, loss)
        else:
            self._adopt(point, loss)
        self._running = {
            key: number for key, number in self._running.items() if number != trial.number
        }
        if point is not None:
            key = key_of(point)
            if self._losses.get(key) is None:
                self._losses[key] = loss

    def _adopt(
        self, point: Configuration | None, loss: float | None, is_open: bool = False
    ) -> None:
        if point is not None:
            self._engine.adopt(point, loss, is_open)

    def _loss(self, trial: FrozenTrial) -> float | None:
        """Return the loss of a finished trial; of a pruned one at least the median loss."""
        value = trial.value if trial.state in (TrialState.COMPLETE, TrialState.PRUNED) else None
        if value is None or not math.isfinite(value):
            return None
        loss = -value if self._maximize else value
        if trial.state == TrialState.COMPLETE:
            insort(self._completed, loss)
            return loss
        return max(loss, self._completed[len(self._completed) // 2]) if self._completed else loss

    def _point_ahead(self, trial: FrozenTrial) -> Configuration | None:
        """Return the configuration of a trial that has not ended, as far as it is known."""
        record = record_of(trial)
        if (
            record is not None
            and record.get("space") == self.domains.fingerprint
            and record.get("point") is not None
        ):
            point: Configuration = record["point"]
            return point
        values = {**trial.system_attrs.get("fixed_params", {}), **trial.params}
        if record is not None and record.get("alone") is not None:
            for name, distribution in self.domains.distributions.items():
                if name not in values:
                    values[name] = independent_value(
                        record["alone"], trial.number, name, distribution
                    )
        return self.domains.encode(values)

    # -- the next turn

    def next(self, trials: Trials, number: int) -> tuple[Configuration, Record]:
        """Return the configuration of a new trial and the record to keep of it."""
        told = [
            one
            for one, trial in trials.items()
            if one not in self._told and trial.state.is_finished()
        ]
        opened = [
            one
            for one, trial in trials.items()
            if one not in self._told
            and one not in self._open
            and one not in self._adopted
            and one != number
            and trial.state == TrialState.RUNNING
            and self._point_ahead(trial) is not None
        ]
        self._learn(trials, told, opened, [])
        asked = self._ask()
        lost = []
        if asked is None:
            lost = self._lost(trials)
            if lost:
                self._learn(trials, [], [], lost)
                asked = self._ask()
        point = asked[1] if asked is not None else self._anything(trials, number)
        turn = len(self._turns)
        self._begin(number, asked, point)
        record = {
            "by": self.by,
            "space": self.domains.fingerprint,
            "number": number,
            "turn": turn,
            "point": point,
        }
        return point, {**record, "told": _ranges(told), "open": _ranges(opened), "lost": lost}

    def _ask(self) -> tuple[int, Configuration] | None:
        """Ask for a new configuration; a known one is told its loss at once."""
        for _ in range(MAX_REPEATS):
            asked = self._engine.ask(1)
            if not asked:
                return None
            known_as, point = asked[0]
            key = key_of(point)
            if key in self._running:
                self._engine.tell([(known_as, None)])
            elif key in self._losses:
                self._engine.tell([(known_as, self._losses[key])])
            else:
                return known_as, point
        return None

    def _lost(self, trials: Trials) -> list[int]:
        """Return the running trials whose workers are assumed to be dead."""
        running = sum(trial.state == TrialState.RUNNING for trial in trials.values())
        overtaken = 3 * running + 2
        ended = sorted(number for number, trial in trials.items() if trial.state.is_finished())
        return [one for one in self._open if sum(number > one for number in ended) >= overtaken]

    def _anything(self, trials: Trials, number: int) -> Configuration:
        """Return a random configuration, a new one if there are any."""
        engine = self.domains.engine("random", hashed_seed(self._seed, number))
        for trial in trials.values():
            point = (
                self.domains.encode(trial.params)
                if trial.state.is_finished()
                else self._point_ahead(trial)
            )
            if point is not None and trial.number != number:
                engine.adopt(point, None, True)
        asked = engine.ask(1) or self.domains.engine("random", hashed_seed(self._seed, number)).ask(
            1
        )
        return asked[0][1]


def _ranges(numbers: Iterable[int]) -> list[list[int]]:
    """Return numbers as ranges, first and last, which are few."""
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ranges


def _listed(ranges: Iterable[Iterable[int]]) -> list[int]:
    return [number for first, last in ranges for number in range(first, last + 1)]
