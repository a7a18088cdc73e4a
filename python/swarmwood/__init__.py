"""Gradient boosting and decision trees found by search.

The estimators are compatible with scikit-learn: `GreedyBoostClassifier`, `GreedyBoostRegressor`,
`SwarmBoostClassifier`, `SwarmBoostRegressor`, `SwarmTreeClassifier`, `SwarmTreeRegressor`,
`TreeSumClassifier` and `TreeSumRegressor`.
`SchemataSearchCV` tunes any estimator, `Tuner` optimises any function, `swarmwood.optuna` has
samplers for Optuna, `compress` makes a small model of a large one, and `swarmwood.plot` draws with
matplotlib.
"""

from swarmwood._compress import compress
from swarmwood._core import DataError, FileFormatError, ParameterError, SwarmwoodError, __version__
from swarmwood._estimators import (
    GreedyBoostClassifier,
    GreedyBoostRegressor,
    SwarmBoostClassifier,
    SwarmBoostRegressor,
    SwarmTreeClassifier,
    SwarmTreeRegressor,
    TreeSumClassifier,
    TreeSumRegressor,
)
from swarmwood._metric import Metric
from swarmwood._objective import Objective
from swarmwood._search_cv import SchemataSearchCV
from swarmwood._space import Choice, Integer, Ordered, Real
from swarmwood._tuner import NothingToAsk, Trial, Tuner, engine_options, engines

__all__ = [
    "Choice",
    "DataError",
    "FileFormatError",
    "GreedyBoostClassifier",
    "GreedyBoostRegressor",
    "Integer",
    "Metric",
    "NothingToAsk",
    "Objective",
    "Ordered",
    "ParameterError",
    "Real",
    "SchemataSearchCV",
    "SwarmBoostClassifier",
    "SwarmBoostRegressor",
    "SwarmTreeClassifier",
    "SwarmTreeRegressor",
    "SwarmwoodError",
    "TreeSumClassifier",
    "TreeSumRegressor",
    "Trial",
    "Tuner",
    "__version__",
    "compress",
    "engine_options",
    "engines",
]
