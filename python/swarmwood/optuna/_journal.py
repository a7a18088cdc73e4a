"""Studies of the command line as studies of Optuna."""

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

#: The states of finished trials.
STATES = {"complete": TrialState.COMPLETE, "pruned": TrialState.PRUNED, "failed": TrialState.FAIL}


def load_study(
    journal: str | os.PathLike[str], *, storage: Any = None, study_name: str | None = None
) -> optuna.Study:
    """Convert a journal of `swarmwood tune --study` to a new study of Optuna.

    Parameters
    ----------
    journal : path
        The journal; it may still be in use.
    storage : str or storage of Optuna, default=None
        Storage of the new study; None is in memory.
    study_name : str, default=None
        Name of the new study; None is a generated one.

    Returns
    -------
    optuna.Study

    Notes
    -----
    Values and the direction are kept. A trial that was pruned stays so, with the values
    of its folds as intermediate values. Running trials are left out. A list of numbers becomes a
    categorical parameter, since Optuna has no ordered list.
    """
    journal_data = _core.read_study(os.fspath(journal))
    distributions = {
        entry["name"]: _distribution(entry) for entry in json.loads(journal_data["space"])
    }
    direction = StudyDirection.MAXIMIZE if journal_data["maximize"] else StudyDirection.MINIMIZE
    study = optuna.create_study(storage=storage, study_name=study_name, direction=direction)
    journal_data["engine_options"] = json.loads(journal_data["engine_options"])
    for name in ("engine", "engine_options", "seed", "task", "metric"):
        study.set_user_attr(f"swarmwood_{name}", journal_data[name])
    study.add_trials(
        _trial(one, distributions) for one in journal_data["trials"] if one["state"] in STATES
    )
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
