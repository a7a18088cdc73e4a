"""Options of engines: what reaches them, what is refused, what files and studies keep."""

import json
import pickle

import optuna
import pytest
from sklearn.base import clone
from sklearn.datasets import make_regression
from sklearn.linear_model import Ridge

from swarmwood import ParameterError, SchemataSearchCV, Tuner, _core, engine_options, engines
from swarmwood.optuna import EngineSampler, SchemataSampler, SwarmSampler

SPACE = {"a": (0, 99), "b": (0.01, 1.0, "log"), "c": ["x", "y", "z"]}
RANK = {"mutation": "rank", "rate": 0.9, "population": 6}


def _points(tuner, count):
    points = []
    for _ in range(count):
        trial = tuner.ask()
        points.append(trial.params)
        tuner.tell(trial, abs(trial.params["a"] - 40) + trial.params["b"])
    return points


def test_options_reach_the_engine_and_defaults_change_nothing():
    plain = _points(Tuner(SPACE, engine="sse", seed=3), 30)
    same = {"mutation": "normal", "rate": 0.15, "population": 20, "generations": None}
    assert _points(Tuner(SPACE, engine="sse", engine_options=same, seed=3), 30) == plain
    ranked = Tuner(SPACE, engine="sse", engine_options=RANK, seed=3)
    assert ranked.engine_options == RANK
    assert _points(ranked, 30) != plain
    normal = Tuner(SPACE, engine="sse", engine_options={**RANK, "mutation": "normal"}, seed=3)
    assert _points(normal, 30) != _points(
        Tuner(SPACE, engine="sse", engine_options=RANK, seed=3), 30
    )


def test_every_engine_lists_its_options_and_takes_its_defaults():
    for engine in engines():
        options = engine_options(engine)
        for option in options.values():
            assert option["type"] in {"integer", "real", "choice", "flag"} and option["help"]
        defaults = {
            name: option["default"]
            for name, option in options.items()
            if option["only_with"] is None
        }
        assert Tuner(SPACE, engine=engine, engine_options=defaults).engine_options == {}
    assert engine_options("random") == {}
    with pytest.raises(ParameterError, match="engine: is 'sze', perhaps sse"):
        engine_options("sze")


def test_all_wrong_options_are_reported_together():
    wrong = {"mutatoin": "rank", "rate": 7, "sigma": 0.3, "population": 2.5, "mutation": True}
    with pytest.raises(ParameterError) as caught:
        Tuner(SPACE, engine="sse", engine_options=wrong)
    lines = str(caught.value).splitlines()
    assert len(lines) == 5 and all(line.startswith("engine_options: ") for line in lines)
    for words in (
        "did you mean 'mutation'?",
        "'rate' is 7, must be a number from 0 to 1",
        "'sigma' belongs to engine 'cmaes'",
        "'population' is 2.5",
        "'mutation' is true, must be normal or rank",
    ):
        assert words in str(caught.value)
    assert caught.value.parameter == "engine_options" and len(caught.value.violations) == 5
    with pytest.raises(ParameterError, match="must be a dict"):
        Tuner(SPACE, engine_options="mutation=rank")


def test_files_and_pickles_keep_the_options(tmp_path):
    whole = _points(Tuner(SPACE, engine="sse", engine_options=RANK, seed=1), 24)
    tuner = Tuner(SPACE, engine="sse", engine_options=RANK, seed=1)
    assert _points(tuner, 9) == whole[:9]
    tuner.save(tmp_path / "tuner.json")
    for copy in (Tuner.load(tmp_path / "tuner.json"), pickle.loads(pickle.dumps(tuner))):
        assert copy.engine_options == RANK
        assert _points(copy, 15) == whole[9:]


def test_an_older_file_of_the_discrete_swarm_is_read(tmp_path):
    tuner = Tuner(SPACE, engine="pso-discrete", seed=1)
    _points(tuner, 7)
    tuner.save(tmp_path / "new.json")
    document = json.loads((tmp_path / "new.json").read_text())
    document["engine"] = "pso"
    del document["engine_options"]
    (tmp_path / "old.json").write_text(json.dumps(document))
    old = Tuner.load(tmp_path / "old.json")
    assert old.engine == "pso-discrete" and old.engine_options == {}
    assert _points(old, 30) == _points(tuner, 30)


def test_search_cv_takes_options():
    features, target = make_regression(60, 3, noise=5.0, random_state=0)
    search = SchemataSearchCV(
        Ridge(),
        {"alpha": (0.001, 100.0, "log")},
        n_iter=8,
        cv=2,
        engine="sse",
        engine_options={"population": 3, "mutation": "rank"},
    )
    assert clone(search).get_params()["engine_options"] == {"population": 3, "mutation": "rank"}
    assert len(search.fit(features, target).cv_results_["params"]) == 8
    search.set_params(engine_options={"population": 0})
    with pytest.raises(ParameterError, match="'population' is 0"):
        search.fit(features, target)


def test_samplers_of_optuna_take_options_and_copies_keep_them():
    optuna.logging.set_verbosity(optuna.logging.WARNING)

    def trials(sampler):
        study = optuna.create_study(sampler=sampler)
        study.optimize(lambda trial: abs(trial.suggest_int("x", 0, 99) - 40), n_trials=25)
        return [trial.params["x"] for trial in study.trials]

    plain = trials(EngineSampler("sse", seed=2))
    ranked = EngineSampler("sse", engine_options=RANK, seed=2)
    copied = pickle.loads(pickle.dumps(ranked))
    assert copied.engine_options == RANK
    assert trials(ranked) == trials(copied) != plain
    assert trials(SwarmSampler(engine_options={"population": 5}, seed=2))
    assert trials(SchemataSampler(engine_options={"smoothing": False}, seed=2))
    with pytest.raises(ParameterError, match="belongs to engine"):
        EngineSampler("random", engine_options={"multivariate": True})


def test_searches_with_other_options_do_not_share_records():
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=EngineSampler("sse", seed=2))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=12)
    study.sampler = EngineSampler("sse", engine_options=RANK, seed=2)
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=12)
    assert len(study.trials) == 24


def test_the_core_checks_options():
    assert json.loads(_core.check_engine_options("sse", {"rate": 0.2, "population": 20})) == {
        "rate": 0.2
    }
