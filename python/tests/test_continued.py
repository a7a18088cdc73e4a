"""Training that continues a model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from swarmwood import (
    GreedyBoostClassifier,
    GreedyBoostRegressor,
    ParameterError,
    SwarmBoostRegressor,
)


def data() -> tuple[Any, Any]:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(400, 4))
    return X, 100 + X[:, 0] + X[:, 1] * X[:, 2]


def test_two_halves_are_the_whole(tmp_path: Any) -> None:
    X, y = data()
    options: dict[str, Any] = {"subsample": 0.7, "colsample_bytree": 0.6, "n_jobs": 2}
    whole = GreedyBoostRegressor(n_estimators=30, **options).fit(X, y)
    half = GreedyBoostRegressor(n_estimators=10, **options).fit(X, y)
    half.save_model(tmp_path / "half.json")
    for model in (half, tmp_path / "half.json", half._model):
        both = GreedyBoostRegressor(n_estimators=20, **options).fit(X, y, init_model=model)
        assert np.array_equal(both.predict(X), whole.predict(X))
        assert both.n_iter_ == 30

    warm = GreedyBoostRegressor(n_estimators=10, warm_start=True, **options).fit(X, y)
    warm.set_params(n_estimators=30).fit(X, y)
    assert np.array_equal(warm.predict(X), whole.predict(X))
    with pytest.warns(UserWarning, match="adds no trees"):
        warm.fit(X, y)
    with pytest.raises(ParameterError, match="n_estimators: is 5, must be at least the 30"):
        warm.set_params(n_estimators=5).fit(X, y)


def test_classes_and_custom_objectives() -> None:
    X, y = data()
    classes = np.digitize(y, [99, 101])
    whole = GreedyBoostClassifier(n_estimators=6).fit(X, classes)
    half = GreedyBoostClassifier(n_estimators=2).fit(X, classes)
    both = GreedyBoostClassifier(n_estimators=4).fit(X, classes, init_model=half)
    assert np.array_equal(both.predict_proba(X), whole.predict_proba(X))
    with pytest.raises(ParameterError, match=r"has the classes \['0', '1', '2'\], but y has"):
        GreedyBoostClassifier().fit(X, classes > 1, init_model=half)

    def squared(y_true: Any, raw_score: Any) -> tuple[Any, Any]:
        return raw_score - y_true, np.ones_like(y_true)

    half = GreedyBoostRegressor(n_estimators=5).fit(X, y)
    own = GreedyBoostRegressor(n_estimators=5, objective=squared).fit(X, y, init_model=half)
    expected = GreedyBoostRegressor(n_estimators=10).fit(X, y)
    np.testing.assert_allclose(own.predict(X), expected.predict(X), rtol=0, atol=1e-12)


def test_other_libraries() -> None:
    xgboost = pytest.importorskip("xgboost")
    X, y = data()
    first = xgboost.XGBRegressor(n_estimators=5, max_depth=3).fit(X, y)
    both = GreedyBoostRegressor(n_estimators=5).fit(X, y, init_model=first)
    assert both.n_iter_ == 10
    assert both.score(X, y) > first.score(X, y)


def test_what_cannot_be_continued() -> None:
    X, y = data()
    half = GreedyBoostRegressor(n_estimators=2).fit(X, y)
    with pytest.raises(ParameterError, match="the method is swarm"):
        SwarmBoostRegressor().fit(X, y, init_model=half)
    with pytest.raises(ValueError, match="features"):
        GreedyBoostRegressor().fit(X[:, :3], y, init_model=half)
    with pytest.raises(ParameterError, match="trained with the objective 'squared'"):
        GreedyBoostRegressor(objective="huber").fit(X, y, init_model=half)
    with pytest.raises(TypeError, match="not supported"):
        GreedyBoostRegressor().fit(X, y, init_model=3)
