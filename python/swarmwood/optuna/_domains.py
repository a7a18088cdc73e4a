"""Distributions of Optuna as parameters of the core, and the conversion of values."""

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

#: Wider integer ranges are searched as real numbers and rounded.
MAX_INTEGER_RANGE = 2**40

#: Parameters with at most this number of values are sampled without repetition.
MAX_ENUMERATED = 256


class Domains:
    """A search space of Optuna as a space of the core."""

    def __init__(self, distributions: Mapping[str, BaseDistribution]) -> None:
        self.distributions = dict(distributions)
        #: The text of a space file.
        self.text = json.dumps(
            {name: _entry(one) for name, one in self.distributions.items()}, allow_nan=False
        )
        #: Identifies the space.
        self.fingerprint = hashlib.blake2b(self.text.encode(), digest_size=8).hexdigest()

    def decode(self, point: Configuration) -> dict[str, Any]:
        """Return the values of a configuration of the core."""
        return {name: _decode(one, point[name]) for name, one in self.distributions.items()}

    def encode(self, params: Mapping[str, Any]) -> Configuration | None:
        """Return the configuration of some values; None if one is missing or not in the space."""
        point = {}
        for name, one in self.distributions.items():
            if name not in params:
                return None
            value = _encode(one, params[name])
            if value is None:
                return None
            point[name] = value
        return point

    def engine(self, name: str, seed: int, options: dict[str, Any] | None = None) -> _core.Engine:
        """Return a new engine that searches the space."""
        return _core.Engine(self.text, name, seed, options)


def _stepped(one: BaseDistribution) -> bool:
    """Whether values are represented by the number of steps from the lowest one."""
    if isinstance(one, IntDistribution):
        return not one.log and _fits_integer(one)
    return isinstance(one, FloatDistribution) and one.step is not None


def _fits_integer(one: IntDistribution) -> bool:
    return one.high - one.low < MAX_INTEGER_RANGE and (not one.log or one.high < MAX_INTEGER_RANGE)


def _steps(one: Any) -> int:
    """Return the number of steps to the highest value."""
    return round((one.high - one.low) / one.step)


def _entry(one: BaseDistribution) -> dict[str, Any]:
    if isinstance(one, CategoricalDistribution):
        return {"type": "choice", "values": [str(at) for at in range(len(one.choices))]}
    if _stepped(one):
        return {"type": "integer", "low": 0, "high": _steps(one)}
    if not isinstance(one, (IntDistribution, FloatDistribution)):
        raise ValueError(f"swarmwood cannot search a {type(one).__name__}")
    kind = "integer" if isinstance(one, IntDistribution) and _fits_integer(one) else "real"
    return {"type": kind, "low": one.low, "high": one.high, "scale": "log" if one.log else "linear"}


def _decode(one: BaseDistribution, value: Any) -> Any:
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


def _encode(one: BaseDistribution, value: Any) -> Any:
    """Return the value of the core; None if it is not in the distribution."""
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
    return (
        int(internal)
        if isinstance(one, IntDistribution) and _fits_integer(one)
        else float(internal)
    )


def hashed_seed(*parts: object) -> int:
    """Return a seed that is a hash of some parts."""
    text = json.dumps([str(part) for part in parts])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def independent_value(seed: int, number: int, name: str, distribution: BaseDistribution) -> Any:
    """Return the value of a parameter that is sampled independently, from the number of the trial.

    Every process can compute the values of the trials of others. A parameter with few values takes
    each of them before one is repeated, so that the first trials of a study differ.
    """
    domains = Domains({name: distribution})
    few = _count(distribution)
    cycle, turn = divmod(number, few) if few else (number, 0)
    trials = domains.engine("random", hashed_seed(seed, name, cycle)).ask(turn + 1)
    return domains.decode(trials[turn][1])[name]


def _count(one: BaseDistribution) -> int | None:
    """Return the number of values; None if they are many or not equally likely."""
    if isinstance(one, CategoricalDistribution):
        count = len(one.choices)
    elif _stepped(one):
        count = _steps(one) + 1
    else:
        return None
    return count if count <= MAX_ENUMERATED else None
