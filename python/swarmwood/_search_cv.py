"""Parameters of any scikit-learn estimator, searched with cross-validation by any engine."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils import check_random_state, get_tags
from sklearn.utils._param_validation import Interval, StrOptions

from swarmwood import _core
from swarmwood._space import Space, make_engine

#: So many answers in a row from memory count as the end: the engine has nothing new to ask.
PATIENCE = 1000


class SchemataSearchCV(BaseSearchCV):
    """Search for good parameters with cross-validation, by the exploiter of schemata or any other engine.

    It is used as scikit-learn's `RandomizedSearchCV` is, and looks where the scores so far say that it is worth it.

    Parameters
    ----------
    estimator : estimator object
        Whose parameters are searched.
    param_distributions : dict
        Names of parameters (of a Pipeline `step__name`), and what they may be: see `swarmwood.Tuner`. A parameter whose
        condition (`when=`) does not hold keeps the value that it has in `estimator`.
    n_iter : int, default=50
        Configurations to evaluate; fewer if the space has no more.
    engine : str, default="schemata"
        Who proposes configurations: one of `swarmwood.engines()`.
    batch_size : int, default=4
        Configurations that are evaluated together, all folds side by side; the engine learns after each batch. More
        keep more processors busy, fewer learn sooner. Results depend on it and never on `n_jobs`.
    scoring, n_jobs, refit, cv, verbose, pre_dispatch, error_score, return_train_score
        As in scikit-learn. With several metrics the search follows the one that `refit` names, or else the first.
    random_state : int, RandomState instance or None, default=None
        The seed of the engine; None is 0.

    Attributes
    ----------
    cv_results_, best_estimator_, best_params_, best_score_, best_index_, scorer_, n_splits_, refit_time_, multimetric_
        As in scikit-learn.
    failed_params_ : list of dict
        Configurations of batches in which every single fit failed: they are not in `cv_results_`.

    Notes
    -----
    A configuration whose mean score is not finite, because a fit failed and `error_score` is NaN, is told to the
    engine as a failure; another `error_score` counts as the score it is. An engine that asks for a configuration
    again is answered from memory. If all fits of the whole search fail, the error is raised as scikit-learn raises
    it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from swarmwood import GreedyBoostClassifier, SchemataSearchCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GreedyBoostClassifier(n_estimators=20, n_jobs=1)
    >>> space = {"max_depth": (1, 4), "learning_rate": (0.05, 0.5, "log")}
    >>> search = SchemataSearchCV(model, space, n_iter=8, cv=3, random_state=1).fit(X, y)
    >>> bool(search.best_score_ > 0.9)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseSearchCV._parameter_constraints,
        "param_distributions": [dict],
        "n_iter": [Interval(Integral, 1, None, closed="left")],
        "engine": [StrOptions({name for name, _ in _core.engines()})],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any,
        param_distributions: dict[str, Any],
        *,
        n_iter: int = 50,
        engine: str = "schemata",
        batch_size: int = 4,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: bool | str | Callable[..., int] = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        random_state: Any = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
    ) -> None:
        self.param_distributions = param_distributions
        self.n_iter = n_iter
        self.engine = engine
        self.batch_size = batch_size
        self.random_state = random_state
        super().__init__(
            estimator=estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # What targets are taken, several at once for instance, is up to the estimator.
        tags.target_tags = copy.deepcopy(get_tags(self.estimator).target_tags)
        return tags

    def _check_input_parameters(self, X: Any, y: Any, split_params: Any) -> None:
        if y is None and get_tags(self.estimator).target_tags.required:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")

    def _run_search(self, evaluate_candidates: Callable[[Sequence[dict[str, Any]]], dict[str, Any]]) -> None:
        space = Space(self.param_distributions)
        asking = _Asking(make_engine(space, self.engine, self._seed()))
        self.failed_params_: list[dict[str, Any]] = []
        vain = None
        done = scored = 0
        while done < self.n_iter:
            batch = asking.next(min(self.batch_size, self.n_iter - done))
            if not batch:
                break
            done += len(batch)
            candidates = [space.decode(configuration) for _, configuration in batch]
            try:
                results = evaluate_candidates(candidates)
            except ValueError as error:
                if not str(error).startswith("\nAll the "):
                    raise
                # scikit-learn gives up where a whole call fails; here that is one batch, and the next may do better.
                vain = error
                self.failed_params_.extend(candidates)
                asking.tell(batch, [None] * len(batch))
                continue
            scores = results[self._followed(results)][scored:]
            scored += len(batch)
            asking.tell(batch, [-float(score) if math.isfinite(score) else None for score in scores])
        if vain is not None and not scored:
            raise vain

    def _seed(self) -> int:
        if self.random_state is None:
            return 0
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _followed(self, results: dict[str, Any]) -> str:
        """Return the column of the results that the search follows."""
        named = f"mean_test_{self.refit}"
        if isinstance(self.refit, str) and named in results:
            return named
        return "mean_test_score" if "mean_test_score" in results else _first_metric(results)


def _first_metric(results: dict[str, Any]) -> str:
    return next(name for name in results if name.startswith("mean_test_"))


#: A configuration and the numbers under which it was asked.
Candidate = tuple[list[int], dict[str, Any]]


class _Asking:
    """An engine that is answered from memory where it repeats itself."""

    def __init__(self, engine: _core.Engine) -> None:
        self._engine = engine
        self._losses: dict[frozenset[tuple[str, Any]], float | None] = {}

    def next(self, at_most: int) -> list[Candidate]:
        """Return up to so many new configurations; none if the search is over."""
        batch: dict[frozenset[tuple[str, Any]], Candidate] = {}
        repeats = 0
        while len(batch) < at_most and repeats < PATIENCE:
            asked = self._engine.ask(at_most - len(batch))
            if not asked:
                break
            for number, configuration in asked:
                key = frozenset(configuration.items())
                if key in self._losses:
                    repeats += 1
                    self._engine.tell([(number, self._losses[key])])
                elif key in batch:
                    repeats += 1
                    batch[key][0].append(number)
                else:
                    batch[key] = ([number], configuration)
        return list(batch.values())

    def tell(self, batch: Sequence[Candidate], losses: Sequence[float | None]) -> None:
        """Tell the losses of a batch; None where it failed."""
        for (numbers, configuration), loss in zip(batch, losses, strict=True):
            self._engine.tell([(number, loss) for number in numbers])
            self._losses[frozenset(configuration.items())] = loss
