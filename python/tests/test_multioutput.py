"""Regression of several columns."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import r2_score
from sklearn.utils import get_tags

from swarmwood import (
    GreedyBoostClassifier,
    GreedyBoostRegressor,
    SwarmBoostRegressor,
    SwarmTreeRegressor,
    TreeSumRegressor,
)

ESTIMATORS = [
    (GreedyBoostRegressor, {"n_estimators": 15, "learning_rate": 0.3}),
    (GreedyBoostRegressor, {"n_estimators": 15, "booster": "gblinear"}),
    (SwarmBoostRegressor, {"total_leaves": 16}),
    (SwarmTreeRegressor, {}),
    (SwarmTreeRegressor, {"method": "cart"}),
    (TreeSumRegressor, {"max_splits": 4}),
]


@pytest.fixture
def table():
    """200 rows of a frame with a category, and two columns that follow from it."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.random((200, 3)), columns=["a", "b", "c"])
    X["kind"] = pd.Categorical(rng.choice(["red", "green"], 200))
    height = 3.0 * X["a"] + (X["kind"] == "red")
    width = np.round(5.0 * X["b"]) - X["a"]
    return X, pd.DataFrame({"height": height, "width, depth": width})


@pytest.mark.parametrize(("estimator", "parameters"), ESTIMATORS)
def test_a_model_of_several_columns_is_the_models_of_each(estimator, parameters, table, tmp_path):
    X, Y = table
    weight = np.linspace(0.5, 2.0, len(X))
    model = estimator(**parameters, n_jobs=1).fit(X, Y, sample_weight=weight)
    assert (model.n_outputs_, model.target_names_) == (2, ["height", "width, depth"])
    predicted = model.predict(X)
    assert predicted.shape == (200, 2)
    for at, name in enumerate(Y):
        alone = estimator(**parameters, n_jobs=1).fit(X, Y[name], sample_weight=weight)
        np.testing.assert_array_equal(predicted[:, at], alone.predict(X))
    assert model.score(X, Y) == pytest.approx(r2_score(Y, predicted))
    assert (
        estimator(**parameters, n_jobs=2).fit(X, Y, sample_weight=weight)._model.to_json()
        == model._model.to_json()
    )

    model.save_model(tmp_path / "model.json")
    for other in (
        pickle.loads(pickle.dumps(model)),
        estimator().load_model(tmp_path / "model.json"),
    ):
        np.testing.assert_array_equal(other.predict(X), predicted)
        assert (other.n_outputs_, other.target_names_) == (2, ["height", "width, depth"])
    assert model.scorer()(X.iloc[0].tolist()) == predicted[0].tolist()
    contributions = model.predict(X, pred_contribs=True)
    assert contributions.shape == (200, 2, 5)
    np.testing.assert_allclose(contributions.sum(axis=2), predicted, atol=1e-9)
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_arrays_of_any_shape(steps):
    X, y, _ = steps
    model = GreedyBoostRegressor(n_estimators=5)
    assert get_tags(model).target_tags.multi_output
    assert not get_tags(GreedyBoostClassifier()).target_tags.multi_output
    one = model.fit(X, y).predict(X)
    with pytest.warns(UserWarning, match="column-vector"):
        column = model.fit(X, y[:, None])
    assert column.n_outputs_ == 1
    np.testing.assert_array_equal(column.predict(X), one)
    Y = np.asfortranarray(np.stack([y, -y, 2 * y], axis=1).astype(np.float32))
    model.fit(X, Y)
    assert model.target_names_ == ["y0", "y1", "y2"]
    assert model.predict(X).shape == (300, 3)
    assert [values.shape for values in model.staged_predict(X[:7])] == [(7, 3)] * 5
    np.testing.assert_array_equal(model.fit(X, Y.tolist()).predict(X), model.fit(X, Y).predict(X))
    assert len(model.trees_to_dataframe()["Output"].unique()) == 3
    assert "for y2" in model.to_text()


def test_validation_rows_and_losses_are_used_for_each_column(steps):
    X, y, _ = steps
    Y = np.stack([y, np.sin(9.0 * X[:, 2])], axis=1)
    parameters = {"n_estimators": 60, "learning_rate": 0.5, "early_stopping_rounds": 3}
    model = GreedyBoostRegressor(**parameters, eval_metric="rmse")
    model.fit(X[:200], Y[:200], eval_set=(X[200:], Y[200:]))
    assert set(model.evals_result_) >= {"validation_0/y0", "validation_0/y1"}
    for at in range(2):
        alone = GreedyBoostRegressor(**parameters, eval_metric="rmse")
        alone.fit(X[:200], Y[:200, at], eval_set=(X[200:], Y[200:, at]))
        np.testing.assert_array_equal(model.predict(X)[:, at], alone.predict(X))
        assert model.evals_result_[f"validation_0/y{at}"] == alone.evals_result_["validation_0"]
        assert model.validation_metrics_[f"rmse/y{at}"] == alone.validation_metrics_["rmse"]
    mean = (model.validation_metrics_["rmse/y0"] + model.validation_metrics_["rmse/y1"]) / 2
    assert model.validation_metrics_["rmse"] == pytest.approx(mean)

    def squared(y_true, raw_score):
        assert y_true.ndim == 1
        return raw_score - y_true, np.ones_like(raw_score)

    custom = GreedyBoostRegressor(n_estimators=5, objective=squared).fit(X, Y)
    assert custom.predict(X).shape == Y.shape


def test_a_model_is_continued(steps):
    X, y, _ = steps
    Y = np.stack([y, X[:, 2]], axis=1)
    model = GreedyBoostRegressor(n_estimators=6, learning_rate=0.3).fit(X, Y)
    first = GreedyBoostRegressor(n_estimators=2, learning_rate=0.3).fit(X, Y)
    more = GreedyBoostRegressor(n_estimators=4, learning_rate=0.3).fit(X, Y, init_model=first)
    np.testing.assert_array_equal(more.predict(X), model.predict(X))
    warm = GreedyBoostRegressor(n_estimators=2, learning_rate=0.3, warm_start=True).fit(X, Y)
    warm.set_params(n_estimators=6).fit(X, Y)
    np.testing.assert_array_equal(warm.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="init_model"):
        model.fit(X, y, init_model=first)


def test_exports_are_verified(table, tmp_path):
    X, Y = table
    for parameters in ({}, {"objective": "squared-log"}):
        model = GreedyBoostRegressor(n_estimators=4, **parameters).fit(X, Y.abs())
        for name in ("m.onnx", "m.lightgbm", "m.xgboost", "m.c", "m.py", "m.sql", "m.js"):
            found = model.export(tmp_path / name, verify_if_possible=True)
            assert found["verified"] or found["reason"]
    with pytest.raises(ValueError, match="PMML has one target"):
        model.export(tmp_path / "m.pmml")


def test_what_is_about_one_target_is_refused_by_name(steps, tmp_path):
    X, y, _ = steps
    Y = np.stack([y, -y], axis=1)
    for parameters, name in (
        ({"interval": 0.9}, "interval"),
        ({"max_features": 2}, "max_features"),
        ({"points": 100}, "points"),
    ):
        with pytest.raises(ValueError, match=f"{name}: is for one target"):
            GreedyBoostRegressor(n_estimators=3, **parameters).fit(X, Y)
    with pytest.raises(ValueError, match="executor: is for one target"):
        SwarmBoostRegressor().fit(X, Y, executor=lambda: None)
    model = GreedyBoostRegressor(n_estimators=3).fit(X, Y)
    for call in (
        lambda: model.predict_reasons(X),
        lambda: model.report(tmp_path / "report.html"),
        lambda: model.fit(X, Y, eval_set=(X, y)),
        lambda: model.fit(X, pd.DataFrame(Y, columns=["a", "a"])),
        lambda: model.fit(X, np.where(np.arange(2) == 1, np.nan, Y)),
    ):
        with pytest.raises(ValueError, match=r"one target|2 of y|unique column names|NaN"):
            call()
