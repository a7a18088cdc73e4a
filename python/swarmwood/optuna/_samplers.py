"""Samplers whose state is in the storage of the study."""

from __future__ import annotations

import copy
import json
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
from swarmwood._errors import parameter_error
from swarmwood._space import options_dict
from swarmwood.optuna._domains import Domains, independent_value
from swarmwood.optuna._history import RECORD, History, is_enqueued, record_of

#: The system attribute of a study with its seed, if the samplers have none.
SEED = "swarmwood:seed"

#: Seconds that a trial waits for the configurations of earlier ones.
MAX_WAIT = 5.0

#: Maximum number of engines that are kept between trials.
MAX_ENGINES = 8


class _TrialPlan(NamedTuple):
    """The values of a trial, before the objective suggests them."""

    distributions: dict[str, BaseDistribution]
    params: dict[str, Any]


class _CommonSpace:
    """The parameters and distributions that all completed trials of a study have in common.

    The same as Optuna's `IntersectionSearchSpace`, from trials that were already read.
    """

    def __init__(self, of: tuple[Any, ...]) -> None:
        self.of = of
        self._seen: set[int] = set()
        self._space: dict[str, BaseDistribution] | None = None

    def after(self, trials: Mapping[int, FrozenTrial]) -> dict[str, BaseDistribution]:
        """Return the parameters by name."""
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
    """Sampler for Optuna by any search engine of swarmwood.

    Parameters
    ----------
    engine : str, default="tpe"
        One of `swarmwood.engines()`.
    engine_options : dict, default=None
        Options of the engine by name, such as `{"mutation": "rank", "rate": 0.2}` of `sse`; see
        `swarmwood.engine_options`. None is the defaults.
    seed : int or None, default=None
        Random seed; sequential trials are reproducible. None draws a seed and stores it in the
        study, where samplers of other processes find it.
    search_space : dict of str to distribution, default=None
        The search space. None is the parameters that all completed trials have in common, as in
        Optuna's samplers, so that the first trial of a study is random.

    Notes
    -----
    The state of the sampler is in the storage of the study: a study can be resumed, and processes
    that work on one study share one search. No configuration is evaluated twice while there are
    others. A worker that dies does not block the others. Parameters that only some trials have are
    sampled independently at random. The loss of a pruned trial is at least the median of the
    completed ones. Studies with several objectives are not supported.
    """

    def __init__(
        self,
        engine: str = "tpe",
        *,
        engine_options: Mapping[str, Any] | None = None,
        seed: int | None = None,
        search_space: Mapping[str, BaseDistribution] | None = None,
    ) -> None:
        names = [name for name, _ in _core.engines()]
        if engine not in names:
            raise parameter_error("engine", f"is {engine!r}, must be one of {', '.join(names)}")
        if seed is not None and not 0 <= seed < 2**64:
            raise parameter_error("seed", f"is {seed!r}, must be a whole number from 0")
        self.engine = engine
        checked = _core.check_engine_options(engine, options_dict(engine_options))
        self.engine_options: dict[str, Any] = json.loads(checked)
        self.seed = seed
        self._given = dict(search_space) if search_space is not None else None
        self._lock = Lock()
        self._forget()

    def _forget(self) -> None:
        self._histories: dict[tuple[Any, ...], History] = {}
        self._common: _CommonSpace | None = None
        self._seeds: dict[Any, int] = {}
        self._decided: dict[int, _TrialPlan] = {}

    def __getstate__(self) -> dict[str, Any]:
        # The rest of the state is in the storage.
        return {
            "engine": self.engine,
            "engine_options": self.engine_options,
            "seed": self.seed,
            "given": self._given,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.engine, self.engine_options = state["engine"], state["engine_options"]
        self.seed, self._given = state["seed"], state["given"]
        self._lock = Lock()
        self._forget()

    # -- interface of Optuna

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Choose the values of the trial and store them before the next trial begins."""
        self._check_single_objective(study)
        trials = self._trials_when_configured(study, trial)
        with self._lock:
            # A retried trial has its values already.
            distributions = (
                {} if is_enqueued(trial) or trial.params else self._inferred(study, trials)
            )
            if distributions:
                self._decide(study, trial, trials, distributions)
            else:
                self._write(study, trial, {"alone": self._seed_of(study)})

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """Return the parameters whose values are chosen jointly."""
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
        """Return the values of the trial."""
        self._check_single_objective(study)
        if not search_space:
            return {}
        decided = self._decided.get(trial._trial_id)
        if decided is None or any(
            decided.distributions.get(name) != one for name, one in search_space.items()
        ):
            trials = self._trials_when_configured(study, trial)
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
        """Return a random value from the seed, the number of the trial and the name."""
        self._check_single_objective(study)
        return independent_value(self._seed_of(study), trial.number, param_name, param_distribution)

    def after_trial(
        self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        """Discard the values, which are in the storage now."""
        self._decided.pop(trial._trial_id, None)

    # -- implementation

    def _check_single_objective(self, study: Study) -> None:
        if len(study.directions) > 1:
            raise ValueError(
                f"{type(self).__name__} optimises one objective, and the study has "
                f"{len(study.directions)}; use another sampler, "
                "such as optuna.samplers.NSGAIISampler"
            )

    def _seed_of(self, study: Study) -> int:
        """Return the seed of the sampler, or else of the study."""
        if self.seed is not None:
            return self.seed
        storage, at = study._storage, study._study_id
        of = _study_key(study)
        if of not in self._seeds:
            if SEED not in storage.get_study_system_attrs(at):
                storage.set_study_system_attr(at, SEED, random.SystemRandom().getrandbits(53))
            self._seeds[of] = storage.get_study_system_attrs(at)[SEED]
        return self._seeds[of]

    def _inferred(
        self, study: Study, trials: Mapping[int, FrozenTrial]
    ) -> dict[str, BaseDistribution]:
        """Return the search space: the given one, or that of all completed trials."""
        space = self._given
        if space is None:
            of = _study_key(study)
            if self._common is None or self._common.of != of:
                self._common = _CommonSpace(of)
            space = self._common.after(trials)
        return {name: one for name, one in space.items() if not one.single()}

    def _trials_when_configured(self, study: Study, trial: FrozenTrial) -> dict[int, FrozenTrial]:
        """Return all trials, once the earlier ones have their configurations.

        Trials take turns in the order of their numbers. The time to wait for dead workers is
        limited.
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
            if not awaited or time.monotonic() - started > MAX_WAIT:
                return trials
            # Storages read attributes before parameters: a trial that has parameters and still no
            # record a moment later belongs to another sampler.
            others.update(one.number for one in awaited if one.params)
            time.sleep(pause)
            pause = min(2 * pause, 0.1)

    def _decide(
        self,
        study: Study,
        trial: FrozenTrial,
        trials: dict[int, FrozenTrial],
        distributions: dict[str, BaseDistribution],
    ) -> _TrialPlan:
        domains = Domains(distributions)
        maximize = study.direction == StudyDirection.MAXIMIZE
        seed = self._seed_of(study)
        # With Hyperband every bracket is a separate study.
        bracket = getattr(study, "_bracket_id", None)
        of = (*_study_key(study), bracket, seed, domains.fingerprint, maximize)
        # Until the record is written, the engine is ahead of the study.
        history = self._histories.pop(of, None) or History(
            self.engine, self.engine_options, seed, domains, maximize
        )
        history.follow(trials)
        point, record = history.next(trials, trial.number)
        self._write(study, trial, record)
        self._histories[of] = history
        if len(self._histories) > MAX_ENGINES:
            del self._histories[next(iter(self._histories))]
        decided = _TrialPlan(copy.copy(distributions), domains.decode(point))
        self._decided[trial._trial_id] = decided
        return decided

    def _write(self, study: Study, trial: FrozenTrial, record: dict[str, Any]) -> None:
        study._storage.set_trial_system_attr(trial._trial_id, RECORD, record)


def _study_key(study: Study) -> tuple[Any, ...]:
    """Return what identifies a study in this process."""
    return (study._storage, study._study_id, study.study_name)


def _is_beginning(trial: FrozenTrial) -> bool:
    """Whether a running trial has just begun and will soon have a configuration."""
    if is_enqueued(trial) or record_of(trial) is not None or trial.datetime_start is None:
        return False
    return datetime.now(trial.datetime_start.tzinfo) - trial.datetime_start < timedelta(
        seconds=MAX_WAIT
    )


class SchemataSampler(EngineSampler):
    """Sampler for Optuna by schema exploitation: recombines common values of the best trials.

    The engine `schemata` of swarmwood, after Makino and Kita 2024, without generations and without
    repetitions; see `EngineSampler` for the parameters. It is the cheapest adaptive engine.

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
        self,
        *,
        engine_options: Mapping[str, Any] | None = None,
        seed: int | None = None,
        search_space: Mapping[str, BaseDistribution] | None = None,
    ) -> None:
        super().__init__(
            "schemata", engine_options=engine_options, seed=seed, search_space=search_space
        )


class SwarmSampler(EngineSampler):
    """Sampler for Optuna by the discrete particle swarm: particles copy values of better ones.

    The engine `pso-discrete` of swarmwood, after Rao 2022, with twenty particles, a cache and
    mutation; see `EngineSampler` for the parameters. It works in generations of twenty: trials that
    start while the last ones of a generation are running are random.

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
        self,
        *,
        engine_options: Mapping[str, Any] | None = None,
        seed: int | None = None,
        search_space: Mapping[str, BaseDistribution] | None = None,
    ) -> None:
        super().__init__(
            "pso-discrete", engine_options=engine_options, seed=seed, search_space=search_space
        )
