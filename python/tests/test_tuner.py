"""Spaces in Python's manner, and the tuner on every engine."""

import doctest
import importlib
import json
import pickle

import numpy as np
import pytest
from scipy import stats
from sklearn.exceptions import NotFittedError

from swarmwood import (
    Choice,
    Integer,
    NothingToAsk,
    Ordered,
    Real,
    SwarmwoodError,
    Tuner,
    _core,
    engines,
)
from swarmwood._space import Space

ENGINES = list(engines())


def planted(params):
    """A loss with its least value, 0, at kind "b", depth 5, rate 0.1, size 64."""
    wrong = 0.0 if params["kind"] == "b" else 3.0
    return (
        wrong
        + abs(params.get("depth", 12) - 5)
        + 4 * abs(np.log10(params["rate"]) + 1)
        + abs(np.log2(params["size"]) - 6)
    )


SPACE = {
    "kind": ["a", "b", None],
    "depth": Integer(1, 12, when={"kind": ["a", "b"]}),
    "rate": (0.001, 1.0, "log"),
    "size": [64, 16, 256],
}


def run(tuner, trials, batch=1):
    for _ in range(trials // batch):
        for trial in tuner.ask(batch):
            tuner.tell(trial, planted(trial.params))
    return tuner


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_finds_a_good_place_and_says_the_same_again(engine):
    tuner = run(Tuner(SPACE, engine=engine, seed=3), 60)
    assert 30 < len(tuner.trials) <= 60
    for params, value in tuner.trials:
        assert planted(params) == value
        assert ("depth" in params) == (params["kind"] is not None)
        assert list(params) == [name for name in SPACE if name in params]
        assert type(params["size"]) is int and 0.001 <= params["rate"] <= 1.0
    params, value = tuner.best_
    assert value == min(value for _, value in tuner.trials) and planted(params) == value
    assert value < 7
    again = run(Tuner(SPACE, engine=engine, seed=3), 60)
    assert again.trials == tuner.trials
    assert run(Tuner(SPACE, engine=engine, seed=4), 60).trials != tuner.trials


def test_the_default_engine_is_that_of_the_core():
    assert Tuner({"x": (0, 1)}).engine == _core.default_engine()
    assert engines().keys() == dict(_core.engines()).keys() and len(engines()) == 15


@pytest.mark.parametrize("engine", ENGINES)
def test_saved_pickled_and_uninterrupted_are_the_same(engine, tmp_path):
    whole = run(Tuner(SPACE, engine=engine, seed=1), 40, batch=4)
    first = run(Tuner(SPACE, engine=engine, seed=1), 20, batch=4)
    first.save(tmp_path / "search.json")
    assert [path.name for path in tmp_path.iterdir()] == ["search.json"]
    for tuner in (Tuner.load(tmp_path / "search.json"), pickle.loads(pickle.dumps(first))):
        assert tuner.trials == first.trials and tuner.best_ == first.best_
        assert run(tuner, 20, batch=4).trials == whole.trials


def test_open_trials_outlive_a_file(tmp_path):
    tuner = Tuner({"x": (0, 100), "f": Choice([min, max])}, engine="tpe", seed=1, maximize=True)
    told, left = tuner.ask(2)
    tuner.tell(told, 5)
    tuner.add({"x": 50, "f": max}, 7.5)
    tuner.save(tmp_path / "search.json")
    with pytest.raises(ValueError, match="pass space="):
        Tuner.load(tmp_path / "search.json")
    with pytest.raises(ValueError, match="another search space"):
        Tuner.load(tmp_path / "search.json", {"x": (0, 99), "f": Choice([min, max])})
    again = Tuner.load(tmp_path / "search.json", {"x": (0, 100), "f": Choice([min, max])})
    assert again.open_trials == [left] and again.maximize
    again.fail(left)
    assert again.trials == [(told.params, 5.0), (left.params, None), ({"x": 50, "f": max}, 7.5)]
    assert again.best_ == ({"x": 50, "f": max}, 7.5)
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(ValueError, match="not a file of a Tuner"):
        Tuner.load(tmp_path / "other.json")
    document = json.loads((tmp_path / "search.json").read_text())
    (tmp_path / "other.json").write_text(json.dumps({**document, "swarmwood_tuner": 2}))
    with pytest.raises(ValueError, match="newer swarmwood"):
        Tuner.load(tmp_path / "other.json")
    (tmp_path / "other.json").write_text(json.dumps({**document, "snapshot": "AAAA"}))
    with pytest.raises(ValueError, match="damaged"):
        Tuner.load(tmp_path / "other.json", {"x": (0, 100), "f": Choice([min, max])})


def test_answers_between_two_asks_count_alike_in_any_order():
    forward, backward = (Tuner(SPACE, engine="schemata", seed=2) for _ in range(2))
    for _ in range(6):
        for trial in forward.ask(5):
            forward.tell(trial, planted(trial.params))
        for trial in reversed(backward.ask(5)):
            backward.tell(trial.number, planted(trial.params))
    assert forward.trials == backward.trials


def test_failures_are_answers_and_nothing_is_best_before_the_first_value():
    tuner = Tuner({"x": (0.0, 1.0)}, engine="schemata")
    with pytest.raises(NotFittedError, match="no trial has a value"):
        _ = tuner.best_
    first, second, third = tuner.ask(3)
    tuner.fail(first)
    tuner.tell(second, float("nan"))
    with pytest.raises(NotFittedError):
        _ = tuner.best_
    tuner.tell(third, np.float32(2.5))
    assert tuner.best_ == (third.params, 2.5)
    assert [value for _, value in tuner.trials] == [None, None, 2.5]
    for number, words in ((third, "already told"), (99, "was not asked")):
        with pytest.raises(ValueError, match=words):
            tuner.tell(number, 1.0)
    with pytest.raises(ValueError, match="n: is 0"):
        tuner.ask(0)


def test_asking_ends_with_the_space_and_waits_for_rounds():
    tuner = Tuner({"x": (1, 3)}, engine="random")
    assert {tuner.ask().params["x"] for _ in range(3)} == {1, 2, 3}
    assert tuner.ask(5) == []
    with pytest.raises(NothingToAsk, match="3 open trials"):
        tuner.ask()
    for trial in tuner.open_trials:
        tuner.tell(trial, 1)
    with pytest.raises(NothingToAsk, match="the search is over"):
        tuner.ask()


def test_what_is_added_is_not_asked_again():
    tuner = Tuner({"x": [1, 2, 3], "y": ["p", "q"]}, engine="schemata", maximize=True)
    tuner.add({"x": 2.0, "y": "q"}, 9)
    asked = [tuner.ask().params for _ in range(5)]
    assert {"x": 2, "y": "q"} not in asked and tuner.best_ == ({"x": 2, "y": "q"}, 9.0)
    for params, words in (
        ({"x": 4, "y": "q"}, "parameter 'x': is 4"),
        ({"z": 4}, "parameter 'z': is not in"),
        ({"x": 1}, "is not in the space"),
    ):
        with pytest.raises(ValueError, match=words):
            tuner.add(params, 1)
    with pytest.raises(ValueError, match="parameter 'x': is text"):
        Tuner({"x": (0, 1)}).add({"x": "text"}, 1)


def test_plain_entries_mean_what_they_look_like():
    parameters = Space(
        {
            "a": (1, 9),
            "b": (1, 9.0),
            "c": (1e-3, 1, "log"),
            "d": [8, 2, 4],
            "e": ["x", 2],
            "f": [True, False],
            "g": np.array([3, 1]),
            "h": range(3),
            "i": stats.randint(2, 6),
            "j": stats.uniform(1, 2),
            "k": stats.loguniform(1e-2, 1e2),
            "l": Ordered(["small", "large"]),
        }
    ).parameters
    assert parameters["a"] == Integer(1, 9) and parameters["b"] == Real(1.0, 9.0)
    assert parameters["c"] == Real(1e-3, 1.0, log=True)
    assert parameters["d"] == Ordered([2, 4, 8]) and parameters["e"] == Choice(["x", 2])
    assert parameters["f"] == Choice([True, False]) and parameters["g"] == Ordered([1, 3])
    assert parameters["h"] == Ordered([0, 1, 2]) and parameters["i"] == Integer(2, 5)
    assert parameters["j"] == Real(1.0, 3.0) and parameters["k"].log
    assert (parameters["k"].low, parameters["k"].high) == pytest.approx((0.01, 100))


@pytest.mark.parametrize(
    ("space", "words"),
    [
        ({}, "at least one entry"),
        ([], "must be a dictionary"),
        ({"x": 5}, r"parameter 'x': is 5, must be \(low, high\)"),
        ({"x": (3, 1)}, "parameter 'x': low bound 3 lies above high bound 1"),
        ({"x": (0.0, 1.0, "log")}, "parameter 'x': a logarithmic scale needs a low bound above 0"),
        ({"x": (0, 1, "lag")}, "parameter 'x': has 'lag' as its third entry"),
        ({"x": (0, float("inf"))}, "parameter 'x': has the bound inf"),
        ({"x": Integer(0, 1.5)}, "parameter 'x': has the bounds 0 and 1.5"),
        ({"x": Integer(0, 2**50)}, "parameter 'x': bounds 0 and 1125899906842624 must lie within"),
        ({"x": []}, "parameter 'x': has no values"),
        ({"x": [1, 1.0]}, "parameter 'x': has the value 1.0 twice"),
        ({"x": Choice("text")}, "parameter 'x': has the values 'text'"),
        ({"x": [1, float("nan")]}, "parameter 'x': has the value nan"),
        ({"x": stats.norm(0, 1)}, "parameter 'x': is the distribution 'norm'"),
        ({"x": stats.loguniform(1, 2, loc=3)}, "parameter 'x': is the distribution"),
        ({3: (0, 1)}, "parameter 3: names must be strings"),
        ({"x": Real(0, 1, when={"y": 1})}, "parameter 'x': depends on 'y', which is no parameter"),
        (
            {"x": Real(0, 1, when={"y": 1}), "y": (0, 1)},
            "parameter 'x': depends on 'y', which is no choice",
        ),
        (
            {"x": Real(0, 1, when={"y": 1}), "y": ["a", "b"]},
            "parameter 'x': depends on 1 of 'y', which has only 'a', 'b'",
        ),
        ({"x": Choice([1], when={"x": 1})}, "parameter 'x', key 'when': depends on itself"),
        (
            {"x": Real(0, 1, when={"y": 1, "z": 2}), "y": Choice([1]), "z": Choice([2])},
            "parameter 'x': has the condition",
        ),
    ],
)
def test_bad_spaces_are_refused_by_name(space, words):
    with pytest.raises(ValueError, match=words):
        Tuner(space)


def test_all_faults_are_told_at_once_and_engines_and_seeds_are_checked():
    with pytest.raises(ValueError) as told:
        Tuner({"x": 5, "y": [], "z": (0, 1)})
    assert str(told.value).count("parameter") == 2
    with pytest.raises(ValueError, match="engine: is 'forrest', perhaps forest"):
        Tuner({"x": (0, 1)}, engine="forrest")
    for seed in (-1, 2**64, 1.5):
        with pytest.raises(ValueError, match="seed: is"):
            Tuner({"x": (0, 1)}, seed=seed)


def test_the_core_refuses_what_is_not_of_its_space():
    space = json.dumps({"x": {"type": "integer", "low": 0, "high": 3}})
    engine = _core.Engine(space, "random", 1)
    assert engine.size == 4 and engine.name == "random" and engine.best() is None
    for configuration in ({"x": 9}, {"x": "a"}, {"y": 1}, {}, {"x": 1, "y": 1}):
        with pytest.raises(ValueError):
            engine.adopt(configuration, 1.0)
    engine.adopt({"x": 2}, 0.5)
    assert engine.best() == (None, 0.5, {"x": 2})
    engine.tell([(77, 1.0)])  # unknown trials are ignored
    with pytest.raises(ValueError, match="damaged"):
        _core.Engine.resume(space, "random", b"")
    assert issubclass(SwarmwoodError, RuntimeError)


@pytest.mark.parametrize(
    "module",
    ["swarmwood._space", "swarmwood._tuner", "swarmwood._search_cv", "swarmwood.optuna._samplers"],
)
def test_examples_of_docstrings_run(module):
    failed, tried = doctest.testmod(importlib.import_module(module))
    assert not failed and tried


def test_a_panic_of_an_engine_is_an_exception_and_the_engine_says_that_it_is_broken():
    steps = {
        "ask": lambda tuner, trial: tuner.ask(),
        "tell": lambda tuner, trial: tuner.tell(trial, 1.0),
        "add_trial": lambda tuner, trial: tuner.add(trial.params, 1.0),
        "best": lambda tuner, trial: tuner.best_,
        "snapshot": lambda tuner, trial: pickle.dumps(tuner),
    }
    for name, step in steps.items():
        tuner = Tuner(SPACE, engine="random", seed=1)
        trial = tuner.ask()
        _core.inject_panic(tuner._engine)
        with pytest.raises(SwarmwoodError, match=f"internal error.*injected into {name}"):
            step(tuner, trial)
        with pytest.raises(SwarmwoodError, match="failed before and cannot continue"):
            tuner.ask()
