"""Errors of parameters, with the attributes that those of the core have."""

from __future__ import annotations

from swarmwood._core import ParameterError


def parameter_error(parameter: str, message: str) -> ParameterError:
    """Return the error of one parameter of an estimator or a function."""
    return _error(f"{parameter}: {message}", [(parameter, message)])


def space_error(violations: list[tuple[str, str]]) -> ParameterError:
    """Return the error of one or more parameters of a search space."""
    lines = [f"parameter {name!r}: {message}" for name, message in violations]
    return _error("\n".join(lines), violations)


def _error(text: str, violations: list[tuple[str, str]]) -> ParameterError:
    error = ParameterError(text)
    error.parameter = violations[0][0]
    error.violations = list(violations)
    return error
