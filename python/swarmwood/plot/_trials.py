"""Trials of a tuning, whoever made them."""

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
    #: What each trial had; None where the parameter had no value.
    values: list[Any]
    #: Whether values are labels without an order.
    labels: bool
    #: Whether ratios count.
    log: bool

    def words(self) -> list[str]:
        """Return the labels in the order of their first use; in that of the alphabet if there are many."""
        seen = list(dict.fromkeys(word(value) for value in self.values if value is not None))
        return sorted(seen)

    def numbers(self) -> NDArray[np.float64]:
        """Return the values as numbers, labels by their place; NaN where there is none."""
        if not self.labels:
            return np.array([np.nan if value is None else float(value) for value in self.values])
        place = {label: at for at, label in enumerate(self.words())}
        return np.array([np.nan if value is None else place[word(value)] for value in self.values])


@dataclass
class Trials:
    """Trials that were evaluated."""

    parameters: list[Parameter]
    figures: NDArray[np.float64]
    #: Whether a trial was evaluated whole: only those can be the best.
    whole: NDArray[np.bool_]
    higher_is_better: bool
    measure: str

    def losses(self) -> NDArray[np.float64]:
        """Return the figures so that less is better."""
        return -self.figures if self.higher_is_better else self.figures

    def best_so_far(self) -> NDArray[np.float64]:
        """Return the best figure up to each trial; NaN before the first whole one."""
        losses = np.where(self.whole, self.losses(), np.inf)
        best = np.minimum.accumulate(losses)
        best = np.where(np.isfinite(best), best, np.nan)
        return -best if self.higher_is_better else best

    def best(self) -> int:
        """Return the place of the best whole trial; of equals the first."""
        return int(np.argmin(np.where(self.whole, self.losses(), np.inf)))

    def parameter(self, name: str) -> Parameter:
        """Return a parameter by its name."""
        for one in self.parameters:
            if one.name == name:
                return one
        known = ", ".join(one.name for one in self.parameters)
        raise ValueError(f"parameter: the trials have no {name!r}; they have {known}")

    def importances(self) -> list[tuple[str, float | None]]:
        """Return how much each parameter matters, as the core says."""
        columns = []
        for one in self.parameters:
            numbers = one.numbers()
            columns.append(
                ([None if math.isnan(value) else float(value) for value in numbers], one.labels)
            )
        found = _core.parameter_importances(columns, self.losses().tolist())
        return [(one.name, value) for one, value in zip(self.parameters, found, strict=True)]


def word(value: Any) -> str:
    """Return a label's text."""
    return str(value)


def trials_of(study: Any, maximize: bool | None = None, metric: str | None = None) -> Trials:
    """Return the trials of a study's file, of a search of scikit-learn's, or of pairs of parameters and value."""
    if isinstance(study, (str, os.PathLike)):
        return _of_file(os.fspath(study))
    if hasattr(study, "cv_results_"):
        return _of_search(study, metric)
    if isinstance(study, Sequence) and all(_is_pair(one) for one in study):
        return _made(
            [(dict(one[0]), float(one[1]), True) for one in study], {}, bool(maximize), "value"
        )
    raise ValueError(
        "the trials of a tuning are wanted: the path of a study, a fitted search with cv_results_, or a list of pairs"
        f" (parameters, value), not {type(study).__name__}"
    )


def is_study(thing: Any) -> bool:
    """Whether this is one study and no list of them."""
    one = isinstance(thing, (str, os.PathLike)) or hasattr(thing, "cv_results_")
    return one or (
        isinstance(thing, Sequence) and bool(thing) and all(_is_pair(item) for item in thing)
    )


def _is_pair(thing: Any) -> bool:
    return isinstance(thing, Sequence) and len(thing) == 2 and isinstance(thing[0], Mapping)


def _of_file(path: str) -> Trials:
    study = _core.read_study(path)
    told = [
        (trial["params"], trial["value"], trial["state"] == "complete")
        for trial in study["trials"]
        if trial["value"] is not None
    ]
    kinds = {
        parameter["name"]: (parameter["type"] == "choice", parameter.get("scale") == "log")
        for parameter in json.loads(study["space"])
    }
    return _made(told, kinds, study["maximize"], study["measure"])


def _of_search(search: Any, metric: str | None) -> Trials:
    results = search.cv_results_
    if metric is None:
        refit = getattr(search, "refit", None)
        metric = refit if isinstance(refit, str) else "score"
    column = f"mean_test_{metric}"
    if column not in results:
        known = [
            name.removeprefix("mean_test_") for name in results if name.startswith("mean_test_")
        ]
        raise ValueError(f"metric: the search has no {metric!r}; it has {', '.join(known)}")
    told = [
        (dict(values), float(score), True)
        for values, score in zip(results["params"], results[column], strict=True)
    ]
    return _made(told, {}, True, metric)


def _made(
    told: list[tuple[dict[str, Any], float, bool]],
    kinds: dict[str, tuple[bool, bool]],
    higher_is_better: bool,
    measure: str,
) -> Trials:
    # Trials that failed have no figure.
    told = [one for one in told if math.isfinite(one[1])]
    if not told:
        raise ValueError("there is nothing to draw: no trial was evaluated")
    names = list(kinds) or list(dict.fromkeys(name for values, _, _ in told for name in values))
    parameters = []
    for name in names:
        values = [values.get(name) for values, _, _ in told]
        labels, log = kinds.get(name) or _guessed(values)
        parameters.append(Parameter(name, values, labels, log))
    figures = np.array([figure for _, figure, _ in told])
    whole = np.array([whole for _, _, whole in told])
    return Trials(parameters, figures, whole, higher_is_better, measure)


def _guessed(values: list[Any]) -> tuple[bool, bool]:
    """Return whether values are labels, and whether their ratios count: they span more than two powers of ten."""
    known = [value for value in values if value is not None]
    if not known or not all(
        isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
        for value in known
    ):
        return True, False
    low, high = float(min(known)), float(max(known))
    return False, low > 0 and high / low > 100
