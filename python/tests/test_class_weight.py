"""Weights of classes, with every classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from swarmwood import (
    GreedyBoostClassifier,
    ParameterError,
    SwarmBoostClassifier,
    SwarmTreeClassifier,
    TreeSumClassifier,
)

ESTIMATORS: list[Any] = [
    GreedyBoostClassifier(n_estimators=10),
    SwarmBoostClassifier(n_estimators=2, max_leaves=4),
    SwarmTreeClassifier(max_leaves=4),
    TreeSumClassifier(max_splits=4),
]


@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda model: type(model).__name__)
def test_weights_of_classes_are_weights_of_samples(model: Any) -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 3))
    y = np.where(X[:, 0] + 0.8 * rng.normal(size=300) > 0.7, "yes", "no")
    expected = model.fit(X, y, np.where(y == "yes", 3.0, 1.0)).predict_proba(X)
    scaled = model.set_params(scale_pos_weight=3).fit(X, y).predict_proba(X)
    assert np.array_equal(scaled, expected)
    model.set_params(scale_pos_weight=1.0, class_weight={"yes": 3})
    assert np.array_equal(model.fit(X, y).predict_proba(X), expected)
    model.set_params(class_weight=None)


def test_unfit_weights() -> None:
    X = np.arange(12.0).reshape(-1, 1)
    for weight in (0, -1, np.nan, "2"):
        with pytest.raises(ParameterError, match=r"scale_pos_weight: is .*must be a number above"):
            GreedyBoostClassifier(scale_pos_weight=weight).fit(X, np.arange(12) % 2)
    with pytest.raises(ParameterError, match="is for two classes, but y has 3"):
        GreedyBoostClassifier(scale_pos_weight=2).fit(X, np.arange(12) % 3)
