"""Attributes of estimators, validation rows, parameters and files."""

import ast
import json
import pickle
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import CLASSIFIERS, METHODS, is_classifier, name_of
from sklearn.datasets import load_iris

import swarmwood
from swarmwood import (
    GreedyBoostClassifier,
    GreedyBoostRegressor,
    SwarmBoostClassifier,
    SwarmBoostRegressor,
    SwarmTreeClassifier,
    SwarmTreeRegressor,
    TreeSumClassifier,
    TreeSumRegressor,
    _core,
    _estimator,
    _generate,
)


def test_the_estimators_are_those_of_the_parameter_table():
    file = Path(swarmwood.__file__).with_name("_estimators.py")
    assert file.read_text(encoding="utf-8") == _generate.source(), (
        "run python -m swarmwood._generate"
    )


def test_the_stubs_match_the_compiled_module():
    stub = ast.parse(Path(swarmwood.__file__).with_name("_core.pyi").read_text(encoding="utf-8"))
    for node in stub.body:
        if isinstance(node, ast.FunctionDef):
            assert callable(getattr(_core, node.name))
        elif isinstance(node, ast.ClassDef):
            declared = {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
            members = vars(getattr(_core, node.name))
            real = {name for name in members if not name.startswith("_") or name == "__call__"}
            assert {name for name in declared if name != "__init__"} == real, node.name
    names = {node.name for node in stub.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    assert {name for name in dir(_core) if not name.startswith("_")} == names


def test_every_parameter_of_the_table_is_reachable():
    generated = {
        name
        for family in _generate.DESCRIPTIONS
        for task in ("Classifier", "Regressor")
        for name, *_ in _generate.parameters_of(family, task)
    }
    assert {entry["python_name"] for entry in _core.parameters()} <= generated


@pytest.mark.parametrize("case", METHODS, ids=name_of)
def test_fits_a_step_function(case, steps):
    estimator, parameters = case
    X, numbers, classes = steps
    y = classes if is_classifier(estimator) else numbers
    model = estimator(**parameters).fit(X, y)
    # Ten rounds with a learning rate of 0.1 explain two thirds; random searches get close.
    assert model.score(X, y) > (0.6 if parameters.get("method") != "tso-tree" else 0.5)
    assert model.feature_importances_.shape == (4,)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    if parameters.get("method") in (None, "swarm", "swarm-tree", "cart"):
        assert set(np.argsort(model.feature_importances_)[-2:]) == {0, 1}
    contributions = model.predict(X, pred_contribs=True)
    assert contributions.shape[-1] == 5
    if not is_classifier(estimator):
        np.testing.assert_allclose(
            contributions.sum(axis=-1), model.predict(X), rtol=1e-9, atol=1e-9
        )


def test_stages_end_with_the_prediction(steps):
    X, numbers, classes = steps
    model = GreedyBoostRegressor(n_estimators=7).fit(X, numbers)
    stages = list(model.staged_predict(X))
    assert len(stages) == 7
    np.testing.assert_array_equal(stages[-1], model.predict(X))
    losses = [np.mean((stage - numbers) ** 2) for stage in stages]
    assert losses == sorted(losses, reverse=True)
    classifier = GreedyBoostClassifier(n_estimators=5).fit(X, classes)
    np.testing.assert_array_equal(list(classifier.staged_predict(X))[-1], classifier.predict(X))
    np.testing.assert_array_equal(
        list(classifier.staged_predict_proba(X))[-1], classifier.predict_proba(X)
    )
    assert classifier.apply(X).shape == (300, 15)


def test_leaves_nodes_and_predictions_agree(steps):
    X, numbers, _ = steps
    model = GreedyBoostRegressor(n_estimators=3, max_depth=2).fit(X, numbers)
    frame = model.trees_to_dataframe()
    assert set(frame["Feature"]) <= {"x0", "x1", "x2", "x3", "Leaf"}
    leaves = frame[frame["Feature"] == "Leaf"]
    nodes = frame[frame["Feature"] != "Leaf"].groupby("Tree")["Node"].count()
    sums = np.full(len(X), json.loads(model._model.to_json())["base"][0])
    for tree, reached in enumerate(model.apply(X).T):
        values = leaves[leaves["Tree"] == tree].set_index("Node")["Gain"]
        sums += values[reached + nodes[tree]].to_numpy()
    np.testing.assert_allclose(sums, model.predict(X))


def test_early_stopping_keeps_the_best_round(steps):
    X, numbers, _ = steps
    rng = np.random.default_rng(0)
    noisy = numbers + rng.normal(size=300)
    settings = {
        "n_estimators": 300,
        "learning_rate": 0.5,
        "early_stopping_rounds": 5,
        "eval_metric": "rmse",
    }
    model = GreedyBoostRegressor(**settings).fit(
        X[:200], noisy[:200], eval_set=[(X[200:], noisy[200:])]
    )
    history = model.evals_result_["validation_0"]["rmse"]
    assert model.best_iteration_ == int(np.argmin(history)) + 1 < 300
    other = GreedyBoostRegressor(**settings).fit(
        X[:200], noisy[:200], X_val=X[200:], y_val=noisy[200:]
    )
    assert other._model.to_json() == model._model.to_json()
    assert model.validation_metrics_["rmse"] == pytest.approx(min(history), rel=1e-5)
    part = GreedyBoostRegressor(**settings, validation_fraction=0.3).fit(X, noisy)
    assert part.best_iteration_ < 300 and part.validation_metrics_
    with pytest.raises(ValueError, match="early_stopping_rounds: needs validation rows"):
        GreedyBoostRegressor(**settings).fit(X, noisy)
    with pytest.raises(ValueError, match="eval_set: expected pairs"):
        GreedyBoostRegressor(**settings).fit(X, noisy, eval_set=[(X, noisy), (X,)])
    with pytest.raises(ValueError, match="X_val, y_val: both"):
        GreedyBoostRegressor(**settings).fit(X, noisy, X_val=X)


def test_classes_of_validation_rows_must_be_known(steps):
    X, _, classes = steps
    model = GreedyBoostClassifier(n_estimators=3)
    with pytest.raises(ValueError, match=r"previously unseen labels.*'odd'"):
        model.fit(X, classes, X_val=X[:2], y_val=["low", "odd"])


def test_searches_have_a_history(steps):
    X, numbers, classes = steps
    swarm_history = (
        SwarmBoostClassifier(method="sgbdt", iterations=6, population=10)
        .fit(X, classes)
        .search_history_
    )
    assert swarm_history["evaluations"][-1] > 0 and len(swarm_history["best"]) == 6
    assert list(swarm_history["best"]) == sorted(swarm_history["best"])
    history = SwarmBoostRegressor().fit(X, numbers).search_history_
    assert {"stage", "step", "evaluations", "best", "elapsed"} <= set(history)
    assert GreedyBoostRegressor(n_estimators=2).fit(X, numbers).search_history_ == {}


def test_single_trees_are_rules(steps):
    X, numbers, classes = steps
    tree = SwarmTreeClassifier(max_leaves=4, random_state=1).fit(X, classes)
    assert tree.score(X, classes) > 0.98
    assert tree.rules_["rules"]
    assert "x0" in tree.export_rules() and "CASE" in tree.export_rules("sql")
    function = {}
    exec(tree.export_rules("python"), function)
    assert SwarmTreeRegressor(method="cart").fit(X, numbers).rules_
    with pytest.raises(ValueError, match="no format 'yaml'"):
        tree.export_rules("yaml")


def test_sums_of_trees_are_rules_with_points(steps):
    X, numbers, classes = steps
    model = TreeSumRegressor(max_splits=5, budget=20).fit(X, numbers)
    rules = GreedyBoostRegressor(n_estimators=3, max_depth=2).fit(X, numbers).rules_
    assert len(rules["groups"]) == 3 and len(rules["intercept"]) == 1
    assert "max_splits" in model.get_params() and model.export_rules("sql")
    binary = TreeSumClassifier(max_splits=5, budget=20, guard=False)
    binary.fit(X, np.asarray(classes) == classes[0])
    function = {}
    exec(binary.export_rules("python"), function)
    rows = [{f"x{at}": value for at, value in enumerate(row)} for row in X[:20]]
    told = [function["predict"](row) for row in rows]
    assert np.allclose(told, binary.predict_proba(X[:20])[:, 1])
    with pytest.raises(swarmwood.ParameterError, match="objective"):
        TreeSumRegressor(objective="huber").fit(X, numbers)


def test_invalid_parameters_are_reported_together_with_their_python_names(steps):
    X, numbers, _ = steps
    with pytest.raises(ValueError) as fault:
        GreedyBoostRegressor(n_estimators=0, max_depth=99, reg_lambda=-1, objective="squarred").fit(
            X, numbers
        )
    text = str(fault.value)
    for name in (
        "n_estimators: is 0",
        "max_depth: is 99",
        "reg_lambda: is -1",
        "did you mean 'squared'",
    ):
        assert name in text
    with pytest.raises(ValueError, match="method: is 'greedy', must be one of swarm"):
        SwarmBoostRegressor(method="greedy").fit(X, numbers)
    with pytest.raises(ValueError, match="n_jobs: is 0"):
        GreedyBoostRegressor(n_jobs=0).fit(X, numbers)
    with pytest.raises(ValueError, match="importance_type: is 'weight'"):
        _ = (
            GreedyBoostRegressor(n_estimators=1, importance_type="weight")
            .fit(X, numbers)
            .feature_importances_
        )
    with pytest.raises(ValueError, match="for targets of two classes"):
        GreedyBoostRegressor(objective="logistic").fit(X, numbers)


def test_parameters_without_effect_warn_unless_they_are_defaults(steps):
    X, numbers, _ = steps
    with pytest.warns(UserWarning, match=r"^reg_lambda has no effect"):
        SwarmBoostRegressor(reg_lambda=2.0).fit(X, numbers)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*has no effect")
        for estimator, parameters in METHODS:
            y = numbers > 1 if is_classifier(estimator) else numbers
            estimator(**parameters).fit(X, y)


def test_random_states_of_every_kind(steps):
    X, numbers, _ = steps
    model = GreedyBoostRegressor(n_estimators=5, subsample=0.5)
    fit = lambda state: model.set_params(random_state=state).fit(X, numbers)._model.to_json()  # noqa: E731
    assert fit(None) == fit(0) == fit(np.int64(0)) != fit(1)
    assert fit(np.random.RandomState(5)) == fit(np.random.RandomState(5))


def test_class_weights_change_predictions():
    rng = np.random.default_rng(0)
    X = rng.random((400, 2))
    y = (rng.random(400) < 0.15 + 0.3 * (X[:, 0] > 0.5)).astype(int)
    for estimator in CLASSIFIERS:
        plain = estimator(random_state=0).fit(X, y).predict(X).mean()
        heavy = estimator(random_state=0, class_weight={0: 1.0, 1: 8.0}).fit(X, y).predict(X).mean()
        assert heavy > plain, estimator
    balanced = GreedyBoostClassifier(n_estimators=5, class_weight="balanced").fit(X, y)
    weight = np.where(y == 1, 400 / (2 * y.sum()), 400 / (2 * (400 - y.sum())))
    weighted = GreedyBoostClassifier(n_estimators=5).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(balanced.predict_proba(X), weighted.predict_proba(X))


@pytest.mark.parametrize(
    "labels", [np.array([3, 7, 20]), np.array([False, True]), np.array(["b", "a", "c"])]
)
def test_files_keep_predictions_and_classes(labels, steps, tmp_path):
    X, numbers, _ = steps
    y = labels[np.digitize(numbers, [1.5, 3.5]) % len(labels)]
    model = GreedyBoostClassifier(n_estimators=5).fit(X, y)
    model.save_model(tmp_path / "model.json")
    other = GreedyBoostClassifier().load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    assert other.classes_.tolist() == model.classes_.tolist()
    assert other.n_features_in_ == 4
    with pytest.raises(ValueError, match="load it into a classifier"):
        GreedyBoostRegressor().load_model(tmp_path / "model.json")
    with pytest.raises(FileNotFoundError):
        GreedyBoostRegressor().load_model(tmp_path / "nothing.json")
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(ValueError, match=r"bad\.json"):
        GreedyBoostRegressor().load_model(tmp_path / "bad.json")


def test_a_panic_is_an_exception():
    with pytest.raises(swarmwood.SwarmwoodError, match=r"internal error.*injected"):
        _core.inject_panic()
    assert issubclass(swarmwood.SwarmwoodError, RuntimeError)
    with pytest.raises(swarmwood.SwarmwoodError):
        _core.inject_panic()


def test_a_panic_inside_of_fit_and_predict_is_an_exception_too(monkeypatch):
    X, y = load_iris(return_X_y=True)
    fitted = GreedyBoostClassifier(n_estimators=2).fit(X, y)
    table_of = _estimator.table_of

    def faulty(*arguments):
        table = table_of(*arguments)
        _core.inject_panic(table)
        return table

    monkeypatch.setattr(_estimator, "table_of", faulty)
    for estimator in (GreedyBoostClassifier(), SwarmBoostClassifier(), SwarmTreeClassifier()):
        with pytest.raises(
            swarmwood.SwarmwoodError, match=r"internal error.*injected into a table"
        ):
            estimator.fit(X, y)
        assert not hasattr(estimator, "_model")
    for method in (fitted.predict, fitted.predict_proba, fitted.apply):
        with pytest.raises(
            swarmwood.SwarmwoodError, match=r"internal error.*injected into a table"
        ):
            method(X)
    monkeypatch.undo()
    assert fitted.predict(X).shape == y.shape


def test_errors_carry_fields(steps, tmp_path):
    X, numbers, classes = steps
    with pytest.raises(swarmwood.ParameterError) as caught:
        GreedyBoostRegressor(n_estimators=0, max_depth=99, subsample=True).fit(X, numbers)
    assert caught.value.parameter == "subsample"
    assert [name for name, _ in caught.value.violations] == [
        "subsample",
        "n_estimators",
        "max_depth",
    ]
    assert str(caught.value).startswith("subsample: is True, must be a number above 0, at most 1\n")
    with pytest.raises(
        swarmwood.ParameterError, match=r"^n_estimators: is 10\.0, must be a whole number"
    ):
        GreedyBoostRegressor(n_estimators=10.0).fit(X, numbers)
    with pytest.raises(swarmwood.ParameterError, match=r"^n_jobs: is 0"):
        GreedyBoostRegressor(n_jobs=0).fit(X, numbers)
    deep = {"method": "sgbdt", "growth": "depth", "max_depth": 8}
    with pytest.raises(swarmwood.ParameterError, match=r"^n_estimators: .* with max_depth 8$"):
        SwarmBoostRegressor(**deep, n_estimators=258).fit(X, numbers)

    with pytest.raises(swarmwood.DataError, match=r"choose another objective$") as caught:
        GreedyBoostRegressor(objective="poisson").fit(X, numbers - 100)
    assert (caught.value.column, caught.value.row) == ("target", 1)
    assert caught.value.help == "remove the row or choose another objective"
    copied = pickle.loads(pickle.dumps(caught.value))
    assert (type(copied), str(copied), copied.row) == (swarmwood.DataError, str(caught.value), 1)

    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(swarmwood.FileFormatError) as caught:
        GreedyBoostRegressor().load_model(tmp_path / "bad.json")
    assert caught.value.file == str(tmp_path / "bad.json")

    categories = pd.DataFrame({"size": X[:, 0], "town": np.where(X[:, 1] > 0.5, "York", "Bath")})
    with pytest.raises(swarmwood.ParameterError) as caught:
        SwarmTreeClassifier(method="apso-tree").fit(categories, classes)
    assert caught.value.parameter == "method"
    assert "X.drop(columns='town')" in str(caught.value) and "method='swarm-tree'" in str(
        caught.value
    )
    assert "--" not in str(caught.value)


def test_typed_values_of_numpy_and_pandas(steps):
    X, numbers, classes = steps
    plain = GreedyBoostRegressor(n_estimators=5, learning_rate=0.25, subsample=0.5).fit(X, numbers)
    typed = GreedyBoostRegressor(
        n_estimators=np.int32(5), learning_rate=np.float32(0.25), subsample=np.array(0.5)
    ).fit(X, numbers)
    assert typed._model.to_json() == plain._model.to_json()
    first, second = classes == "low", np.array([[0, 1], [5, 0]])
    trees = [
        SwarmTreeClassifier(costs=costs).fit(X, first)._model.to_json()
        for costs in ("0,1;5,0", [[0, 1], [5.0, 0]], ((0, 1), (5, 0)), second, pd.DataFrame(second))
    ]
    assert len(set(trees)) == 1


def test_names_of_python_are_aliases_of_the_table():
    for entry in _core.parameters():
        assert entry["python_name"] in {entry["name"], "class_weight", *entry["aliases"]}


def test_the_options_of_a_grid_of_thresholds():
    random = np.random.default_rng(3)
    X = random.random((200, 4))
    y = np.where((X[:, 0] > 0.6) ^ (X[:, 1] > 0.4), "yes", "no")
    fit = {"method": "apso-tree", "prune": "none", "iterations": 10, "population": 10}
    for options in (
        {"optimizer": "aco"},
        {"variables": "forest", "grid_thresholds": 6},
        {"empty_cells": "random", "repeats": 2, "select_by": "cross-validation"},
    ):
        model = SwarmTreeClassifier(**fit, **options).fit(X, y)
        assert (
            model.predict(X) == SwarmTreeClassifier(**fit, **options).fit(X, y).predict(X)
        ).all()
    small = SwarmTreeClassifier(**fit, max_leaves=4).fit(X, y)
    assert len(set(small.predict(X))) == 2
    with pytest.raises(swarmwood.ParameterError) as caught:
        SwarmTreeClassifier(method="apso-tree", optimizer="tpe").fit(X, y)
    assert caught.value.parameter == "optimizer"
