"""Prediction intervals and prediction sets."""

import numpy as np
import pytest

from swarmwood import (
    GreedyBoostClassifier,
    GreedyBoostRegressor,
    SwarmBoostClassifier,
    SwarmBoostRegressor,
    SwarmTreeRegressor,
)


def rows(seed, count):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(count, 3))
    noise = rng.normal(size=count) * np.where(X[:, 1] > 0, 1.0, 0.1)
    return X, 3 * X[:, 0] + noise


# A single tree of four fifths of the rows is clearly worse than that of all rows, which makes its
# intervals too wide; none may be too narrow.
@pytest.mark.parametrize(
    ("estimator", "excess"),
    [
        (SwarmBoostRegressor(total_leaves=32), 0.03),
        (GreedyBoostRegressor(n_estimators=30), 0.03),
        (SwarmTreeRegressor(method="cart"), 0.06),
    ],
)
def test_intervals_cover_what_they_promise(estimator, excess):
    X, y = rows(1, 1500)
    X_new, y_new = rows(2, 4000)
    widths = {}
    for kind in ("constant", "adaptive"):
        model = estimator.set_params(interval=0.8, interval_kind=kind).fit(X, y)
        ends = model.predict_interval(X_new)
        assert ends.shape == (4000, 2)
        predicted = model.predict(X_new)
        assert ((ends[:, 0] <= predicted) & (predicted <= ends[:, 1])).all()
        covered = (ends[:, 0] <= y_new) & (y_new <= ends[:, 1])
        assert 0.8 - 0.03 < covered.mean() < 0.8 + excess
        widths[kind] = ends[:, 1] - ends[:, 0]
    assert np.ptp(widths["constant"]) < 1e-9
    wide, narrow = (widths["adaptive"][rows].mean() for rows in (X_new[:, 1] > 0, X_new[:, 1] <= 0))
    assert wide > 2 * narrow
    assert widths["adaptive"].mean() < widths["constant"].mean()


@pytest.mark.parametrize(
    "estimator", [SwarmBoostClassifier(total_leaves=32), GreedyBoostClassifier(n_estimators=30)]
)
def test_sets_cover_what_they_promise(estimator):
    X, y = rows(3, 1500)
    X_new, y_new = rows(4, 4000)
    cuts = [-1, 1]
    model = estimator.set_params(interval=0.9).fit(X, np.digitize(y, cuts))
    sets = model.predict_set(X_new)
    assert sets.shape == (4000, 3)
    assert sets.dtype == bool
    assert sets.any(axis=1).all()
    assert sets[np.arange(4000), np.digitize(y_new, cuts)].mean() == pytest.approx(0.9, abs=0.03)
    best = model.predict_proba(X_new).argmax(axis=1)
    assert sets[np.arange(4000), best].all()


def test_models_without_intervals_say_so(tmp_path):
    X, y = rows(5, 200)
    model = GreedyBoostRegressor(n_estimators=3).fit(X, y)
    with pytest.raises(ValueError, match="fitted with interval"):
        model.predict_interval(X)
    with pytest.raises(ValueError, match="fitted with interval"):
        GreedyBoostClassifier(n_estimators=3).fit(X, y > 0).predict_set(X)
    with pytest.raises(ValueError, match="needs at least 999 rows"):
        GreedyBoostRegressor(interval=0.999).fit(X, y)
    with pytest.raises(ValueError, match="there is no interval"):
        GreedyBoostRegressor(interval_kind="adaptive").fit(X, y)

    model = GreedyBoostRegressor(n_estimators=3, interval=0.9, interval_kind="adaptive").fit(X, y)
    model.save_model(tmp_path / "m.json")
    again = GreedyBoostRegressor().load_model(tmp_path / "m.json")
    np.testing.assert_array_equal(again.predict_interval(X), model.predict_interval(X))
