"""Trials of a search as tasks: parameters and the number of a fold in, a value out.

The function and its data are sent to each worker process once, as the rows of a fit are
(`_executor`).
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from swarmwood._errors import parameter_error
from swarmwood._executor import TaskSender

#: A value, or the exception that the function raised.
Outcome = tuple[float | None, Exception | None]


@dataclass(frozen=True)
class TrialFunction:
    """A function and its data, pickled."""

    pickled: bytes

    def open(self) -> OpenFunction:
        """Unpickle them in a worker."""
        return OpenFunction(*pickle.loads(self.pickled))


@dataclass(frozen=True)
class OpenFunction:
    """A function and the arguments that follow the parameters."""

    function: Callable[..., Any]
    data: tuple[Any, ...]

    def run(self, task: bytes) -> bytes:
        """Evaluate a pickled task; the pickled outcome."""
        outcome = self.evaluate(*pickle.loads(task))
        try:
            return pickle.dumps(outcome)
        except Exception:
            # An exception that cannot be sent is told by its text.
            error = outcome[1]
            return pickle.dumps((None, RuntimeError(f"{type(error).__name__}: {error}")))

    def evaluate(self, params: dict[str, Any], fold: int | None) -> Outcome:
        """Call the function; its value, or what it raised."""
        arguments = (params, *(() if fold is None else (fold,)), *self.data)
        try:
            value = self.function(*arguments)
            return None if value is None else float(value), None
        except Exception as error:
            return None, error


class TrialRunner:
    """Evaluates batches of trials, here or on an executor."""

    def __init__(
        self,
        function: Callable[..., Any],
        data: Sequence[Any],
        folds: int | None,
        executor: Any,
        catch: tuple[type[Exception], ...],
    ) -> None:
        self._folds = folds
        self._catch = catch
        self._here = OpenFunction(function, tuple(data))
        self._sender: TaskSender | None = None
        if executor is not None:
            try:
                pickled = _pickler().dumps((function, tuple(data)))
            except Exception as error:
                raise parameter_error(
                    "executor", f"needs a function and data that can be pickled: {error}"
                ) from error
            self._sender = TaskSender(executor, TrialFunction(pickled))

    def evaluate(self, batch: Sequence[dict[str, Any]]) -> list[Outcome]:
        """Return the value of each set of parameters, the mean over the folds; None is a failure.

        An exception that is not caught comes with the first trial that raised it.
        """
        numbers = [None] if self._folds is None else list(range(self._folds))
        tasks = [(params, fold) for params in batch for fold in numbers]
        if self._sender is None:
            outcomes = [self._here.evaluate(*task) for task in tasks]
        else:
            results = self._sender([pickle.dumps(task) for task in tasks], lambda: False)
            outcomes = [pickle.loads(result) for result in results or []]
        size = len(numbers)
        return [self._merged(outcomes[at : at + size]) for at in range(0, len(tasks), size)]

    def _merged(self, folds: Sequence[Outcome]) -> Outcome:
        errors = [error for _, error in folds if error is not None]
        for error in errors:
            if not isinstance(error, self._catch):
                return None, error
        values = [value for value, _ in folds if value is not None and math.isfinite(value)]
        if len(values) < len(folds):
            return None, None
        return math.fsum(values) / len(values), None

    def close(self) -> None:
        """End an executor that was made here."""
        if self._sender is not None:
            self._sender.close()


def _pickler() -> Any:
    """Return the module that pickles functions without a name, too; joblib comes with it."""
    try:
        import cloudpickle
    except ImportError:
        from joblib.externals import cloudpickle
    return cloudpickle
