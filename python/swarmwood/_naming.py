"""From the names of the parameter table to those that users of scikit-learn and XGBoost know, and back.

This is the one place where the two meet: signatures, docstrings, what is handed to the core and what its messages
call a parameter all come from here.
"""

from __future__ import annotations

#: Names in the table (left) that have another name in Python.
PYTHON_NAMES = {
    "trees": "n_estimators",
    "depth": "max_depth",
    "lambda": "reg_lambda",
    "l1": "reg_alpha",
    "min_leaf": "min_samples_leaf",
    "valid_fraction": "validation_fraction",
    "metric": "eval_metric",
    "seed": "random_state",
    "threads": "n_jobs",
}

#: Parameters of the table that Python says in another way.
ELSEWHERE = {"balanced": "class_weight='balanced'"}

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


def python_name(name: str) -> str:
    """Return what Python calls a parameter of the table."""
    return PYTHON_NAMES.get(name, name)
