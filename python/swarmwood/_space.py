"""Search spaces: dictionaries as spaces of the core, and the conversion of values.

A space is a dictionary from names to `(low, high)`, `(low, high, "log")`, a list of values,
`Integer`, `Real`, `Choice`, `Ordered`, or a frozen `randint`, `uniform` or `loguniform` of SciPy.
The core has numbers and labels; the Python objects that labels stand for are kept here.
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

#: A configuration of the core: numbers, and labels of choices.
Configuration = dict[str, Any]

#: A condition: the name of a choice, and its values for which a parameter is active.
When = Mapping[str, Any] | None


@dataclass(frozen=True)
class Integer:
    """An integer from `low` to `high`, both included.

    With `log=True` the scale is logarithmic. With `when={"name": values}` the parameter is active
    only if the choice of that name has one of these values.

    >>> Integer(1, 64, log=True)
    Integer(low=1, high=64, log=True, when=None)
    """

    low: int
    high: int
    log: bool = False
    when: When = None


@dataclass(frozen=True)
class Real:
    """A real number from `low` to `high`, both included; `log` and `when` as for `Integer`."""

    low: float
    high: float
    log: bool = False
    when: When = None


@dataclass(frozen=True)
class Choice:
    """One of several values without an order; any objects. `when` as for `Integer`."""

    values: Sequence[Any]
    when: When = None


@dataclass(frozen=True)
class Ordered:
    """One of several ordered values. `when` as for `Integer`."""

    values: Sequence[Any]
    when: When = None


Parameter = Integer | Real | Choice | Ordered


class Space:
    """A validated space: its text for the core, and the conversion of values."""

    def __init__(self, space: Mapping[str, Any]) -> None:
        if not isinstance(space, Mapping) or not space:
            raise ValueError(
                "the space must be a dictionary of names and domains with at least one entry"
            )
        violations: list[tuple[str, str]] = []
        self.parameters: dict[str, Parameter] = {}
        for name, domain in space.items():
            try:
                self.parameters[name] = _parameter(name, domain)
            except ValueError as error:
                violations.append((name, str(error)))
        if violations:
            raise space_error(violations)
        self._labels = {
            name: _labels(parameter.values)
            for name, parameter in self.parameters.items()
            if isinstance(parameter, Choice)
        }
        described = {}
        for name, parameter in self.parameters.items():
            try:
                described[name] = self._entry(parameter)
            except ValueError as error:
                violations.append((name, str(error)))
        if violations:
            raise space_error(violations)
        #: The text of a space file.
        self.text = json.dumps(described)

    def _entry(self, parameter: Parameter) -> dict[str, Any]:
        entry: dict[str, Any]
        if isinstance(parameter, Choice):
            entry = {"type": "choice", "values": _labels(parameter.values)}
        elif isinstance(parameter, Ordered):
            # Only the order matters: the core has indices.
            entry = {"type": "list", "values": list(range(len(parameter.values)))}
        else:
            kind = "integer" if isinstance(parameter, Integer) else "real"
            entry = {
                "type": kind,
                "low": parameter.low,
                "high": parameter.high,
                "scale": "log" if parameter.log else "linear",
            }
        if parameter.when is not None:
            entry["when"] = {
                parent: self._labels_under(parent, values)
                for parent, values in parameter.when.items()
            }
        return entry

    def _labels_under(self, parent: str, values: list[Any]) -> list[str]:
        """Return the labels of the values of a choice that a condition names."""
        choice = self.parameters.get(parent)
        if not isinstance(choice, Choice):
            reason = "is no choice" if parent in self.parameters else "is no parameter"
            raise ValueError(f"depends on {parent!r}, which {reason}")
        labels = []
        for value in values:
            index = _position(choice.values, value)
            if index is None:
                choices = ", ".join(repr(choice_value) for choice_value in choice.values)
                raise ValueError(f"depends on {value!r} of {parent!r}, which has only {choices}")
            labels.append(self._labels[parent][index])
        return labels

    def decode(self, configuration: Configuration) -> dict[str, Any]:
        """Return the values of a configuration of the core, in the order of the space."""
        values = {}
        for name, parameter in self.parameters.items():
            if name not in configuration:
                continue
            value = configuration[name]
            if isinstance(parameter, Choice):
                value = parameter.values[self._labels[name].index(value)]
            elif isinstance(parameter, Ordered):
                value = parameter.values[int(value)]
            values[name] = value
        return values

    def encode(self, params: Mapping[str, Any]) -> Configuration:
        """Return the configuration of the core for some values; errors name the parameter."""
        configuration: Configuration = {}
        for name, value in params.items():
            parameter = self.parameters.get(name)
            if parameter is None:
                raise space_error([(name, "is not in the space")])
            if isinstance(parameter, (Choice, Ordered)):
                index = _position(parameter.values, value)
                if index is None:
                    raise space_error([(name, f"is {value!r}, which is not in the space")])
                configuration[name] = (
                    self._labels[name][index] if isinstance(parameter, Choice) else float(index)
                )
            else:
                whole = _is_number(value) and float(value).is_integer()
                is_integer = isinstance(parameter, Integer) and whole
                configuration[name] = int(value) if is_integer else value
        return configuration

    def document(self) -> list[dict[str, Any]] | None:
        """Return the space as JSON data for `from_document`; None if JSON cannot represent it."""
        entries = []
        for name, parameter in self.parameters.items():
            entries.append({"name": name, "type": type(parameter).__name__, **vars(parameter)})
        try:
            same = json.loads(json.dumps(entries, allow_nan=False))
        except (TypeError, ValueError):
            return None
        # Tuples, numpy scalars and keys that are not strings change their type.
        return same if same == entries and _kinds(same) == _kinds(entries) else None

    @staticmethod
    def from_document(document: list[dict[str, Any]]) -> Space:
        """Return the space of a document."""
        kinds = {kind.__name__: kind for kind in (Integer, Real, Choice, Ordered)}
        space = {}
        for entry in document:
            fields = {key: value for key, value in entry.items() if key not in ("name", "type")}
            space[entry["name"]] = kinds[entry["type"]](**fields)
        return Space(space)


def _kinds(value: Any) -> Any:
    """Return the types of all parts of some data."""
    if isinstance(value, dict):
        return {key: _kinds(item) for key, item in value.items()}
    return [_kinds(item) for item in value] if isinstance(value, list) else type(value)


def _position(values: Sequence[Any], value: Any) -> int | None:
    """Return the index of a value; True differs from 1, 1.0 does not."""
    for index, item in enumerate(values):
        if item is value or (
            isinstance(item, bool) == isinstance(value, bool) and _equal(item, value)
        ):
            return index
    return None


def _equal(value: Any, other: Any) -> bool:
    try:
        return bool(value == other)
    except ValueError:
        # Arrays compare element by element; they are equal only if they are identical.
        return False


def _labels(values: Sequence[Any]) -> list[str]:
    """Return a label for each value of a choice that is the same in every process."""
    if all(isinstance(value, str) for value in values):
        return [str(value) for value in values]
    plain = (str, bool, int, float, type(None))
    # The repr of other objects may contain their address.
    texts = [
        repr(value) if isinstance(value, plain) else f"value {index}"
        for index, value in enumerate(values)
    ]
    if len(set(texts)) == len(texts):
        return texts
    return [f"value {index}" for index in range(len(texts))]


def _is_number(value: Any) -> bool:
    return isinstance(value, RealNumber) and not isinstance(value, bool)


def _parameter(name: str, domain: Any) -> Parameter:
    """Return the parameter of an entry of the space."""
    if not isinstance(name, str) or not name:
        raise ValueError("names must be strings")
    if isinstance(domain, (Integer, Real)):
        return _bounded(domain, domain.low, domain.high, domain.log, _condition(domain.when))
    if isinstance(domain, (Choice, Ordered)):
        return type(domain)(_distinct(domain.values), _condition(domain.when))
    if hasattr(domain, "dist") and hasattr(domain, "support"):
        return _of_scipy(domain)
    if (
        isinstance(domain, tuple)
        and len(domain) in (2, 3)
        and all(_is_number(bound) for bound in domain[:2])
    ):
        if len(domain) == 3 and domain[2] not in ("log", "linear"):
            raise ValueError(f"has {domain[2]!r} as its third entry, must be 'log' or 'linear'")
        return _bounded(None, domain[0], domain[1], len(domain) == 3 and domain[2] == "log", None)
    if isinstance(domain, (list, range)) or (
        type(domain).__module__ == "numpy" and getattr(domain, "ndim", 0) == 1
    ):
        values = _distinct(domain)
        # Numbers are ordered, whatever their order in the list.
        return (
            Ordered(sorted(values))
            if all(_is_number(value) for value in values)
            else Choice(values)
        )
    raise ValueError(
        f"is {domain!r}, must be (low, high), a list of values, Integer, Real, Choice, Ordered, "
        "or a frozen randint, uniform or loguniform of SciPy"
    )


def _condition(when: When) -> dict[str, list[Any]] | None:
    """Return a condition with a list of values."""
    if when is None:
        return None
    if not isinstance(when, Mapping) or len(when) != 1:
        raise ValueError(
            f"has the condition {when!r}, must be one name of a choice and its values: "
            "{'name': [...]}"
        )
    collections = (list, tuple, set, frozenset)
    return {
        parent: list(values) if isinstance(values, collections) else [values]
        for parent, values in when.items()
    }


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


def _distinct(values: Any) -> list[Any]:
    """Return the values of a list, which must be distinct."""
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise ValueError(f"has the values {values!r}, must be a list of values")
    distinct = [
        value.item()
        if type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0
        else value
        for value in values
    ]
    if not distinct:
        raise ValueError("has no values, must have at least one")
    for index, value in enumerate(distinct):
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"has the value {value!r}, must be finite")
        if _position(distinct[:index], value) is not None:
            raise ValueError(f"has the value {value!r} twice")
    return distinct


def _of_scipy(frozen: Any) -> Parameter:
    """Return the parameter of a frozen distribution that the core supports."""
    name = frozen.dist.name
    _, loc, _ = frozen.dist._parse_args(*frozen.args, **frozen.kwds)
    low, high = frozen.support()
    if name == "randint":
        return Integer(int(low), int(high))
    if name == "uniform":
        return Real(float(low), float(high))
    if name in ("loguniform", "reciprocal") and loc == 0:
        return Real(float(low), float(high), log=True)
    raise ValueError(
        f"is the distribution {name!r}, must be randint, uniform, or loguniform at loc 0"
    )


def make_engine(
    space: Space, engine: str, seed: int, options: Mapping[str, Any] | None = None
) -> _core.Engine:
    """Return a new engine of the core; errors name the parameter."""
    if not isinstance(seed, Integral) or not 0 <= seed < 2**64:
        raise parameter_error("seed", f"is {seed!r}, must be a whole number from 0")
    return _core.Engine(space.text, engine, int(seed), options_dict(options))


def options_dict(options: Any) -> dict[str, Any]:
    """Return the options of an engine as a dictionary for the core."""
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise parameter_error("engine_options", f"is {options!r}, must be a dict of values by name")
    return dict(options)
