"""Trials of a study, from any source."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swarmwood import _core


@dataclass
class Parameter:
    """The values of one parameter, trial by trial."""

    name: str
    #: The value in each trial; None where the parameter was inactive.
    values: list[Any]
    #: Whether values are unordered labels.
    labels: bool
    #: Whether the scale is logarithmic.
    log: bool

    def label_names(self) -> list[str]:
        """Return the labels in alphabetical order."""
        labels = list(
            dict.fromkeys(label_text(value) for value in self.values if value is not None)
        )
        return sorted(labels)

    def numbers(self) -> NDArray[np.float64]:
        """Return the values as numbers, labels as their indices; NaN where inactive."""
        if not self.labels:
            return np.array([np.nan if value is None else float(value) for value in self.values])
        index = {label: index for index, label in enumerate(self.label_names())}
        return np.array(
            [np.nan if value is None else index[label_text(value)] for value in self.values]
        )


@dataclass
class Trials:
    """Trials that were evaluated."""

    parameters: list[Parameter]
    values: NDArray[np.float64]
    #: Whether a trial was evaluated completely: only those can be the best.
    complete: NDArray[np.bool_]
    higher_is_better: bool
    metric: str

    def losses(self) -> NDArray[np.float64]:
        """Return the values with the sign for which less is better."""
        return -self.values if self.higher_is_better else self.values

    def best_so_far(self) -> NDArray[np.float64]:
        """Return the best value up to each trial; NaN before the first complete one."""
        losses = np.where(self.complete, self.losses(), np.inf)
        best = np.minimum.accumulate(losses)
        best = np.where(np.isfinite(best), best, np.nan)
        return -best if self.higher_is_better else best

    def best(self) -> int:
        """Return the index of the best complete trial; the first one of ties."""
        return int(np.argmin(np.where(self.complete, self.losses(), np.inf)))

    def parameter(self, name: str) -> Parameter:
        """Return a parameter by its name."""
        for one in self.parameters:
            if one.name == name:
                return one
        names = ", ".join(one.name for one in self.parameters)
        raise ValueError(f"parameter: the trials have no {name!r}; they have {names}")

    def importances(self) -> list[tuple[str, float | None]]:
        """Return the importance of each parameter."""
        columns = []
        for one in self.parameters:
            numbers = one.numbers()
            columns.append(
                ([None if math.isnan(value) else float(value) for value in numbers], one.labels)
            )
        importances = _core.parameter_importances(columns, self.losses().tolist())
        return [(one.name, value) for one, value in zip(self.parameters, importances, strict=True)]


def label_text(value: Any) -> str:
    """Return the text of a label."""
    return str(value)


def trials_of(study: Any, maximize: bool | None = None, metric: str | None = None) -> Trials:
    """Return the trials of a study file, of a search of scikit-learn, or of pairs."""
    if isinstance(study, (str, os.PathLike)):
        return _read_journal(os.fspath(study))
    if hasattr(study, "cv_results_"):
        return _read_search(study, metric)
    if isinstance(study, Sequence) and all(_is_pair(one) for one in study):
        return _collect(
            [(dict(one[0]), float(one[1]), True) for one in study], {}, bool(maximize), "value"
        )
    raise ValueError(
        "expected the path of a study, a fitted search with cv_results_, or a list of pairs "
        f"(parameters, value), got {type(study).__name__}"
    )


def is_study(thing: Any) -> bool:
    """Whether this is one study, not a list of them."""
    one = isinstance(thing, (str, os.PathLike)) or hasattr(thing, "cv_results_")
    return one or (
        isinstance(thing, Sequence) and bool(thing) and all(_is_pair(item) for item in thing)
    )


def _is_pair(thing: Any) -> bool:
    return isinstance(thing, Sequence) and len(thing) == 2 and isinstance(thing[0], Mapping)


def _read_journal(path: str) -> Trials:
    study = _core.read_study(path)
    trials = [
        (trial["params"], trial["value"], trial["state"] == "complete")
        for trial in study["trials"]
        if trial["value"] is not None
    ]
    kinds = {
        parameter["name"]: (parameter["type"] == "choice", parameter.get("scale") == "log")
        for parameter in json.loads(study["space"])
    }
    return _collect(trials, kinds, study["maximize"], study["metric"])


def _read_search(search: Any, metric: str | None) -> Trials:
    results = search.cv_results_
    if metric is None:
        refit = getattr(search, "refit", None)
        metric = refit if isinstance(refit, str) else "score"
    column = f"mean_test_{metric}"
    if column not in results:
        metrics = [
            name.removeprefix("mean_test_") for name in results if name.startswith("mean_test_")
        ]
        raise ValueError(f"metric: the search has no {metric!r}; it has {', '.join(metrics)}")
    trials = [
        (dict(values), float(score), True)
        for values, score in zip(results["params"], results[column], strict=True)
    ]
    return _collect(trials, {}, True, metric)


def _collect(
    trials: list[tuple[dict[str, Any], float, bool]],
    kinds: dict[str, tuple[bool, bool]],
    higher_is_better: bool,
    metric: str,
) -> Trials:
    # Failed trials have no value.
    trials = [one for one in trials if math.isfinite(one[1])]
    if not trials:
        raise ValueError("there is nothing to draw: no trial was evaluated")
    names = list(kinds) or list(dict.fromkeys(name for params, _, _ in trials for name in params))
    parameters = []
    for name in names:
        column = [params.get(name) for params, _, _ in trials]
        labels, log = kinds.get(name) or _guess_kind(column)
        parameters.append(Parameter(name, column, labels, log))
    values = np.array([value for _, value, _ in trials])
    complete = np.array([complete for _, _, complete in trials])
    return Trials(parameters, values, complete, higher_is_better, metric)


def _guess_kind(values: list[Any]) -> tuple[bool, bool]:
    """Return whether values are labels, and whether their scale is logarithmic."""
    present = [value for value in values if value is not None]
    if not present or not all(
        isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
        for value in present
    ):
        return True, False
    low, high = float(min(present)), float(max(present))
    return False, low > 0 and high / low > 100
