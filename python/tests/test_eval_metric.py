"""Metrics of early stopping, and several sets of validation rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import r2_score, roc_auc_score

from swarmwood import GreedyBoostClassifier, GreedyBoostRegressor, Metric, ParameterError


def data(classes: int = 2) -> tuple[Any, Any]:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(900, 4))
    score = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=900)
    return X, np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))


def split(X: Any, y: Any) -> tuple[Any, list[Any]]:
    return (X[:400], y[:400]), [(X[400:600], y[400:600]), (X[600:], y[600:])]


@pytest.mark.parametrize("booster", ["gbtree", "dart", "gblinear"])
def test_auc_and_a_function_that_computes_it_agree(booster: str) -> None:
    X, y = data()
    train, sets = split(X, y)
    options: dict[str, Any] = {
        "n_estimators": 200,
        "early_stopping_rounds": 8,
        "booster": booster,
        "learning_rate": 0.3,
    }
    auc = GreedyBoostClassifier(eval_metric="auc", **options).fit(*train, eval_set=sets[1:])
    metric = Metric(roc_auc_score, greater_is_better=True, name="own")
    own = GreedyBoostClassifier(eval_metric=metric, **options).fit(*train, eval_set=sets[1:])
    assert auc.best_iteration_ < 200
    values, others = (
        model.evals_result_["validation_0"][name] for model, name in ((auc, "auc"), (own, "own"))
    )
    # Rounds that rank the rows alike are equal up to rounding errors, which break the tie.
    rounds = min(len(values), len(others))
    np.testing.assert_allclose(values[:rounds], others[:rounds], atol=1e-12)
    assert abs(values[auc.best_iteration_ - 1] - others[own.best_iteration_ - 1]) < 1e-12
    assert max(values) == values[auc.best_iteration_ - 1]
    expected = roc_auc_score(sets[1][1], auc.predict_proba(sets[1][0])[:, 1])
    np.testing.assert_allclose(max(values), expected, atol=1e-6)
    np.testing.assert_allclose(auc.validation_metrics_["auc"], expected, atol=1e-6)


def test_every_metric_can_be_watched() -> None:
    X, y = data(3)
    train, sets = split(X, y)
    for metric in ("logloss", "accuracy", "balanced-accuracy", "brier", "auc", "f1"):
        model = GreedyBoostClassifier(
            n_estimators=100, early_stopping_rounds=3, eval_metric=metric
        ).fit(*train, eval_set=sets)
        assert 0 < model.best_iteration_ < 100, metric
    train, sets = split(X, X[:, 0] + X[:, 1] * X[:, 2] + 5)
    for metric in ("rmse", "mae", "r2", "medae", "mape"):
        model = GreedyBoostRegressor(n_estimators=3, eval_metric=metric).fit(*train, eval_set=sets)
        last = model.evals_result_["validation_1"][metric][-1]
        np.testing.assert_allclose(last, model.validation_metrics_[metric], rtol=1e-6)


def test_the_last_of_several_sets_decides() -> None:
    X, y = data()
    train, sets = split(X, y)
    options: dict[str, Any] = {"n_estimators": 300, "early_stopping_rounds": 5, "n_jobs": 2}
    alone = GreedyBoostClassifier(**options).fit(*train, eval_set=sets[1:])
    both = GreedyBoostClassifier(**options).fit(*train, eval_set=sets)
    assert both.best_iteration_ == alone.best_iteration_
    assert np.array_equal(both.predict_proba(X), alone.predict_proba(X))
    assert list(both.evals_result_) == ["training", "validation_0", "validation_1"]
    assert both.evals_result_["validation_1"] == alone.evals_result_["validation_0"]
    swapped = GreedyBoostClassifier(**options).fit(*train, eval_set=sets[::-1])
    rounds = len(both.evals_result_["validation_0"]["loss"])
    first = swapped.evals_result_["validation_1"]["loss"][:rounds]
    assert first == both.evals_result_["validation_0"]["loss"][: len(first)]


def test_weights_of_validation_rows() -> None:
    X, y = data()
    train, sets = split(X, y)
    weight = np.arange(len(sets[0][0])) % 3

    def error(y_true: Any, y_pred: Any, sample_weight: Any) -> float:
        return float(np.average((y_pred > 0.5) != y_true, weights=sample_weight))

    model = GreedyBoostClassifier(n_estimators=5, eval_metric=error)
    model.fit(*train, eval_set=[(*sets[0], weight), sets[1]])
    expected = np.average(model.predict(sets[0][0]) != sets[0][1], weights=weight)
    assert abs(model.evals_result_["validation_0"]["error"][-1] - expected) < 1e-12


def test_functions_are_given_predictions() -> None:
    X, _ = data()
    y = 1e6 + X[:, 0]
    model = GreedyBoostRegressor(n_estimators=10, eval_metric=Metric(r2_score)).fit(
        X, y, eval_set=[(X, y)]
    )
    expected = r2_score(y, model.predict(X))
    assert abs(model.evals_result_["validation_0"]["r2_score"][-1] - expected) < 1e-6

    X, y = data(3)
    shapes = set()

    def shape(y_true: Any, y_pred: Any) -> float:
        shapes.add((y_true.shape, y_pred.shape))
        return 0.0

    GreedyBoostClassifier(n_estimators=2, eval_metric=shape).fit(X, y, eval_set=[(X, y)])
    assert shapes == {((900,), (900, 3))}


def test_faulty_metrics() -> None:
    X, y = data()

    def raising(y_true: Any, y_pred: Any) -> float:
        raise ZeroDivisionError("my mistake")

    cases: list[tuple[Any, str]] = [
        (raising, "eval_metric: raised ZeroDivisionError: my mistake"),
        (lambda y_true, y_pred: np.nan, "returned NaN"),
        (lambda y_true, y_pred: y_pred, "must return a single number"),
        (lambda y_true, y_pred: ("auc", 0.5, True), "must return a single number"),
        (lambda y_true: 0.0, "raised TypeError"),
    ]
    for metric, message in cases:
        with pytest.raises(ParameterError, match=message) as raised:
            GreedyBoostClassifier(eval_metric=metric).fit(X, y, eval_set=[(X, y)])
        if metric is raising:
            assert isinstance(raised.value.__cause__, ZeroDivisionError)


def test_faulty_sets() -> None:
    X, y = data()
    for sets, message in (([], "expected pairs"), ([(X,)], "got 1 items"), ([1], "expected pairs")):
        with pytest.raises(ParameterError, match=message):
            GreedyBoostClassifier().fit(X, y, eval_set=sets)
