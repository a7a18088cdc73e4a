"""Tree models found by search instead of grown by greed.

The estimators follow scikit-learn: `GreedyBoostClassifier`, `GreedyBoostRegressor`, `SwarmBoostClassifier`,
`SwarmBoostRegressor`, `SwarmTreeClassifier` and `SwarmTreeRegressor`.
"""

from swarmwood._core import SwarmwoodError, __version__
from swarmwood._estimators import (
    GreedyBoostClassifier,
    GreedyBoostRegressor,
    SwarmBoostClassifier,
    SwarmBoostRegressor,
    SwarmTreeClassifier,
    SwarmTreeRegressor,
)

__all__ = [
    "GreedyBoostClassifier",
    "GreedyBoostRegressor",
    "SwarmBoostClassifier",
    "SwarmBoostRegressor",
    "SwarmTreeClassifier",
    "SwarmTreeRegressor",
    "SwarmwoodError",
    "__version__",
]
