"""Samplers whose state is the study itself."""

from __future__ import annotations

import copy
import random
import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from threading import Lock
from typing import Any, NamedTuple

from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from swarmwood import _core
from swarmwood.optuna._domains import Domains, alone
from swarmwood.optuna._history import RECORD, History, is_given, record_of

#: Where the seed of a study is whose samplers were given none.
SEED = "swarmwood:seed"

#: Seconds that a trial waits for the configuration of one that began before it.
LONGEST_WAIT = 5.0

#: So many engines are kept between trials, the latest ones.
MOST_KEPT = 8


class _Decided(NamedTuple):
    """The values of a trial, before the objective has asked for them."""

    distributions: dict[str, BaseDistribution]
    params: dict[str, Any]


class _Common:
    """The parameters that all completed trials of a study have in common, with one distribution each.

    What Optuna's `IntersectionSearchSpace` finds, from trials that were read already.
    """

    def __init__(self, of: tuple[Any, ...]) -> None:
        self.of = of
        self._seen: set[int] = set()
        self._space: dict[str, BaseDistribution] | None = None

    def after(self, trials: Mapping[int, FrozenTrial]) -> dict[str, BaseDistribution]:
        """Return them, in the order of their names."""
        for number, trial in trials.items():
            if number in self._seen or trial.state != TrialState.COMPLETE:
                continue
            self._seen.add(number)
            theirs = trial.distributions
            common = theirs if self._space is None else self._space
            self._space = {
                name: common[name] for name in sorted(common) if theirs.get(name) == common[name]
            }
        return self._space or {}


class EngineSampler(BaseSampler):
    """Optuna's sampler by any search engine of swarmwood.

    Parameters
    ----------
    engine : str, default="tpe"
        One of `swarmwood.engines()`.
    seed : int or None, default=None
        The same seed gives the same trials again, as long as trials come one after the other. None draws a seed and
        keeps it in the study, where samplers of other processes find it.
    search_space : dict of str to distribution, default=None
        What is searched, if it is known; else what all trials so far have in common, as in Optuna's own samplers, so
        that the first trial of a study is random.

    Notes
    -----
    What the sampler knows is in the study's storage: a study goes on where it stopped, and processes that work on one
    study take turns in one search. No configuration is tried twice while there are others. A worker that dies leaves
    its trial open; the others go on. Parameters that only some trials have are sampled on their own, at random. A
    failed trial is told as one, a pruned one counts as no better than the median of those that were completed.
    Studies with several objectives are refused.
    """

    def __init__(
        self,
        engine: str = "tpe",
        *,
        seed: int | None = None,
        search_space: Mapping[str, BaseDistribution] | None = None,
    ) -> None:
        names = [name for name, _ in _core.engines()]
        if engine not in names:
            raise ValueError(f"engine: is {engine!r}, must be one of {', '.join(names)}")
        if seed is not None and not 0 <= seed < 2**64:
            raise ValueError(f"seed: is {seed!r}, must be a whole number from 0")
        self.engine = engine
        self.seed = seed
        self._given = dict(search_space) if search_space is not None else None
        self._lock = Lock()
        self._forget()

    def _forget(self) -> None:
        self._histories: dict[tuple[Any, ...], History] = {}
        self._common: _Common | None = None
        self._seeds: dict[Any, int] = {}
        self._decided: dict[int, _Decided] = {}

    def __getstate__(self) -> dict[str, Any]:
        # The rest is in the storage.
        return {"engine": self.engine, "seed": self.seed, "given": self._given}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.engine, self.seed, self._given = state["engine"], state["seed"], state["given"]
        self._lock = Lock()
        self._forget()

    # -- what Optuna asks for

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Choose the values of the trial and write them down, before the next trial begins."""
        self._refuse_many(study)
        trials = self._when_known(study, trial)
        with self._lock:
            # A trial that is tried again has its values already.
            distributions = {} if is_given(trial) or trial.params else self._inferred(study, trials)
            if distributions:
                self._decide(study, trial, trials, distributions)
            else:
                self._write(study, trial, {"alone": self._seed_of(study)})

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """Return the parameters whose values are chosen together."""
        decided = self._decided.get(trial._trial_id)
        if decided is not None:
            return dict(decided.distributions)
        if "alone" in (record_of(study._storage.get_trial(trial._trial_id)) or {}):
            return {}
        trials = {one.number: one for one in study.get_trials(deepcopy=False)}
        with self._lock:
            return self._inferred(study, trials)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return the values that were chosen for the trial."""
        self._refuse_many(study)
        if not search_space:
            return {}
        decided = self._decided.get(trial._trial_id)
        if decided is None or any(
            decided.distributions.get(name) != one for name, one in search_space.items()
        ):
            trials = self._when_known(study, trial)
            with self._lock:
                decided = self._decide(study, trial, trials, dict(search_space))
        return {name: decided.params[name] for name in search_space}

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """Return a random value that follows from the seed, the number of the trial and the name."""
        self._refuse_many(study)
        return alone(self._seed_of(study), trial.number, param_name, param_distribution)

    def after_trial(
        self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        """Forget what is in the storage from now on."""
        self._decided.pop(trial._trial_id, None)

    # -- how it is done

    def _refuse_many(self, study: Study) -> None:
        if len(study.directions) > 1:
            raise ValueError(
                f"{type(self).__name__} minimises or maximises one value, and the study has {len(study.directions)}; "
                "use another sampler, such as optuna.samplers.NSGAIISampler"
            )

    def _seed_of(self, study: Study) -> int:
        """Return the seed; if none was given, that of the study."""
        if self.seed is not None:
            return self.seed
        storage, at = study._storage, study._study_id
        of = _place(study)
        if of not in self._seeds:
            if SEED not in storage.get_study_system_attrs(at):
                storage.set_study_system_attr(at, SEED, random.SystemRandom().getrandbits(53))
            self._seeds[of] = storage.get_study_system_attrs(at)[SEED]
        return self._seeds[of]

    def _inferred(
        self, study: Study, trials: Mapping[int, FrozenTrial]
    ) -> dict[str, BaseDistribution]:
        """Return what is searched: what was given, or what all completed trials have in common."""
        space = self._given
        if space is None:
            of = _place(study)
            if self._common is None or self._common.of != of:
                self._common = _Common(of)
            space = self._common.after(trials)
        return {name: one for name, one in space.items() if not one.single()}

    def _when_known(self, study: Study, trial: FrozenTrial) -> dict[int, FrozenTrial]:
        """Return all trials, once those that began before this one have their configurations.

        Trials take turns in the order of their numbers. A worker that died in the meantime is not waited for long.
        """
        started = time.monotonic()
        pause = 0.002
        others: set[int] = set()
        while True:
            trials = {one.number: one for one in study.get_trials(deepcopy=False)}
            running = [
                one
                for one in trials.values()
                if one.state == TrialState.RUNNING and one.number < trial.number
            ]
            awaited = [one for one in running if one.number not in others and _is_beginning(one)]
            if not awaited or time.monotonic() - started > LONGEST_WAIT:
                return trials
            # Storages read attributes before parameters: only who has parameters and still no record a moment later is
            # known to be of another sampler.
            others.update(one.number for one in awaited if one.params)
            time.sleep(pause)
            pause = min(2 * pause, 0.1)

    def _decide(
        self,
        study: Study,
        trial: FrozenTrial,
        trials: dict[int, FrozenTrial],
        distributions: dict[str, BaseDistribution],
    ) -> _Decided:
        domains = Domains(distributions)
        maximize = study.direction == StudyDirection.MAXIMIZE
        seed = self._seed_of(study)
        # With Hyperband every bracket is a study of its own.
        bracket = getattr(study, "_bracket_id", None)
        of = (*_place(study), bracket, seed, domains.print, maximize)
        # Until the record is written, what is kept here would be ahead of the study.
        history = self._histories.pop(of, None) or History(self.engine, seed, domains, maximize)
        history.follow(trials)
        point, record = history.next(trials, trial.number)
        self._write(study, trial, record)
        self._histories[of] = history
        if len(self._histories) > MOST_KEPT:
            del self._histories[next(iter(self._histories))]
        decided = _Decided(copy.copy(distributions), domains.decode(point))
        self._decided[trial._trial_id] = decided
        return decided

    def _write(self, study: Study, trial: FrozenTrial, record: dict[str, Any]) -> None:
        study._storage.set_trial_system_attr(trial._trial_id, RECORD, record)


def _place(study: Study) -> tuple[Any, ...]:
    """Return what tells studies apart in this process."""
    return (study._storage, study._study_id, study.study_name)


def _is_beginning(trial: FrozenTrial) -> bool:
    """Say whether a running trial has begun just now and will have a configuration any moment."""
    if is_given(trial) or record_of(trial) is not None or trial.datetime_start is None:
        return False
    return datetime.now(trial.datetime_start.tzinfo) - trial.datetime_start < timedelta(
        seconds=LONGEST_WAIT
    )


class SchemataSampler(EngineSampler):
    """Optuna's sampler by the exploiter of schemata: children of what the best subsets of trials have in common.

    The engine `schemata` of swarmwood, after Makino and Kita 2024, without generations and without repeats; see
    `EngineSampler` for the parameters. Of the engines that learn it is the cheapest.

    Examples
    --------
    >>> import optuna
    >>> from swarmwood.optuna import SchemataSampler
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> study = optuna.create_study(sampler=SchemataSampler(seed=1))
    >>> study.optimize(lambda trial: abs(trial.suggest_int("x", -50, 50) - 7), n_trials=60)
    >>> study.best_value <= 2
    True
    """

    def __init__(
        self, *, seed: int | None = None, search_space: Mapping[str, BaseDistribution] | None = None
    ) -> None:
        super().__init__("schemata", seed=seed, search_space=search_space)


class SwarmSampler(EngineSampler):
    """Optuna's sampler by the discrete particle swarm: particles copy values from better ones.

    The engine `pso` of swarmwood, after Rao 2022, with twenty particles, a memo and some mutation; see
    `EngineSampler` for the parameters. It works in rounds of twenty: trials that come while the last of a round are
    still running are random.

    Examples
    --------
    >>> import optuna
    >>> from swarmwood.optuna import SwarmSampler
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> study = optuna.create_study(direction="maximize", sampler=SwarmSampler(seed=1))
    >>> study.optimize(lambda trial: -abs(trial.suggest_int("x", -50, 50) - 7), n_trials=80)
    >>> study.best_value >= -2
    True
    """

    def __init__(
        self, *, seed: int | None = None, search_space: Mapping[str, BaseDistribution] | None = None
    ) -> None:
        super().__init__("pso", seed=seed, search_space=search_space)
