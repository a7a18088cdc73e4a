"""Monotone constraints: how they are given, and that they hold."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from swarmwood import GreedyBoostRegressor, SwarmBoostClassifier, SwarmTreeRegressor

RANDOM = np.random.default_rng(3)
X = pd.DataFrame(RANDOM.normal(size=(300, 3)), columns=["up", "down", "free"])
Y = X["up"] - X["down"] + np.sin(4 * X["up"]) + np.sin(5 * X["free"])
Y = Y + 0.3 * RANDOM.normal(size=300)


def is_monotone(predict, feature, sign):
    """Whether predictions of random rows follow a feature."""
    rows = RANDOM.normal(size=(50, 3))
    steps = np.linspace(-3, 3, 40)
    for row in rows:
        many = pd.DataFrame(np.tile(row, (len(steps), 1)), columns=X.columns)
        many[feature] = steps
        if (sign * np.diff(predict(many)) < 0).any():
            return False
    return True


@pytest.mark.parametrize(
    "given",
    [{"up": 1, "down": -1}, [1, -1, 0], (1, -1, 0), np.array([1, -1, 0]), "up:+,down:-"],
    ids=["dict", "list", "tuple", "array", "text"],
)
def test_directions_by_name_and_by_position_hold(given):
    model = clone(GreedyBoostRegressor(monotonic_cst=given, learning_rate=0.3)).fit(X, Y)
    assert is_monotone(model.predict, "up", 1) and is_monotone(model.predict, "down", -1)


def test_without_constraints_they_do_not():
    assert not is_monotone(GreedyBoostRegressor(learning_rate=0.3).fit(X, Y).predict, "up", 1)


def test_classes_and_single_trees_follow_too():
    labels = np.where(Y > 0, "yes", "no")
    model = SwarmBoostClassifier(monotonic_cst={"up": 1}, total_leaves=24).fit(X, labels)
    assert is_monotone(lambda rows: model.predict_proba(rows)[:, 1], "up", 1)
    tree = SwarmTreeRegressor(monotonic_cst=[1, -1, 0]).fit(X, Y)
    assert is_monotone(tree.predict, "up", 1) and is_monotone(tree.predict, "down", -1)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"upp": 1}, "did you mean 'up'"),
        ([1, 0], "has 2 values"),
        ([2, 0, 0], "monotonic_cst"),
        ({"up": "rising"}, "monotonic_cst"),
    ],
)
def test_what_is_no_direction_is_refused(given, said):
    with pytest.raises(ValueError, match=said):
        GreedyBoostRegressor(monotonic_cst=given).fit(X, Y)
