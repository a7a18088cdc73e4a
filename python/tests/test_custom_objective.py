"""Objectives of one's own: agreement with built-in ones, errors, storage."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from swarmwood import (
    GreedyBoostClassifier,
    GreedyBoostRegressor,
    Objective,
    ParameterError,
    SwarmBoostRegressor,
    SwarmTreeRegressor,
)


def squared(y_true: Any, raw_score: Any) -> tuple[Any, Any]:
    return raw_score - y_true, np.ones_like(y_true)


def squared_loss(y_true: Any, raw_score: Any) -> Any:
    return 0.5 * (raw_score - y_true) ** 2


def logistic(y_true: Any, raw_score: Any) -> tuple[Any, Any]:
    p = 1 / (1 + np.exp(-raw_score))
    return p - y_true, p * (1 - p)


def logistic_in_single_precision(y_true: Any, raw_score: Any) -> tuple[Any, Any]:
    """The arithmetic of the built-in loss: single precision, and a polynomial for exp."""
    one = np.float32(1)
    score, target = raw_score.astype(np.float32), y_true.astype(np.float32)
    x = np.maximum(-np.abs(score), np.float32(-87.33))
    shifted = x * np.float32(np.log2(np.e)) + np.float32(12_582_912)
    n = shifted - np.float32(12_582_912)
    r = (x - n * np.float32(0.6933594)) - n * np.float32(-2.1219444e-4)
    r2 = r * r
    low = np.float32(0.5) + np.float32(0.16666576) * r
    high = np.float32(4.1666552e-2) + np.float32(8.363293e-3) * r
    high = high + np.float32(1.3926326e-3) * r2
    power = ((one + r) + r2 * low) + (r2 * r2) * high
    e = (power.view(np.uint32) + (shifted.view(np.uint32) << np.uint32(23))).view(np.float32)
    larger = one / (one + e)
    smaller = e * larger
    p = np.where(score >= 0, larger, smaller)
    return p - target, np.maximum(smaller * larger, np.float32(1e-16))


def softmax(y_true: Any, raw_score: Any) -> tuple[Any, Any]:
    p = np.exp(raw_score - raw_score.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    classes = p.shape[1]
    return p - np.eye(classes)[y_true.astype(int)], classes / (classes - 1) * p * (1 - p)


def data(rows: int = 700) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(rows, 5))
    X[rng.random(X.shape) < 0.05] = np.nan
    y = 1990 + 3 * np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1] * X[:, 2]) + rng.normal(size=rows)
    return X, y, rng.integers(1, 4, rows).astype(float)


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_squared_loss_agrees_with_the_built_in_one(n_jobs: int, weighted: bool) -> None:
    X, y, weight = data()
    sample_weight = weight if weighted else None
    options: dict[str, Any] = {"n_estimators": 60, "subsample": 0.7, "n_jobs": n_jobs}
    expected = GreedyBoostRegressor(**options).fit(X, y, sample_weight)
    own = GreedyBoostRegressor(objective=squared, **options).fit(X, y, sample_weight)
    np.testing.assert_allclose(own.predict(X), expected.predict(X), rtol=0, atol=1e-12)
    assert own._model.objective == "custom"

    def with_weights(y_true: Any, raw_score: Any, sample_weight: Any) -> tuple[Any, Any]:
        w = np.ones_like(y_true) if sample_weight is None else sample_weight
        return w * (raw_score - y_true), w

    own = GreedyBoostRegressor(objective=with_weights, **options).fit(X, y, sample_weight)
    np.testing.assert_allclose(own.predict(X), expected.predict(X), rtol=0, atol=1e-12)


def test_the_default_method_agrees_too() -> None:
    X, y, _ = data(300)
    expected = SwarmBoostRegressor(n_estimators=2, max_leaves=4).fit(X, y)
    objective = Objective(squared, squared_loss)
    own = SwarmBoostRegressor(n_estimators=2, max_leaves=4, objective=objective, n_jobs=2).fit(X, y)
    np.testing.assert_allclose(own.predict(X), expected.predict(X), rtol=0, atol=1e-12)
    with pytest.raises(ParameterError, match="give a function for its values"):
        SwarmBoostRegressor(objective=squared).fit(X, y)


def test_classes() -> None:
    # The built-in losses compute in single precision: agreement is that of single precision.
    X, y, _ = data()
    two = (y > np.median(y)).astype(int)
    expected = GreedyBoostClassifier(n_estimators=20, max_depth=3).fit(X, two)
    own = GreedyBoostClassifier(n_estimators=20, max_depth=3, objective=logistic).fit(X, two)
    np.testing.assert_allclose(own.predict_proba(X), expected.predict_proba(X), atol=1e-5)

    # What computes the same to the bit gives the same model.
    same = {"n_estimators": 20, "max_depth": 3, "objective": logistic_in_single_precision}
    own = GreedyBoostClassifier(**same).fit(X, two)
    np.testing.assert_allclose(own.predict_proba(X), expected.predict_proba(X), rtol=0, atol=1e-12)

    three = np.array(["a", "b", "c"])[np.digitize(y, np.quantile(y, [0.3, 0.6]))]
    expected = GreedyBoostClassifier(n_estimators=5, max_depth=3).fit(X, three)
    own = GreedyBoostClassifier(n_estimators=5, max_depth=3, objective=softmax).fit(X, three)
    np.testing.assert_allclose(own.predict_proba(X), expected.predict_proba(X), atol=1e-5)


def test_a_log_link() -> None:
    X, y, _ = data()
    counts = np.random.default_rng(1).poisson(np.exp((y - 1990) / 4))
    factor = np.exp(0.7)

    def poisson(y_true: Any, raw_score: Any) -> tuple[Any, Any]:
        mean = np.exp(raw_score)
        return mean - y_true, factor * mean

    expected = GreedyBoostRegressor(n_estimators=20, objective="poisson").fit(X, counts)
    objective = Objective(poisson, link="log")
    own = GreedyBoostRegressor(n_estimators=20, objective=objective).fit(X, counts)
    np.testing.assert_allclose(own.predict(X), expected.predict(X), rtol=1e-4)
    with pytest.raises(ParameterError, match="link"):
        Objective(poisson, link="probit")


def test_targets_are_exact_where_it_matters() -> None:
    X, y, _ = data(200)
    y = np.where(y < 1990, 0.0, y)
    seen: list[Any] = []

    def inflated(y_true: Any, raw_score: Any) -> tuple[Any, Any]:
        seen.append(np.sum(y_true == 0))
        weight = np.where(y_true == 0, 3.0, 1.0)
        return weight * (raw_score - y_true), weight

    GreedyBoostRegressor(n_estimators=3, objective=inflated).fit(X, y)
    assert seen[-1] == np.sum(y == 0) > 10


def raising(y_true: Any, raw_score: Any) -> Any:
    raise ZeroDivisionError("my mistake")


@pytest.mark.parametrize(
    ("objective", "message"),
    [
        (raising, "objective: raised ZeroDivisionError: my mistake"),
        (lambda y, s: (np.full_like(y, np.nan), np.ones_like(y)), "returned NaN as the gradient"),
        (lambda y, s: (s - y, np.full_like(y, np.inf)), "returned inf as the hessian of row 0"),
        (lambda y, s: (s - y, -np.ones_like(y)), "returned -1 as the hessian of row 0"),
        (lambda y, s: ((s - y)[:-1], np.ones_like(y)), r"gradient of shape \(199,\)"),
        (lambda y, s: (s - y, 1.0), r"hessian of shape \(\), must be of shape \(200,\)"),
        (lambda y, s: (s - y, np.array(["a"] * len(y))), "hessian of the type <U1"),
        (lambda y, s: (s - y, np.ones(len(y)) * 1j), "hessian of the type complex128"),
        (lambda y, s: s - y, "returned ndarray, must return two arrays"),
        (lambda y, s: None, "returned NoneType"),
        (lambda: None, "raised TypeError"),
    ],
)
def test_faulty_objectives(objective: Any, message: str) -> None:
    X, y, _ = data(200)
    for estimator in (
        GreedyBoostRegressor(objective=objective, n_jobs=2),
        SwarmBoostRegressor(objective=Objective(objective, squared_loss), n_jobs=2),
    ):
        with pytest.raises(ParameterError, match=message) as raised:
            estimator.fit(X, y)
        if objective is raising:
            assert isinstance(raised.value.__cause__, ZeroDivisionError)


def test_a_failure_in_a_later_round() -> None:
    X, y, _ = data(200)
    calls = []

    def fails_late(y_true: Any, raw_score: Any) -> Any:
        calls.append(1)
        if len(calls) > 20:
            raise RuntimeError("late")
        return squared(y_true, raw_score)

    with pytest.raises(ParameterError, match="raised RuntimeError: late") as raised:
        GreedyBoostRegressor(objective=fails_late, n_estimators=1000).fit(X, y)
    assert isinstance(raised.value.__cause__, RuntimeError) and len(calls) == 21


def test_faulty_losses() -> None:
    X, y, _ = data(200)
    for loss, message in (
        (lambda y, s: np.mean((y - s) ** 2), r"loss of shape \(\)"),
        (lambda y, s: (y - s) * np.nan, "returned NaN as the loss of row 0"),
        (raising, "raised ZeroDivisionError"),
    ):
        with pytest.raises(ParameterError, match=message):
            SwarmBoostRegressor(objective=Objective(squared, loss)).fit(X, y)


def test_other_methods_refuse() -> None:
    X, y, _ = data(200)
    with pytest.raises(ParameterError, match="not for gblinear"):
        GreedyBoostRegressor(objective=squared, booster="gblinear").fit(X, y)
    with pytest.raises(ParameterError, match="for methods swarm, greedy; the method is sgbdt"):
        SwarmBoostRegressor(objective=squared, method="sgbdt").fit(X, y)
    assert "objective" not in SwarmTreeRegressor().get_params()


def test_models_are_stored_and_cloned(tmp_path: Any) -> None:
    X, y, _ = data(200)
    model = GreedyBoostRegressor(objective=Objective(squared, squared_loss), n_estimators=5)
    model = clone(model).fit(X, y)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    model.save_model(tmp_path / "model.json")
    assert '"custom"' in (tmp_path / "model.json").read_text()
    loaded = GreedyBoostRegressor()
    loaded.load_model(tmp_path / "model.json")
    assert np.array_equal(loaded.predict(X), model.predict(X))


def test_early_stopping_watches_the_loss_or_what_fits_the_task() -> None:
    X, y, _ = data()
    parts = {"eval_set": [(X[500:], y[500:])]}
    for objective, metric in ((squared, "rmse"), (Objective(squared, squared_loss), "loss")):
        model = GreedyBoostRegressor(
            objective=objective, n_estimators=500, early_stopping_rounds=5
        ).fit(X[:500], y[:500], **parts)
        assert model.best_iteration_ < 200
        assert list(model.evals_result_["validation_0"]) == [metric]
