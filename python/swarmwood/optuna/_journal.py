"""Studies of the command line in Optuna."""

from __future__ import annotations

import json
import os
from typing import Any

import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState, create_trial

from swarmwood import _core

#: How trials end here and there.
STATES = {"complete": TrialState.COMPLETE, "pruned": TrialState.PRUNED, "failed": TrialState.FAIL}


def load_study(
    journal: str | os.PathLike[str], *, storage: Any = None, study_name: str | None = None
) -> optuna.Study:
    """Return the study of a journal, written by `swarmwood tune --study`, as a new study of Optuna.

    Parameters
    ----------
    journal : path
        The journal, which may still be written to.
    storage : str or storage of Optuna, default=None
        Where the study is kept; in memory if None.
    study_name : str, default=None
        Its name there; Optuna finds one if None.

    Trials keep their values, larger ones being better where they were. A trial that racing gave up is a pruned one,
    with what its folds said as intermediate values. Trials that are open are left out. A list of numbers becomes a
    categorical parameter, since Optuna has no other word for it.
    """
    read = _core.read_study(os.fspath(journal))
    distributions = {entry["name"]: _distribution(entry) for entry in json.loads(read["space"])}
    direction = StudyDirection.MAXIMIZE if read["maximize"] else StudyDirection.MINIMIZE
    study = optuna.create_study(storage=storage, study_name=study_name, direction=direction)
    for name in ("engine", "seed", "task", "measure"):
        study.set_user_attr(f"swarmwood_{name}", read[name])
    study.add_trials(_trial(one, distributions) for one in read["trials"] if one["state"] in STATES)
    return study


def _distribution(entry: dict[str, Any]) -> BaseDistribution:
    if entry["type"] in ("choice", "list"):
        return CategoricalDistribution(entry["values"])
    log = entry["scale"] == "log"
    if entry["type"] == "integer":
        return IntDistribution(entry["low"], entry["high"], log=log)
    return FloatDistribution(entry["low"], entry["high"], log=log)


def _trial(one: dict[str, Any], distributions: dict[str, BaseDistribution]) -> FrozenTrial:
    state = STATES[one["state"]]
    attributes = {"swarmwood_trial": one["number"], "seconds": one["seconds"]}
    if one["reason"] is not None:
        attributes["reason"] = one["reason"]
    return create_trial(
        state=state,
        value=one["value"] if state != TrialState.FAIL else None,
        params=one["params"],
        distributions={name: distributions[name] for name in one["params"]},
        intermediate_values=dict(enumerate(one["fold_values"]))
        if len(one["fold_values"]) > 1
        else None,
        user_attrs=attributes,
    )
