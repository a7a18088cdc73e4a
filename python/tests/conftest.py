"""Small tables with known functions."""

import numpy as np
import pytest

from swarmwood import (
    GreedyBoostClassifier,
    GreedyBoostRegressor,
    SwarmBoostClassifier,
    SwarmBoostRegressor,
    SwarmTreeClassifier,
    SwarmTreeRegressor,
    TreeSumClassifier,
    TreeSumRegressor,
)

CLASSIFIERS = [
    GreedyBoostClassifier,
    SwarmBoostClassifier,
    SwarmTreeClassifier,
    TreeSumClassifier,
]
REGRESSORS = [GreedyBoostRegressor, SwarmBoostRegressor, SwarmTreeRegressor, TreeSumRegressor]

#: An estimator for every method, with short searches.
METHODS = [
    (GreedyBoostClassifier, {"n_estimators": 10, "n_jobs": 1}),
    (SwarmBoostClassifier, {"method": "swarm", "n_jobs": 1}),
    (SwarmBoostClassifier, {"method": "sgbdt", "n_jobs": 1, "iterations": 5}),
    (SwarmBoostClassifier, {"method": "sgbdt-bins", "n_jobs": 1, "iterations": 5}),
    (SwarmBoostClassifier, {"method": "psgbdt", "n_jobs": 1, "iterations": 5}),
    (TreeSumClassifier, {"n_jobs": 1, "budget": 20}),
    (SwarmTreeClassifier, {"method": "swarm-tree", "n_jobs": 1}),
    (SwarmTreeClassifier, {"method": "cart", "n_jobs": 1}),
    (SwarmTreeClassifier, {"method": "apso-tree", "n_jobs": 1, "iterations": 5}),
    (SwarmTreeClassifier, {"method": "tso-tree", "n_jobs": 1, "iterations": 40}),
    (SwarmTreeClassifier, {"method": "split-tree", "n_jobs": 1, "iterations": 5}),
    (GreedyBoostRegressor, {"n_estimators": 10, "n_jobs": 1}),
    (SwarmBoostRegressor, {"method": "swarm", "n_jobs": 1}),
    (SwarmBoostRegressor, {"method": "sgbdt", "n_jobs": 1, "iterations": 5, "population": 20}),
    (SwarmBoostRegressor, {"method": "sgbdt-bins", "n_jobs": 1, "iterations": 5, "population": 20}),
    (SwarmBoostRegressor, {"method": "psgbdt", "n_jobs": 1, "iterations": 5, "population": 20}),
    (TreeSumRegressor, {"n_jobs": 1, "budget": 20}),
    (SwarmTreeRegressor, {"method": "swarm-tree", "n_jobs": 1}),
    (SwarmTreeRegressor, {"method": "cart", "n_jobs": 1}),
]


def name_of(case):
    """Name a case in the output of pytest."""
    estimator, parameters = case
    return f"{estimator.__name__}-{parameters.get('method', 'greedy')}"


def is_classifier(estimator):
    return "Classifier" in (estimator if isinstance(estimator, type) else type(estimator)).__name__


@pytest.fixture
def steps():
    """300 rows of 4 features; the target is a function of two of them, and their classes follow."""
    rng = np.random.default_rng(7)
    X = rng.random((300, 4))
    numbers = 3.0 * (X[:, 0] > 0.5) + 1.0 * (X[:, 1] > 0.25)
    classes = np.array(["low", "middle", "high"])[np.digitize(numbers, [1.5, 3.5])]
    return X, numbers, classes
