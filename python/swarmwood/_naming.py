"""Which methods, parameters and choices each estimator has: what the parameter table does not say."""

from __future__ import annotations

#: Parameters for classification or regression alone.
CLASSES_ONLY = {"costs", "sensitivity"}
NUMBERS_ONLY = {"huber_delta", "quantile"}

#: Choices for classification or regression alone.
WORDS_OF_CLASSES = {
    "objective": {"logistic", "softmax"},
    "metric": {"logloss", "accuracy"},
    "fitness": {"accuracy", "recall"},
    "criterion": {"accuracy", "mix", "gini", "entropy"},
}
WORDS_OF_NUMBERS = {
    "objective": {"squared", "squared-log", "absolute", "huber", "quantile", "poisson"},
    "metric": {"rmse", "mae"},
    "fitness": {"rmse"},
    "criterion": {"squared", "absolute"},
}

#: The methods of each pair of estimators; the first is the default.
FAMILIES = {
    "GreedyBoost": ("greedy",),
    "SwarmBoost": ("swarm", "sgbdt", "sgbdt-bins", "psgbdt"),
    "SwarmTree": ("swarm-tree", "cart", "apso-tree", "tso-tree", "split-tree"),
}

#: The single-tree methods with regression.
TREES_OF_NUMBERS = ("swarm-tree", "cart")

#: The methods that start from the splits of a pretrained model.
PRETRAINED = {"psgbdt", "split-tree"}
