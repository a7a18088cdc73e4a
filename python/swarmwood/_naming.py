"""Which methods, parameters and choices each estimator has: what the parameter table does not say."""

from __future__ import annotations

#: What only one task can use.
CLASSES_ONLY = {"costs", "sensitivity"}
NUMBERS_ONLY = {"huber_delta", "quantile"}

#: Words of a choice that only one task can use.
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

#: The methods of each family of estimators; the first is the default.
FAMILIES = {
    "GreedyBoost": ("greedy",),
    "SwarmBoost": ("swarm", "sgbdt", "sgbdt-bins", "psgbdt"),
    "SwarmTree": ("swarm-tree", "cart", "apso-tree", "tso-tree", "split-tree"),
}

#: The methods of one tree that can predict numbers.
TREES_OF_NUMBERS = ("swarm-tree", "cart")

#: The methods that start from the splits of another model.
PRETRAINED = {"psgbdt", "split-tree"}

