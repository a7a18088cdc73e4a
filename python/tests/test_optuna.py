"""Optuna's own cases for samplers, and what ours promise beyond them."""

import importlib
import multiprocessing
import os
import pickle
import signal
import sqlite3
import sys
import time
import warnings

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    RelativeSamplerTestCase,
    SingleOnlySamplerTestCase,
)
from optuna.trial import TrialState

from swarmwood import engines
from swarmwood.optuna import EngineSampler, SchemataSampler, SwarmSampler, _samplers, load_study

optuna.logging.set_verbosity(optuna.logging.WARNING)

SAMPLERS = [SchemataSampler, SwarmSampler]


class TestSchemataSampler(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    @pytest.fixture
    def sampler(self):
        return SchemataSampler


class TestSwarmSampler(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    @pytest.fixture
    def sampler(self):
        return SwarmSampler


def planted(trial):
    """The least value, 0, is at x 7, y 0.1, kind "b", step 0.5."""
    x = trial.suggest_int("x", -20, 20)
    y = trial.suggest_float("y", 1e-3, 1.0, log=True)
    kind = trial.suggest_categorical("kind", ["a", "b", None])
    step = trial.suggest_float("step", 0.0, 1.0, step=0.25)
    return abs(x - 7) + 10 * abs(y - 0.1) + (0 if kind == "b" else 5) + 4 * abs(step - 0.5)


def params_of(study):
    return [trial.params for trial in study.trials]


def study_of(sampler, direction="minimize", **more):
    return optuna.create_study(sampler=sampler, direction=direction, **more)


@pytest.mark.parametrize("engine", list(engines()))
def test_every_engine_learns_and_the_same_seed_gives_the_same_trials(engine):
    study = study_of(EngineSampler(engine, seed=3))
    study.optimize(planted, n_trials=60)
    assert study.best_value < 9
    assert len({tuple(params.items()) for params in params_of(study)}) == 60
    again = study_of(EngineSampler(engine, seed=3), direction="maximize")
    again.optimize(lambda trial: -planted(trial), n_trials=60)
    assert params_of(again) == params_of(study)
    other = study_of(EngineSampler(engine, seed=4))
    other.optimize(planted, n_trials=12)
    assert params_of(other) != params_of(study)[:12]


@pytest.mark.parametrize(
    ("sampler", "kept"), [(SchemataSampler, "memory"), (SwarmSampler, "sqlite")]
)
def test_a_study_that_stops_goes_on_as_if_it_had_not(sampler, kept, tmp_path):
    whole = study_of(sampler(seed=1))
    whole.optimize(planted, n_trials=30)
    storage = (
        optuna.storages.InMemoryStorage() if kept == "memory" else sqlite_at(tmp_path / "study.db")
    )
    for part in (7, 10, 13):
        study = study_of(sampler(seed=1), storage=storage, study_name="s", load_if_exists=True)
        study.optimize(planted, n_trials=part)
    assert params_of(study) == params_of(whole)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_it_beats_random_search(sampler):
    def best(one):
        study = study_of(one)
        study.optimize(planted, n_trials=100)
        return study.best_value

    ours = sorted(best(sampler(seed=seed)) for seed in range(5))[2]
    theirs = sorted(best(optuna.samplers.RandomSampler(seed=seed)) for seed in range(5))[2]
    assert ours < theirs


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_all_configurations_come_once_before_any_comes_twice(sampler):
    def objective(trial):
        return trial.suggest_int("x", 0, 4) * trial.suggest_categorical("y", [1, 2, 3])

    study = study_of(sampler(seed=0))
    study.optimize(objective, n_trials=15)
    assert len({tuple(params.items()) for params in params_of(study)}) == 15
    study.optimize(objective, n_trials=5)
    assert len(study.trials) == 20


def test_trials_that_are_asked_together_differ_and_failures_are_answers():
    space = {"x": IntDistribution(0, 5), "y": CategoricalDistribution(["p", "q"])}
    study = study_of(SchemataSampler(seed=0, search_space=space))
    asked = [study.ask(space) for _ in range(12)]
    assert len({tuple(trial.params.items()) for trial in asked}) == 12
    for at, trial in enumerate(asked):
        study.tell(trial, state=TrialState.FAIL) if at % 2 else study.tell(trial, at)
    assert study.best_value == 0


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_swarm_outlives_workers_that_never_answer(sampler):
    space = {"x": IntDistribution(-20, 20), "y": IntDistribution(-20, 20)}
    study = study_of(sampler(seed=5, search_space=space))
    lost = study.ask(space)
    for _ in range(100):
        trial = study.ask(space)
        study.tell(trial, abs(trial.params["x"] - 3) + abs(trial.params["y"] + 8))
    assert study.best_value <= 4
    assert lost.params not in [trial.params for trial in study.trials[1:]]
    late = study.tell(lost, -1.0)  # the answer comes after all
    trial = study.ask(space)
    assert study.best_value == -1.0 and late.params != trial.params


def test_enqueued_added_and_pruned_trials_are_taken_in():
    study = study_of(SchemataSampler(seed=2))
    study.enqueue_trial({"x": 6, "y": 0.1, "kind": "b", "step": 0.5})
    study.enqueue_trial({"x": 7})
    study.optimize(planted, n_trials=2)
    assert study.trials[0].params["x"] == 6 and study.trials[0].value == 1.0
    assert study.trials[1].params["x"] == 7 and set(study.trials[1].params) == set(
        study.trials[0].params
    )
    study.add_trial(study.trials[0])

    def sometimes(trial):
        value = planted(trial)
        trial.report(value - 100, 0)
        if trial.number % 3 == 0:
            raise optuna.TrialPruned
        return value

    study.optimize(sometimes, n_trials=40)
    states = [trial.state for trial in study.trials]
    assert states.count(TrialState.PRUNED) == 14
    # Pruned trials look a hundred better than they are, and must not lead the search astray.
    assert study.best_value <= 1.0
    assert len({tuple(trial.params.items()) for trial in study.trials}) == len(study.trials) - 1


def test_threads_share_one_search(monkeypatch):
    monkeypatch.setattr(_samplers, "MAX_WAIT", 600.0)
    study = study_of(SwarmSampler(seed=0))
    study.optimize(planted, n_trials=60, n_jobs=4)
    assert (
        all(trial.state == TrialState.COMPLETE for trial in study.trials)
        and len(study.trials) == 60
    )
    assert len({tuple(params.items()) for params in params_of(study)}) == 60
    turns = sorted(
        trial.system_attrs["swarmwood:record"]["turn"]
        for trial in study.trials
        if "turn" in trial.system_attrs["swarmwood:record"]
    )
    assert turns == list(range(len(turns))) and len(turns) >= 50


def test_samplers_without_a_seed_find_that_of_the_study():
    storage = optuna.storages.InMemoryStorage()
    for _ in range(2):
        study = study_of(SwarmSampler(), storage=storage, study_name="s", load_if_exists=True)
        study.optimize(planted, n_trials=5)
    searches = {trial.system_attrs["swarmwood:record"].get("by") for trial in study.trials} - {None}
    assert len(searches) == 1
    other = study_of(SwarmSampler())
    other.optimize(planted, n_trials=5)
    assert params_of(other) != params_of(study)[:5]


def test_spaces_that_change_fall_back_on_what_is_common():
    def objective(trial):
        x = trial.suggest_int("x", 0, 1000)
        kind = trial.suggest_categorical("kind", ["a", "b"])
        more = (
            trial.suggest_float("deep", 0, 1)
            if kind == "a"
            else trial.suggest_int("wide", 1, 10**15, log=True) / 1e15
        )
        return abs(x - 300) + more

    study = study_of(SchemataSampler(seed=1))
    study.optimize(objective, n_trials=80)
    assert study.best_value < 30
    deep = [trial.params["deep"] for trial in study.trials if "deep" in trial.params]
    assert len(set(deep)) == len(deep) > 5
    again = study_of(SchemataSampler(seed=1))
    again.optimize(objective, n_trials=80)
    assert params_of(again) == params_of(study)


def test_hyperband_and_copies_and_faults():
    def objective(trial):
        for step in range(4):
            trial.report(planted(trial) + 4 - step, step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return planted(trial)

    study = study_of(SchemataSampler(seed=1), pruner=optuna.pruners.HyperbandPruner(max_resource=4))
    study.optimize(objective, n_trials=30)
    assert study.best_value < 15
    study.sampler = pickle.loads(pickle.dumps(study.sampler))
    study.optimize(objective, n_trials=5)
    assert str(study.sampler) == "SchemataSampler"
    with pytest.raises(ValueError, match="engine: is 'tep'"):
        EngineSampler("tep")
    with pytest.raises(ValueError, match="seed: is -1"):
        SchemataSampler(seed=-1)
    with pytest.raises(
        ValueError, match="SwarmSampler optimises one objective, and the study has 2"
    ):
        optuna.create_study(directions=["minimize"] * 2, sampler=SwarmSampler()).ask()


def test_a_trial_without_a_record_is_not_waited_for_long(monkeypatch):
    monkeypatch.setattr(_samplers, "MAX_WAIT", 0.05)
    space = {"x": FloatDistribution(0, 1)}
    study = study_of(SchemataSampler(seed=1, search_space=space))
    dead = study._storage.create_new_trial(
        study._study_id
    )  # its worker died before it chose a configuration
    for _ in range(5):
        study.tell(study.ask(space), 1.0)
    assert study._storage.get_trial(dead).state == TrialState.RUNNING and len(study.trials) == 6


class Hasty(sqlite3.Connection):
    """Does not wait for the disk: other processes see what a killed one wrote all the same."""

    def __init__(self, *words, **more):
        super().__init__(*words, **more)
        self.execute("PRAGMA synchronous=OFF")


def sqlite_at(path):
    connect = {"timeout": 60, "factory": Hasty}
    return optuna.storages.RDBStorage(f"sqlite:///{path}", engine_kwargs={"connect_args": connect})


def work(path, sampler, trials, stuck=None):
    """Evaluate trials of the study in another process; one with a number is never finished."""
    _samplers.MAX_WAIT = 600.0  # on a machine that is busy with other things nobody here is dead
    study = optuna.load_study(study_name="s", storage=sqlite_at(path), sampler=sampler(seed=9))

    def objective(trial):
        x, y = trial.suggest_int("x", 0, 5), trial.suggest_int("y", 0, 5)
        if trial.number == stuck:
            path.with_name("stuck").touch()
            time.sleep(600)
        return (x - 2) ** 2 + (y - 4) ** 2

    study.optimize(objective, n_trials=trials)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_processes_share_a_study_and_one_that_is_killed_harms_nobody(sampler, tmp_path):
    path = tmp_path / "study.db"
    optuna.create_study(study_name="s", storage=sqlite_at(path))
    fork = multiprocessing.get_context("fork")
    victim = fork.Process(target=work, args=(path, sampler, 9, 3))
    victim.start()
    while not path.with_name("stuck").exists():
        assert victim.is_alive()
        time.sleep(0.01)
    os.kill(victim.pid, signal.SIGKILL)
    victim.join()
    workers = [fork.Process(target=work, args=(path, sampler, 16)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in [victim, *workers]] == [-signal.SIGKILL, 0, 0]
    trials = optuna.load_study(study_name="s", storage=sqlite_at(path)).trials
    assert [trial.number for trial in trials] == list(range(36))
    states = [trial.state for trial in trials]
    assert states == [
        TrialState.RUNNING if number == 3 else TrialState.COMPLETE for number in range(36)
    ]
    # 36 configurations, 36 trials: every one was asked, and none twice.
    assert len({(trial.params["x"], trial.params["y"]) for trial in trials}) == 36
    assert all(
        trial.value == (trial.params["x"] - 2) ** 2 + (trial.params["y"] - 4) ** 2
        for trial in trials
        if trial.state == TrialState.COMPLETE
    )


JOURNAL = """\
{"swarmwood_study":1,"created_by":"swarmwood 0.1.0",\
"engine":"random","seed":3,"lag":1,"pieces":2,"race":true,\
"task":{"text":"t","fingerprint":"00"},"measure":{"name":"accuracy","from":1.0},\
"space":[{"name":"booster","type":"choice","values":["tree","linear"]},\
{"high":9,"low":1,"name":"depth","scale":"linear","type":"integer","when":{"booster":["tree"]}},\
{"high":1.0,"low":0.01,"name":"rate","scale":"log","type":"real"},\
{"name":"bins","type":"list","values":[16.0,64.0]}],\
"space_fingerprint":"FINGERPRINT"}
{"event":"ask","id":0,"point":{"bins":16,"booster":"tree","depth":4,"rate":0.5},"worker":0}
{"event":"piece","id":0,"piece":0,"loss":0.25,"rounds":null,"seconds":0.5}
{"event":"piece","id":0,"piece":1,"loss":0.75,"rounds":null,"seconds":0.5}
{"event":"tell","id":0,"loss":0.5,"seconds":1.0}
{"event":"ask","id":1,"point":{"bins":64,"booster":"linear","rate":0.25},"worker":0}
{"event":"tell","id":1,"failed":"no luck","seconds":1.0}
{"event":"ask","id":2,"point":{"bins":64,"booster":"linear","rate":0.125},"worker":0}
{"event":"piece","id":2,"piece":0,"loss":1.0,"rounds":null,"seconds":0.5}
{"event":"tell","id":2,"loss":0.875,"raced":true,"seconds":0.5}
{"event":"ask","id":3,"point":{"bins":64,"booster":"linear","rate":0.75},"worker":0}
"""


def test_studies_of_the_command_line_come_into_optuna(tmp_path):
    path = tmp_path / "study.jsonl"
    path.write_text(JOURNAL)
    with pytest.raises(ValueError, match="fingerprint"):
        load_study(path)
    path.write_text(JOURNAL.replace("FINGERPRINT", FINGERPRINT))
    study = load_study(path, storage=optuna.storages.InMemoryStorage(), study_name="wine")
    assert study.direction == optuna.study.StudyDirection.MAXIMIZE and study.best_value == 0.5
    assert study.best_params == {"bins": 16.0, "booster": "tree", "depth": 4, "rate": 0.5}
    assert [trial.state.name for trial in study.trials] == ["COMPLETE", "FAIL", "PRUNED"]
    assert study.trials[0].intermediate_values == {0: 0.75, 1: 0.25}
    assert study.trials[1].user_attrs["reason"] == "no luck" and study.trials[2].value == 0.125
    assert study.user_attrs["swarmwood_metric"] == "accuracy"
    study.sampler = SchemataSampler(seed=1)
    study.optimize(lambda trial: trial.suggest_float("rate", 0.01, 1.0, log=True), n_trials=5)
    assert len(study.trials) == 8
    with pytest.raises(FileNotFoundError):
        load_study(tmp_path / "none.jsonl")


#: The fingerprint of the space in the journal above.
FINGERPRINT = "a1ea125723dbae7a56ed835e98032f45"


def test_without_optuna_the_error_says_what_to_install(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("swarmwood.optuna")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ImportError, match=r"pip install swarmwood\[optuna\]"):
        importlib.import_module("swarmwood.optuna")


def test_nothing_warns():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        study = study_of(SchemataSampler(seed=1))
        study.optimize(planted, n_trials=5)


def test_a_trial_that_is_tried_again_keeps_its_values():
    study = study_of(SchemataSampler(seed=1))
    study.optimize(planted, n_trials=4)
    failed = study.ask()
    planted(failed)
    study.tell(failed, state=TrialState.FAIL)
    # As optuna.storages.RetryFailedTrialCallback does, the record of the first attempt included.
    first = study.trials[-1]
    study.add_trial(
        optuna.create_trial(
            state=TrialState.WAITING,
            params=first.params,
            distributions=first.distributions,
            system_attrs={"failed_trial": first.number, **first.system_attrs},
        )
    )
    study.optimize(planted, n_trials=6)
    again = study.trials[first.number + 1]
    assert again.params == first.params and again.state == TrialState.COMPLETE
    assert len({tuple(trial.params.items()) for trial in study.trials}) == len(study.trials) - 1


def test_a_study_that_was_deleted_is_forgotten(tmp_path):
    storage, sampler = sqlite_at(tmp_path / "study.db"), SwarmSampler(seed=1)
    for trials in (6, 3):
        study = study_of(sampler, storage=storage, study_name="s")
        study.optimize(planted, n_trials=trials)
        optuna.delete_study(study_name="s", storage=storage)
    fresh = study_of(SwarmSampler(seed=1))
    fresh.optimize(planted, n_trials=6)
    again = study_of(sampler, storage=storage, study_name="s")
    again.optimize(planted, n_trials=6)
    assert params_of(again) == params_of(fresh)
