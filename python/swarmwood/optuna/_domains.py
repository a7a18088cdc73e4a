"""Distributions of Optuna as parameters of the core, and values to and fro."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from swarmwood import _core
from swarmwood._space import Configuration

#: The core's whole numbers end here; beyond, they are searched as real ones and rounded.
WIDEST = 2**40

#: Up to so many values are gone through one after the other.
FEW = 256


class Domains:
    """A search space of Optuna as a space of the core."""

    def __init__(self, distributions: Mapping[str, BaseDistribution]) -> None:
        self.distributions = dict(distributions)
        #: The text of a space file.
        self.text = json.dumps(
            {name: _described(one) for name, one in self.distributions.items()}, allow_nan=False
        )
        #: Tells spaces apart.
        self.print = hashlib.blake2b(self.text.encode(), digest_size=8).hexdigest()

    def decode(self, point: Configuration) -> dict[str, Any]:
        """Return the values that a configuration of the core stands for."""
        return {name: _decoded(one, point[name]) for name, one in self.distributions.items()}

    def encode(self, params: Mapping[str, Any]) -> Configuration | None:
        """Return what the core calls some values; None if one is missing or not in the space."""
        point = {}
        for name, one in self.distributions.items():
            if name not in params:
                return None
            value = _encoded(one, params[name])
            if value is None:
                return None
            point[name] = value
        return point

    def engine(self, name: str, seed: int) -> _core.Engine:
        """Return a new engine that searches the space."""
        return _core.Engine(self.text, name, seed)


def _stepped(one: BaseDistribution) -> bool:
    """Say whether values are steps that are counted from the lowest."""
    if isinstance(one, IntDistribution):
        return not one.log and _narrow(one)
    return isinstance(one, FloatDistribution) and one.step is not None


def _narrow(one: IntDistribution) -> bool:
    return one.high - one.low < WIDEST and (not one.log or one.high < WIDEST)


def _steps(one: Any) -> int:
    """Return the number of the last step."""
    return round((one.high - one.low) / one.step)


def _described(one: BaseDistribution) -> dict[str, Any]:
    if isinstance(one, CategoricalDistribution):
        return {"type": "choice", "values": [str(at) for at in range(len(one.choices))]}
    if _stepped(one):
        return {"type": "integer", "low": 0, "high": _steps(one)}
    if not isinstance(one, (IntDistribution, FloatDistribution)):
        raise ValueError(f"swarmwood cannot search a {type(one).__name__}")
    kind = "integer" if isinstance(one, IntDistribution) and _narrow(one) else "real"
    return {"type": kind, "low": one.low, "high": one.high, "scale": "log" if one.log else "linear"}


def _decoded(one: BaseDistribution, value: Any) -> Any:
    if isinstance(one, CategoricalDistribution):
        return one.choices[int(value)]
    if isinstance(one, IntDistribution):
        return (
            one.low + one.step * value
            if _stepped(one)
            else min(max(round(value), one.low), one.high)
        )
    if isinstance(one, FloatDistribution) and one.step is not None:
        return float(min(one.low + one.step * value, one.high))
    return float(value)


def _encoded(one: BaseDistribution, value: Any) -> Any:
    """Return what the core calls a value; None if the distribution does not have it."""
    try:
        internal = one.to_internal_repr(value)
    except ValueError:
        return None
    if not one._contains(internal):
        return None
    if isinstance(one, CategoricalDistribution):
        return str(int(internal))
    if _stepped(one):
        return min(round((internal - one.low) / one.step), _steps(one))  # type: ignore[attr-defined]
    return int(internal) if isinstance(one, IntDistribution) and _narrow(one) else float(internal)


def mixed(*parts: object) -> int:
    """Return a seed that follows from some parts and no others."""
    text = json.dumps([str(part) for part in parts])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def alone(seed: int, number: int, name: str, distribution: BaseDistribution) -> Any:
    """Return the value of a parameter that is sampled on its own: it follows from the number of the trial.

    So every process knows what another one's trial will get. A parameter of few values goes through all of them
    before one comes again, so that the first trials of a study, which know no space yet, differ.
    """
    domains = Domains({name: distribution})
    few = _count(distribution)
    cycle, turn = divmod(number, few) if few else (number, 0)
    asked = domains.engine("random", mixed(seed, name, cycle)).ask(turn + 1)
    return domains.decode(asked[turn][1])[name]


def _count(one: BaseDistribution) -> int | None:
    """Return how many values there are; None if they are many, or are not all as likely."""
    if isinstance(one, CategoricalDistribution):
        count = len(one.choices)
    elif _stepped(one):
        count = _steps(one) + 1
    else:
        return None
    return count if count <= FEW else None
