"""Black-box optimisation with the ask-and-tell interface."""

from __future__ import annotations

import base64
import contextlib
import json
import math
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, overload

from sklearn.exceptions import NotFittedError

from swarmwood import _core
from swarmwood._errors import parameter_error
from swarmwood._space import Space, make_engine, options_dict
from swarmwood._trial_tasks import TrialRunner

#: The version of files that `Tuner.save` writes.
VERSION = 1


class NothingToAsk(RuntimeError):
    """There is no next trial: the engine waits for results, or the search is over."""


@dataclass(frozen=True)
class Trial:
    """A configuration to evaluate: its number and its parameters."""

    number: int
    params: dict[str, Any]


class Best(NamedTuple):
    """The best trial so far."""

    params: dict[str, Any]
    value: float


class Tuner:
    """A search over a space by any engine: `ask` for parameters, `tell` their value.

    Parameters
    ----------
    space : dict
        Names and domains: `(low, high)` (integers if both bounds are, else real numbers),
        `(low, high, "log")`, a list of values (ordered if all are numbers), `Integer`, `Real`,
        `Choice`, `Ordered` with `log=` and `when=`, or a frozen `randint`, `uniform` or
        `loguniform` of SciPy.
    engine : str, default="tpe"
        The search engine: one of `swarmwood.engines()`.
    engine_options : dict, default=None
        Options of the engine by name, such as `{"mutation": "rank", "rate": 0.2}` of `sse`; see
        `swarmwood.engine_options`. None is the defaults.
    seed : int, default=0
        Random seed. The same seed and the same results give the same trials.
    maximize : bool, default=False
        Whether larger values are better.

    Notes
    -----
    Several trials may be asked at a time, and results may be told in any order. The order of the
    results between two asks does not matter, so that parallel evaluation is reproducible.

    Examples
    --------
    >>> from swarmwood import Integer, Tuner
    >>> space = {
    ...     "kernel": ["linear", "poly"],
    ...     "degree": Integer(2, 5, when={"kernel": "poly"}),
    ...     "C": (0.01, 99, "log"),
    ... }
    >>> tuner = Tuner(space, engine="tpe", seed=1)
    >>> for _ in range(30):
    ...     trial = tuner.ask()
    ...     tuner.tell(trial, abs(trial.params["C"] - 1) + trial.params.get("degree", 9))
    >>> tuner.best_.params["kernel"]
    'poly'
    >>> len(tuner.trials)
    30

    `optimize` asks and tells by itself, and can evaluate on an executor:

    >>> tuner = Tuner({"x": (-2.0, 2.0)}, seed=1)
    >>> tuner.optimize(lambda params: (params["x"] - 1) ** 2, n_trials=40)
    >>> round(tuner.best_.params["x"])
    1
    """

    def __init__(
        self,
        space: Mapping[str, Any],
        *,
        engine: str = "tpe",
        engine_options: Mapping[str, Any] | None = None,
        seed: int = 0,
        maximize: bool = False,
    ) -> None:
        self._space = Space(space)
        self._engine = make_engine(self._space, engine, seed, engine_options)
        self.engine = engine
        self.engine_options = _checked_options(engine, engine_options)
        self.seed = seed
        self.maximize = bool(maximize)
        self._asked: dict[int, dict[str, Any]] = {}
        self._told: dict[int, float | None] = {}
        self._added: list[tuple[dict[str, Any], float | None]] = []

    def __repr__(self) -> str:
        """Return the engine, the parameters, and how the search stands."""
        names = ", ".join(self._space.parameters)
        told = sum(value is not None for value in self._told.values())
        state = f"{told} of {len(self._asked)} trials told"
        with contextlib.suppress(NotFittedError):
            state += f", best {self.best_.value:.6g}"
        return f"Tuner(engine={self.engine!r}, seed={self.seed}, parameters=[{names}]; {state})"

    @overload
    def ask(self) -> Trial: ...

    @overload
    def ask(self, n: int) -> list[Trial]: ...

    def ask(self, n: int | None = None) -> Trial | list[Trial]:
        """Return the next trial, or a list of up to `n`.

        Without `n`, `NothingToAsk` is raised where the list would be empty: if the engine works in
        generations and waits for results of the current one, or if the search is over.
        """
        if n is not None and n < 1:
            raise parameter_error("n", f"is {n!r}, must be at least 1")
        trials = []
        for number, configuration in self._engine.ask(1 if n is None else n):
            trial = Trial(number, self._space.decode(configuration))
            self._asked[number] = trial.params
            trials.append(trial)
        if n is not None:
            return trials
        if trials:
            return trials[0]
        if waiting := len(self.open_trials):
            raise NothingToAsk(
                f"the engine waits for the results of {waiting} open trials; tell them first"
            )
        raise NothingToAsk("the search is over: the engine has no more trials")

    def tell(self, trial: Trial | int, value: float | None) -> None:
        """Report the value of a trial; None or a value that is not finite is a failure."""
        number = trial.number if isinstance(trial, Trial) else int(trial)
        if number not in self._asked:
            raise ValueError(f"trial {number} was not asked")
        if number in self._told:
            raise ValueError(f"trial {number} was already told")
        finite = _finite(value)
        self._engine.tell([(number, self._loss(finite))])
        self._told[number] = finite

    def fail(self, trial: Trial | int) -> None:
        """Report that a trial failed."""
        self.tell(trial, None)

    def add(self, params: Mapping[str, Any], value: float | None) -> None:
        """Add a trial that was evaluated elsewhere; None as its value is a failure."""
        configuration = self._space.encode(params)
        finite = _finite(value)
        self._engine.adopt(configuration, self._loss(finite))
        self._added.append((self._space.decode(configuration), finite))

    def optimize(
        self,
        function: Callable[..., Any],
        n_trials: int,
        *,
        batch_size: int = 4,
        folds: int | None = None,
        data: Sequence[Any] = (),
        executor: Any = None,
        catch: tuple[type[Exception], ...] = (),
    ) -> None:
        """Evaluate trials, here or on an executor: `best_` and `trials` are the same either way.

        Parameters
        ----------
        function : callable
            Returns the value of `function(params, *data)`, or of `function(params, fold, *data)`
            where there are folds; None or a value that is not finite is a failure.
        n_trials : int
            Number of trials; fewer if the search is over before.
        batch_size : int, default=4
            Number of trials that are evaluated before the engine hears of their values. Results
            depend on it, never on the executor or on the order in which tasks end.
        folds : int, default=None
            Number of folds. Each fold of a trial is a task, and the value of a trial is the mean.
        data : sequence, default=()
            Further arguments, such as rows. They are sent to each worker process once.
        executor : executor or callable, default=None
            An object with the method `submit` of `concurrent.futures`, or a function that makes
            one: processes, loky, Dask, Ray. None is this process.
        catch : tuple of exception types, default=()
            Exceptions of the function that are failures of a trial. Others are raised, after the
            engine has heard of the rest of the batch.
        """
        for name, number in [("n_trials", n_trials), ("batch_size", batch_size)]:
            if number < 1:
                raise parameter_error(name, f"is {number!r}, must be at least 1")
        if folds is not None and folds < 1:
            raise parameter_error("folds", f"is {folds!r}, must be at least 1")
        runner = TrialRunner(function, data, folds, executor, catch)
        try:
            done = 0
            while done < n_trials:
                size = min(batch_size, n_trials - done)
                # Trials that an earlier run left open come first.
                trials = self.open_trials[:size]
                if len(trials) < size:
                    trials += self.ask(size - len(trials))
                if not trials:
                    break
                outcomes = runner.evaluate([dict(trial.params) for trial in trials])
                raised = None
                for trial, (value, error) in zip(trials, outcomes, strict=True):
                    if error is None:
                        self.tell(trial, value)
                    raised = raised or error
                if raised is not None:
                    raise raised
                done += len(trials)
        finally:
            runner.close()

    @property
    def trials(self) -> list[tuple[dict[str, Any], float | None]]:
        """Parameters and values (None for failures) of finished trials; added ones come last."""
        own = [(self._asked[number], self._told[number]) for number in sorted(self._told)]
        return [(dict(params), value) for params, value in own + self._added]

    @property
    def open_trials(self) -> list[Trial]:
        """Trials that were asked and not told."""
        return [
            Trial(number, params)
            for number, params in self._asked.items()
            if number not in self._told
        ]

    @property
    def best_(self) -> Best:
        """Parameters and value of the best trial; the first one of ties."""
        best = self._engine.best()
        if best is None:
            raise NotFittedError("no trial has a value yet; ask and tell first")
        _, loss, configuration = best
        return Best(self._space.decode(configuration), -loss if self.maximize else loss)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file, open trials included; `Tuner.load` resumes from it."""
        document = self._document()
        document["snapshot"] = base64.b64encode(document["snapshot"]).decode("ascii")
        target = Path(path)
        # Written aside and renamed, so that readers never see a partial file.
        handle, aside = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(document, file)
            os.replace(aside, target)
        except BaseException:
            os.unlink(aside)
            raise

    @classmethod
    def load(cls, path: str | os.PathLike[str], space: Mapping[str, Any] | None = None) -> Tuner:
        """Return the tuner of a file; pass the space if JSON cannot represent its values."""
        with open(path, encoding="utf-8") as file:
            try:
                document = json.load(file)
            except ValueError:
                document = None
        if not isinstance(document, dict) or "swarmwood_tuner" not in document:
            raise ValueError(f"{os.fspath(path)}: is not a file of a Tuner")
        if document["swarmwood_tuner"] > VERSION:
            raise ValueError(
                f"{os.fspath(path)}: was written by a newer swarmwood; update this one"
            )
        if space is None:
            if document["space"] is None:
                raise ValueError(
                    f"{os.fspath(path)}: holds values that JSON cannot represent; pass space="
                )
            restored = Space.from_document(document["space"])
        else:
            restored = Space(space)
        document["snapshot"] = base64.b64decode(document["snapshot"])
        tuner = cls.__new__(cls)
        tuner._restore(restored, document)
        return tuner

    def _loss(self, value: float | None) -> float | None:
        return -value if value is not None and self.maximize else value

    def _document(self) -> dict[str, Any]:
        """Return the state as data, without the objects of choices."""
        encode = self._space.encode
        return {
            "swarmwood_tuner": VERSION,
            "engine": self.engine,
            "engine_options": self.engine_options,
            "seed": int(self.seed),
            "maximize": self.maximize,
            "space": self._space.document(),
            "asked": [[number, encode(params)] for number, params in self._asked.items()],
            "told": list(self._told.items()),
            "added": [[encode(params), value] for params, value in self._added],
            "snapshot": self._engine.snapshot(),
        }

    def _restore(self, space: Space, document: dict[str, Any]) -> None:
        self._space = space
        self.engine = document["engine"]
        if "engine_options" not in document and self.engine == "pso":
            self.engine = "pso-discrete"  # its name before engines had options
        self.engine_options = document.get("engine_options", {})
        self.seed = document["seed"]
        self.maximize = document["maximize"]
        self._engine = _core.Engine.resume(space.text, self.engine, document["snapshot"])
        self._asked = {number: space.decode(one) for number, one in document["asked"]}
        self._told = dict(document["told"])
        self._added = [(space.decode(one), value) for one, value in document["added"]]

    def __getstate__(self) -> dict[str, Any]:
        return {"parameters": self._space.parameters, "document": self._document()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._restore(Space(state["parameters"]), state["document"])


def _finite(value: Any) -> float | None:
    if value is None:
        return None
    number = float(value)
    return number if math.isfinite(number) else None


def engines() -> dict[str, str]:
    """Return the search engines by name, each with a line of description.

    >>> "schemata" in engines()
    True
    """
    return dict(_core.engines())


def engine_options(engine: str) -> dict[str, dict[str, Any]]:
    """Return the options of an engine by name: type, range, default and help.

    >>> engine_options("sse")["mutation"]["range"]
    ['normal', 'rank']
    >>> engine_options("sse")["rate"]["default"]
    0.15
    """
    _core.check_engine_options(engine)  # raises if there is no such engine
    found = next(one for one in json.loads(_core.engine_list()) if one["name"] == engine)
    return {option.pop("name"): option for option in found["options"]}


def _checked_options(engine: str, options: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the options that are not the defaults."""
    checked: dict[str, Any] = json.loads(_core.check_engine_options(engine, options_dict(options)))
    return checked
