"""Whole points in leaves, and reason codes."""

import json

import numpy as np
import pytest

from swarmwood import GreedyBoostClassifier, GreedyBoostRegressor, TreeSumClassifier


@pytest.fixture
def rows():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(400, 4))
    return X, 2 * X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=400)


def test_leaves_are_whole_points(rows):
    X, y = rows
    plain = GreedyBoostRegressor(n_estimators=10).fit(X, y)
    for points in ("0..100", 100):
        model = GreedyBoostRegressor(n_estimators=10, points=points).fit(X, y)
        record = json.loads(model._model.to_json())
        values = np.concatenate([tree["leaf"] for tree in record["trees"]]) / record["points_unit"]
        np.testing.assert_allclose(values, values.round(), atol=1e-9)
        assert values.min() == 0
        assert values.max() <= 100.5
        difference = np.std(model.predict(X) - plain.predict(X)) / np.std(y)
        assert 0 < difference < 0.01


def test_a_score_card_lists_totals(rows):
    X, y = rows
    model = TreeSumClassifier(points="0..20").fit(X, y > 0)
    assert "total points and their prediction" in model.export_rules()


def test_reasons_are_the_largest_contributions(rows):
    X, y = rows
    model = GreedyBoostRegressor(n_estimators=10).fit(X, y)
    names, values = model.predict_reasons(X, k=2)
    assert names.shape == values.shape == (400, 2)
    contributions = model.predict(X, pred_contribs=True)[:, :-1]
    np.testing.assert_array_equal(np.abs(values[:, 0]), np.abs(contributions).max(axis=1))
    assert set(names[:, 0]) <= {"x0", "x1", "x2", "x3"}
    classifier = GreedyBoostClassifier(n_estimators=3).fit(X, np.digitize(y, [-1, 1]))
    names, values = classifier.predict_reasons(X)
    assert names.shape == (400, 3)


def test_integer_leaves_have_so_many_bits(rows):
    X, y = rows
    model = GreedyBoostRegressor(n_estimators=10, integer_leaves=6).fit(X, y)
    record = json.loads(model._model.to_json())
    values = np.concatenate([tree["leaf"] for tree in record["trees"]]) / record["points_unit"]
    np.testing.assert_allclose(values, values.round(), atol=1e-9)
    assert values.round().min() < 0
    assert values.round().min() >= -32
    assert values.round().max() <= 31
    with pytest.raises(ValueError, match="integer_leaves"):
        GreedyBoostRegressor(integer_leaves=6, points=100).fit(X, y)
