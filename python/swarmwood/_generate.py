"""Writes `_estimators.py`, the public classes, from the parameter table: `python -m swarmwood._generate`.

Names, defaults and docstrings of the estimators follow from the table in the core; a test fails when the file in git
is not what this script writes.
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import Any

from swarmwood import _core
from swarmwood._naming import (
    CLASSES_ONLY,
    FAMILIES,
    NUMBERS_ONLY,
    PRETRAINED,
    TREES_OF_NUMBERS,
    WORDS_OF_CLASSES,
    WORDS_OF_NUMBERS,
)

WIDTH = 110

SUMMARIES = {
    "GreedyBoost": "Gradient boosting: every split is the best one at its node.",
    "SwarmBoost": "A small ensemble whose trees are searched together.",
    "SwarmTree": "One readable tree whose rules are searched together.",
}

NOTES = {
    "GreedyBoost": "Trees are grown on histograms of bins, by depth, by leaf or obliviously.",
    "SwarmBoost": "The default method compares its search with greedy boosting on unseen rows and keeps the better of\n"
    "    the two. The others are the published swarms (Rao 2022).",
    "SwarmTree": "The default method searches whole trees and keeps CART's where that is better on unseen rows.\n"
    "    `rules_` says the tree in few rules.",
}

HEADER = '''"""The estimators. Written by `python -m swarmwood._generate` from the parameter table: do not edit."""

from __future__ import annotations

from typing import Any

from swarmwood._classifier import Classifier
from swarmwood._regressor import Regressor
from swarmwood._single import SingleTree
'''

#: What Python has beside the table: name, type, default, help, and for whom.
OWN = [
    (
        "class_weight",
        "dict[Any, float] | str | None",
        "None",
        "weights of classes, or 'balanced'",
        "Classifier",
    ),
    (
        "categorical_features",
        "Any",
        '"from_dtype"',
        "columns to read as categories even if they hold numbers: names, positions or a mask; texts and categorical"
        " columns always are",
        "",
    ),
    (
        "pretrained",
        "Any",
        "None",
        "model whose splits the methods psgbdt and split-tree start from: a file, or a live model of XGBoost, LightGBM,"
        " CatBoost, scikit-learn or swarmwood",
        "pretrained",
    ),
    (
        "importance_type",
        "str",
        '"gain"',
        "what `feature_importances_` tells: 'gain', 'cover' or 'splits'",
        "",
    ),
    (
        "verbose",
        "int",
        "0",
        "1 shows how training goes on",
        "",
    ),
]


def methods_of(family: str, task: str) -> tuple[str, ...]:
    """Return the methods that an estimator offers."""
    methods = FAMILIES[family]
    return TREES_OF_NUMBERS if family == "SwarmTree" and task == "Regressor" else methods


def literal(kind: str, text: str) -> str:
    """Return a default of the table as Python writes it."""
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
    plain = {
        "integer": "int",
        "number": "float",
        "switch": "bool",
        "choice": "str",
        "matrix": "Any",
    }[kind]
    if default == "None" and plain != "Any":
        return f"{plain} | None"
    return f"{plain} | str" if default == '"auto"' and plain != "str" else plain


def described(entry: dict[str, Any], methods: tuple[str, ...], default: str, task: str) -> str:
    """Return the text of a parameter."""
    mine = {method: text for method, text in entry["methods"].items() if method in methods}
    text = entry["help"]
    for other in sorted(_core.parameters(), key=lambda other: len(other["name"]), reverse=True):
        if "_" in other["name"]:
            text = text.replace(other["name"], other["python_name"])
    notes = []
    if default == "None" and entry["kind"] != "matrix":
        by_value: dict[str, list[str]] = {}
        for method, value in mine.items():
            by_value.setdefault(value, []).append(method)
        notes.append(
            "None is " + "; ".join(f"{value} for {', '.join(of)}" for value, of in by_value.items())
        )
    if len(mine) < len(methods):
        notes.append(f"only with {', '.join(mine)}")
    if entry["name"] == "seed":
        notes = ["None is 0: the same data give the same model"]
    if entry["name"] == "threads":
        text, notes = "threads to use; None and -1 are one a core; never changes the model", []
    if "choices" in entry:
        others = WORDS_OF_CLASSES if task == "Regressor" else WORDS_OF_NUMBERS
        unfit = others.get(entry["name"], set())
        chosen = [(word, told) for word, told in entry["choices"] if word not in unfit]
        if entry["name"] == "method":
            chosen = [(word, told) for word, told in chosen if word in methods]
        notes.append("one of " + "; ".join(f"'{word}' ({told})" for word, told in chosen))
    elif entry["kind"] in ("integer", "number") and entry["name"] not in ("seed", "threads"):
        notes.append(entry["allowed"])
    return " ".join(f"{sentence[0].upper()}{sentence[1:]}." for sentence in [text, *notes])


def parameters_of(family: str, task: str) -> list[tuple[str, str, str, str]]:
    """Return name, type, default and text of every parameter of an estimator."""
    methods = methods_of(family, task)
    own = {name for name, *_ in OWN}
    found = []
    for entry in _core.parameters():
        name = entry["name"]
        mine = [text for method, text in entry["methods"].items() if method in methods]
        skipped = CLASSES_ONLY if task == "Regressor" else NUMBERS_ONLY
        if (
            not mine
            or entry["python_name"] in own
            or name in skipped
            or (name == "method" and len(methods) == 1)
        ):
            continue
        same = len(set(mine)) == 1 or name == "method"
        default = literal(entry["kind"], mine[0]) if same else "None"
        if name in ("seed", "threads"):
            default = "None"
        kind = "Any" if name == "seed" else annotation(entry["kind"], default)
        found.append(
            (entry["python_name"], kind, default, described(entry, methods, default, task))
        )
    for name, kind, default, text, whom in OWN:
        if whom == task or not whom or (whom == "pretrained" and PRETRAINED & set(methods)):
            found.append((name, kind, default, f"{text[0].upper()}{text[1:]}."))
    return found


def estimator(family: str, task: str) -> str:
    """Return the source of one class."""
    methods = methods_of(family, task)
    parameters = parameters_of(family, task)
    bases = f"SingleTree, {task}" if family == "SwarmTree" else task
    lines = [
        f"class {family}{task}({bases}):",
        f'    """{SUMMARIES[family]}',
        "",
        f"    {NOTES[family]}",
        "",
    ]
    lines += ["    Parameters", "    ----------"]
    for name, kind, default, text in parameters:
        lines.append(f"    {name} : {kind}, default={default}".replace('"', "'"))
        lines += textwrap.wrap(text, WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 8)
    lines += [
        '    """',
        "",
        f'    _methods = ("{methods[0]}",)' if len(methods) == 1 else f"    _methods = {methods}",
    ]
    lines[-1] = lines[-1].replace("'", '"')
    lines += ["", "    def __init__(", "        self,", "        *,"]
    lines += [f"        {name}: {kind} = {default}," for name, kind, default, _ in parameters]
    lines += ["    ) -> None:"]
    lines += [f"        self.{name} = {name}" for name, _, _, _ in parameters]
    return "\n".join(lines) + "\n"


def source() -> str:
    """Return the whole file."""
    classes = [
        estimator(family, task) for family in FAMILIES for task in ("Classifier", "Regressor")
    ]
    return "\n\n".join([HEADER, *classes])


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("_estimators.py")
    target.write_text(source(), encoding="utf-8")
