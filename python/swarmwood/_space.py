"""What may be searched, in Python's manner: from a dictionary to a space of the core, and values to and fro.

A space is a dictionary from names to `(low, high)`, `(low, high, "log")`, a list of values, `Integer`, `Real`,
`Choice`, `Ordered`, or a frozen `randint`, `uniform` or `loguniform` of SciPy. The core knows numbers and labels;
what a choice of Python objects stands for is kept here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from numbers import Real as RealNumber
from typing import Any

from swarmwood import _core
from swarmwood._errors import parameter_error, space_error

#: A configuration as the core tells it: numbers, and labels of choices.
Configuration = dict[str, Any]

#: A condition: the name of a choice and the values of it under which a parameter is there.
When = Mapping[str, Any] | None


@dataclass(frozen=True)
class Integer:
    """A whole number from `low` to `high`, both included.

    With `log=True` equal ratios are equally far. `when={"name": values}` makes the parameter exist only while the
    choice of that name has one of these values.

    >>> Integer(1, 64, log=True)
    Integer(low=1, high=64, log=True, when=None)
    """

    low: int
    high: int
    log: bool = False
    when: When = None


@dataclass(frozen=True)
class Real:
    """A number from `low` to `high`, both included; `log` and `when` as for `Integer`."""

    low: float
    high: float
    log: bool = False
    when: When = None


@dataclass(frozen=True)
class Choice:
    """One of some values without an order, which may be any objects; `when` as for `Integer`."""

    values: Sequence[Any]
    when: When = None


@dataclass(frozen=True)
class Ordered:
    """One of some values that stand in an order: neighbours are near. `when` as for `Integer`."""

    values: Sequence[Any]
    when: When = None


Parameter = Integer | Real | Choice | Ordered


class Space:
    """A checked space: its text for the core, and the way from values to what the core calls them and back."""

    def __init__(self, space: Mapping[str, Any]) -> None:
        if not isinstance(space, Mapping) or not space:
            raise ValueError("the space must be a dictionary of names and what they may be, with at least one entry")
        violations: list[tuple[str, str]] = []
        self.parameters: dict[str, Parameter] = {}
        for name, given in space.items():
            try:
                self.parameters[name] = _parameter(name, given)
            except ValueError as error:
                violations.append((name, str(error)))
        if violations:
            raise space_error(violations)
        self._labels = {name: _labels(one.values) for name, one in self.parameters.items() if isinstance(one, Choice)}
        described = {}
        for name, one in self.parameters.items():
            try:
                described[name] = self._described(one)
            except ValueError as error:
                violations.append((name, str(error)))
        if violations:
            raise space_error(violations)
        #: The text of a space file.
        self.text = json.dumps(described)

    def _described(self, one: Parameter) -> dict[str, Any]:
        entry: dict[str, Any]
        if isinstance(one, Choice):
            entry = {"type": "choice", "values": _labels(one.values)}
        elif isinstance(one, Ordered):
            # Only the order counts; the core is told of places in it.
            entry = {"type": "list", "values": list(range(len(one.values)))}
        else:
            kind = "integer" if isinstance(one, Integer) else "real"
            entry = {"type": kind, "low": one.low, "high": one.high, "scale": "log" if one.log else "linear"}
        if one.when is not None:
            entry["when"] = {parent: self._labels_under(parent, values) for parent, values in one.when.items()}
        return entry

    def _labels_under(self, parent: str, values: list[Any]) -> list[str]:
        """Return what the core calls the values of a choice that a condition names."""
        choice = self.parameters.get(parent)
        if not isinstance(choice, Choice):
            there = "is no choice" if parent in self.parameters else "is no parameter"
            raise ValueError(f"depends on {parent!r}, which {there}")
        labels = []
        for value in values:
            at = _position(choice.values, value)
            if at is None:
                known = ", ".join(repr(one) for one in choice.values)
                raise ValueError(f"depends on {value!r} of {parent!r}, which has only {known}")
            labels.append(self._labels[parent][at])
        return labels

    def decode(self, configuration: Configuration) -> dict[str, Any]:
        """Return the values that a configuration of the core stands for, in the order of the space."""
        values = {}
        for name, one in self.parameters.items():
            if name not in configuration:
                continue
            value = configuration[name]
            if isinstance(one, Choice):
                value = one.values[self._labels[name].index(value)]
            elif isinstance(one, Ordered):
                value = one.values[int(value)]
            values[name] = value
        return values

    def encode(self, params: Mapping[str, Any]) -> Configuration:
        """Return what the core calls some values; the error names the one that the space does not have."""
        configuration: Configuration = {}
        for name, value in params.items():
            one = self.parameters.get(name)
            if one is None:
                raise space_error([(name, "is not in the space")])
            if isinstance(one, (Choice, Ordered)):
                at = _position(one.values, value)
                if at is None:
                    raise space_error([(name, f"is {value!r}, which is not in the space")])
                configuration[name] = self._labels[name][at] if isinstance(one, Choice) else float(at)
            else:
                whole = isinstance(one, Integer) and _is_number(value) and float(value).is_integer()
                configuration[name] = int(value) if whole else value
        return configuration

    def document(self) -> list[dict[str, Any]] | None:
        """Return the space as JSON data that `from_document` takes; None if JSON has no word for something in it."""
        kept = []
        for name, one in self.parameters.items():
            kept.append({"name": name, "type": type(one).__name__, **vars(one)})
        try:
            same = json.loads(json.dumps(kept, allow_nan=False))
        except (TypeError, ValueError):
            return None
        # Tuples, numpy's numbers and keys that are no strings come back as something else.
        return same if same == kept and _kinds(same) == _kinds(kept) else None

    @staticmethod
    def from_document(document: list[dict[str, Any]]) -> Space:
        """Return the space that `document` described."""
        kinds = {kind.__name__: kind for kind in (Integer, Real, Choice, Ordered)}
        space = {}
        for entry in document:
            fields = {key: value for key, value in entry.items() if key not in ("name", "type")}
            space[entry["name"]] = kinds[entry["type"]](**fields)
        return Space(space)


def _kinds(value: Any) -> Any:
    """Return the types of everything in some data."""
    if isinstance(value, dict):
        return {key: _kinds(one) for key, one in value.items()}
    return [_kinds(one) for one in value] if isinstance(value, list) else type(value)


def _position(values: Sequence[Any], value: Any) -> int | None:
    """Return the place of a value; True is not 1, and 1.0 is."""
    for at, one in enumerate(values):
        if one is value or (isinstance(one, bool) == isinstance(value, bool) and _equal(one, value)):
            return at
    return None


def _equal(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except ValueError:
        # Arrays compare element by element; they are the same only if they are one.
        return False


def _labels(values: Sequence[Any]) -> list[str]:
    """Return a text for every value of a choice, which is the same in every process."""
    if all(isinstance(value, str) for value in values):
        return [str(value) for value in values]
    plain = (str, bool, int, float, type(None))
    # Other objects may say where they lie in memory.
    texts = [repr(value) if isinstance(value, plain) else f"value {at}" for at, value in enumerate(values)]
    return texts if len(set(texts)) == len(texts) else [f"value {at}" for at in range(len(texts))]


def _is_number(value: Any) -> bool:
    return isinstance(value, RealNumber) and not isinstance(value, bool)


def _parameter(name: str, given: Any) -> Parameter:
    """Return what a user meant by an entry of the space."""
    if not isinstance(name, str) or not name:
        raise ValueError("names must be texts")
    if isinstance(given, (Integer, Real)):
        return _bounded(given, given.low, given.high, given.log, _condition(given.when))
    if isinstance(given, (Choice, Ordered)):
        return type(given)(_several(given.values), _condition(given.when))
    if hasattr(given, "dist") and hasattr(given, "support"):
        return _of_scipy(given)
    if isinstance(given, tuple) and len(given) in (2, 3) and all(_is_number(bound) for bound in given[:2]):
        if len(given) == 3 and given[2] not in ("log", "linear"):
            raise ValueError(f"has {given[2]!r} as its third entry, must be 'log' or 'linear'")
        return _bounded(None, given[0], given[1], len(given) == 3 and given[2] == "log", None)
    if isinstance(given, (list, range)) or (type(given).__module__ == "numpy" and getattr(given, "ndim", 0) == 1):
        values = _several(given)
        # Numbers in a list have an order, whichever they are written in.
        return Ordered(sorted(values)) if all(_is_number(value) for value in values) else Choice(values)
    raise ValueError(
        f"is {given!r}, must be (low, high), a list of values, Integer, Real, Choice, Ordered, or a frozen randint, "
        "uniform or loguniform of SciPy"
    )


def _condition(when: When) -> dict[str, list[Any]] | None:
    """Return a condition with a list of values, however they were given."""
    if when is None:
        return None
    if not isinstance(when, Mapping) or len(when) != 1:
        raise ValueError(f"has the condition {when!r}, must be one name of a choice and its values: {{'name': [...]}}")
    several = (list, tuple, set, frozenset)
    return {parent: list(values) if isinstance(values, several) else [values] for parent, values in when.items()}


def _bounded(kind: Any, low: Any, high: Any, log: bool, when: When) -> Parameter:
    for bound in (low, high):
        if not _is_number(bound) or not math.isfinite(bound):
            raise ValueError(f"has the bound {bound!r}, must be a finite number")
    whole = isinstance(low, Integral) and isinstance(high, Integral)
    if isinstance(kind, Integer) and not whole:
        raise ValueError(f"has the bounds {low!r} and {high!r}, an Integer's must be whole numbers")
    if whole and not isinstance(kind, Real):
        return Integer(int(low), int(high), bool(log), when)
    return Real(float(low), float(high), bool(log), when)


def _several(values: Any) -> list[Any]:
    """Return the values of a list, none of them twice."""
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise ValueError(f"has the values {values!r}, must be a list of values")
    listed = [
        value.item() if type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0 else value
        for value in values
    ]
    if not listed:
        raise ValueError("has no values, must have at least one")
    for at, value in enumerate(listed):
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"has the value {value!r}, must be finite")
        if _position(listed[:at], value) is not None:
            raise ValueError(f"has the value {value!r} twice")
    return listed


def _of_scipy(frozen: Any) -> Parameter:
    """Return the range of a frozen distribution whose shape the core knows too."""
    name = frozen.dist.name
    _, loc, _ = frozen.dist._parse_args(*frozen.args, **frozen.kwds)
    low, high = frozen.support()
    if name == "randint":
        return Integer(int(low), int(high))
    if name == "uniform":
        return Real(float(low), float(high))
    if name in ("loguniform", "reciprocal") and loc == 0:
        return Real(float(low), float(high), log=True)
    raise ValueError(f"is the distribution {name!r}, must be randint, uniform, or loguniform at loc 0")


def make_engine(space: Space, engine: str, seed: int) -> _core.Engine:
    """Return a new engine of the core; errors name the parameter."""
    if not isinstance(seed, Integral) or not 0 <= seed < 2**64:
        raise parameter_error("seed", f"is {seed!r}, must be a whole number from 0")
    return _core.Engine(space.text, engine, int(seed))
