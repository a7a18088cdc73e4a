"""Writes `_estimators.py`, the public classes: `python -m swarmwood._generate`.

Names, defaults and docstrings of the estimators follow from the tables of parameters and methods in
the core; a test fails if the file in git is not what this script writes.
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

from swarmwood import _core

#: Columns of a docstring.
WIDTH = 96

HEADER = '''"""The estimators, written by `python -m swarmwood._generate`: do not edit."""

from __future__ import annotations

from typing import Any

from swarmwood._classifier import Classifier
from swarmwood._regressor import Regressor
from swarmwood._rules import Rules, SingleTree
'''

#: Summary and description of each pair of estimators.
DESCRIPTIONS = {
    "GreedyBoost": (
        "Gradient boosting with histograms: every split is the best one at its node.",
        "Trees are grown depth-wise, leaf-wise or obliviously.",
    ),
    "SwarmBoost": (
        "A small ensemble whose trees are optimised together.",
        "The default method compares its search with greedy boosting by cross-validation and keeps "
        "the better one. The others are the published particle swarms (Rao 2022).",
    ),
    "SwarmTree": (
        "A single interpretable tree whose splits are optimised together.",
        "The default method searches whole trees and keeps the tree of CART where that is better "
        "in cross-validation. `rules_` has the tree as a small set of rules.",
    ),
    "TreeSum": (
        "A sum of a few small trees with a total number of splits.",
        "Splits and leaf values of all trees are optimised together; a single tree is kept where "
        "that is better in cross-validation. `rules_` has the model as rules with points.",
    ),
}

#: Parameters for classification or regression alone.
CLASSIFICATION_PARAMETERS = {"costs", "sensitivity", "threshold", "threshold_for"}
REGRESSION_PARAMETERS = {"huber_delta", "quantile", "tweedie_power", "interval_kind"}

#: Choices for classification or regression alone.
CLASSIFICATION_CHOICES = {
    "objective": {"logistic", "softmax"},
    "metric": {"logloss", "accuracy", "balanced-accuracy", "brier", "auc", "f1"},
    "fitness": {"accuracy", "recall"},
    "criterion": {"accuracy", "mix", "gini", "entropy", "gain-ratio"},
}
REGRESSION_CHOICES = {
    "objective": {
        "squared",
        "squared-log",
        "squaredlogerror",
        "absolute",
        "huber",
        "quantile",
        "poisson",
        "gamma",
        "tweedie",
    },
    "metric": {"rmse", "mae", "r2", "medae", "mape"},
    "fitness": {"rmse"},
    "criterion": {"squared", "absolute"},
}

#: Python types of the kinds of parameters.
TYPES = {
    "integer": "int",
    "number": "float",
    "switch": "bool",
    "choice": "str",
    "matrix": "Any",
    "features": "Any",
    "text": "str",
    "groups": "Any",
    "splits": "Any",
}

TASKS = ("Classifier", "Regressor")

#: What is said of custom objectives.
CUSTOM_OBJECTIVE = (
    " Or a function of (y_true, raw_score) that returns the gradient and the hessian, or an "
    "`Objective`, which swarm needs."
)
CUSTOM_OBJECTIVE_METHODS = {"greedy", "swarm"}


class Parameter(NamedTuple):
    """A parameter of an estimator."""

    name: str
    annotation: str
    default: str
    text: str


def methods_of(family: str, task: str) -> tuple[str, ...]:
    """Return the methods of an estimator; the first is the default."""

    def belongs(method: dict[str, Any]) -> bool:
        if family == "SwarmTree":
            return bool(method["single_tree"])
        named = {"GreedyBoost": "greedy", "TreeSum": "tree-sum"}
        if family in named:
            return bool(method["name"] == named[family])
        return not method["single_tree"] and method["name"] not in named.values()

    return tuple(
        method["name"]
        for method in _core.methods()
        if belongs(method) and (task == "Classifier" or method["regression"])
    )


def pretrained_methods() -> list[str]:
    """Return the methods that start from the splits of a pretrained model."""
    return [method["name"] for method in _core.methods() if method["takes_pretrained"]]


def python_parameters(family: str, task: str) -> list[Parameter]:
    """Return the parameters of an estimator that the core does not have."""
    pretrained = ", ".join(pretrained_methods())
    class_weight = Parameter(
        "class_weight",
        "dict[Any, float] | str | None",
        "None",
        "Class weights, or 'balanced'.",
    )
    scale_pos_weight = Parameter(
        "scale_pos_weight",
        "float",
        "1.0",
        "Weight of the second of two classes; the first has 1.",
    )
    categorical_features = Parameter(
        "categorical_features",
        "Any",
        '"from_dtype"',
        "Numerical columns to read as categories: names, indices or a mask. Strings and "
        "categorical columns always are.",
    )
    pretrained_model = Parameter(
        "pretrained",
        "Any",
        "None",
        f"Model whose splits the methods {pretrained} start from: a file, or a model of XGBoost, "
        "LightGBM, CatBoost, scikit-learn or swarmwood.",
    )
    importance_type = Parameter(
        "importance_type",
        "str",
        '"gain"',
        "Importance in `feature_importances_`: 'gain', 'cover' or 'splits'.",
    )
    warm_start = Parameter(
        "warm_start",
        "bool",
        "False",
        "Whether `fit` continues the model of the last fit: its trees stay, and others are added "
        "until there are `n_estimators` rounds.",
    )
    verbose = Parameter("verbose", "int", "0", "1 shows the progress of training.")

    parameters = [class_weight, scale_pos_weight] if task == "Classifier" else []
    parameters.append(categorical_features)
    if family == "GreedyBoost":
        parameters.append(warm_start)
    if set(pretrained_methods()) & set(methods_of(family, task)):
        parameters.append(pretrained_model)
    return [*parameters, importance_type, verbose]


def literal(kind: str, text: str) -> str:
    """Return a default of the table as a Python literal."""
    if text in ("auto", "none") and kind != "choice":
        return '"auto"' if text == "auto" else "None"
    if kind == "integer":
        return str(int(text))
    if kind == "number":
        return repr(float(text))
    if kind == "switch":
        return str(text == "true")
    return f'"{text}"'


def annotation(kind: str, default: str) -> str:
    """Return the type of a parameter."""
    plain = TYPES[kind]
    if default == "None" and plain != "Any":
        return f"{plain} | None"
    return f"{plain} | str" if default == '"auto"' and plain != "str" else plain


def description(entry: dict[str, Any], methods: tuple[str, ...], default: str, task: str) -> str:
    """Return the text of a parameter."""
    if entry["name"] == "threads":
        return "Number of threads. None and -1 are one per core. The model does not depend on it."

    notes = []
    defaults = {method: text for method, text in entry["methods"].items() if method in methods}
    if entry["name"] == "seed":
        notes.append("None is 0: the same data give the same model")
    else:
        if default == "None" and entry["kind"] not in (
            "matrix",
            "features",
            "groups",
            "splits",
            "text",
        ):
            by_value: dict[str, list[str]] = {}
            for method, value in defaults.items():
                by_value.setdefault(value, []).append(method)
            values = [f"{value} for {', '.join(names)}" for value, names in by_value.items()]
            notes.append("None is " + "; ".join(values))
        if len(defaults) < len(methods):
            notes.append(f"only with {', '.join(defaults)}")
    if "choices" in entry:
        choices = choices_of(entry, methods, task)
        notes.append("one of " + "; ".join(f"'{name}' ({help})" for name, help in choices))
    elif entry["kind"] == "groups":
        notes.append("or a list of lists or sets of feature names or positions")
    elif entry["kind"] == "splits":
        notes.append(
            "a string such as 'age<=25' or 'region in {a,b}', or a nested dict with feature, "
            "threshold or in, missing, left and right"
        )
    elif entry["kind"] == "features":
        notes.append("a dict of feature names, or a list with one value per feature")
    elif entry["kind"] in ("integer", "number", "text") and entry["name"] != "seed":
        notes.append(entry["allowed"])
    sentences = [python_names(entry["help"]), *notes]
    return " ".join(f"{sentence[0].upper()}{sentence[1:]}." for sentence in sentences)


def choices_of(entry: dict[str, Any], methods: tuple[str, ...], task: str) -> list[tuple[str, str]]:
    """Return the choices of a parameter for a task, with their help."""
    others = CLASSIFICATION_CHOICES if task == "Regressor" else REGRESSION_CHOICES
    unavailable = others.get(entry["name"], set())
    choices = [(name, help) for name, help in entry["choices"] if name not in unavailable]
    if entry["name"] == "method":
        return [(name, help) for name, help in choices if name in methods]
    return choices


def python_names(text: str) -> str:
    """Return a help text with the Python names of the parameters that it mentions."""
    for entry in sorted(_core.parameters(), key=lambda entry: -len(entry["name"])):
        # Names of one word, such as trees, are ordinary words in most texts.
        if "_" in entry["name"]:
            text = text.replace(entry["name"], entry["python_name"])
    return text


def parameters_of(family: str, task: str) -> list[Parameter]:
    """Return all parameters of an estimator."""
    methods = methods_of(family, task)
    own = python_parameters(family, task)
    own_names = {"class_weight", *(parameter.name for parameter in own)}
    skipped = CLASSIFICATION_PARAMETERS if task == "Regressor" else REGRESSION_PARAMETERS

    parameters = []
    for entry in _core.parameters():
        name = entry["name"]
        defaults = [text for method, text in entry["methods"].items() if method in methods]
        if not defaults or entry["python_name"] in own_names or name in skipped:
            continue
        if name == "method" and len(methods) == 1:
            continue

        # A default that differs between methods, or that scikit-learn spells None.
        same = len(set(defaults)) == 1 or name == "method"
        default = literal(entry["kind"], defaults[0]) if same else "None"
        if name in ("seed", "threads"):
            default = "None"
        kind = "Any" if name == "seed" else annotation(entry["kind"], default)
        text = description(entry, methods, default, task)
        if name == "objective" and set(methods) & CUSTOM_OBJECTIVE_METHODS:
            kind = "Any"
            text += CUSTOM_OBJECTIVE
        if name == "metric":
            kind = "Any"
            text += " Or a function of (y_true, y_pred) to be minimised, or a `Metric`."
        parameters.append(Parameter(entry["python_name"], kind, default, text))
    return parameters + own


def estimator(family: str, task: str) -> str:
    """Return the source of one class."""
    methods = methods_of(family, task)
    parameters = parameters_of(family, task)
    summary, notes = DESCRIPTIONS[family]

    rules = "SingleTree" if family == "SwarmTree" else "Rules"
    lines = [f"class {family}{task}({rules}, {task}):", f'    """{summary}', ""]
    lines += wrapped(notes, 4)
    lines += ["", "    Parameters", "    ----------"]
    for name, kind, default, text in parameters:
        lines.append(f"    {name} : {kind}, default={default}".replace('"', "'"))
        lines += wrapped(text, 8)
    names = ", ".join(f'"{method}"' for method in methods)
    comma = "," if len(methods) == 1 else ""
    lines += ['    """', "", f"    _methods = ({names}{comma})", ""]

    lines += ["    def __init__(", "        self,", "        *,"]
    lines += [f"        {name}: {kind} = {default}," for name, kind, default, _ in parameters]
    lines += ["    ) -> None:"]
    lines += [f"        self.{name} = {name}" for name, _, _, _ in parameters]
    return "\n".join(lines) + "\n"


def wrapped(text: str, indent: int) -> list[str]:
    """Return the lines of a paragraph of a docstring."""
    margin = " " * indent
    # Names of methods have hyphens.
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=margin,
        subsequent_indent=margin,
        break_on_hyphens=False,
    )


def source() -> str:
    """Return the whole file."""
    classes = [estimator(family, task) for family in DESCRIPTIONS for task in TASKS]
    return "\n\n".join([HEADER, *classes])


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("_estimators.py")
    target.write_text(source(), encoding="utf-8")
