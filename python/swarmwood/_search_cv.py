"""Hyperparameter search with cross-validation by any search engine."""

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

#: The search ends after this number of consecutive repeated configurations.
MAX_REPEATS = 1000


class SchemataSearchCV(BaseSearchCV):
    """Hyperparameter search with cross-validation, by schema exploitation or another engine.

    The interface is that of scikit-learn's `RandomizedSearchCV`; configurations are proposed from
    the scores so far.

    Parameters
    ----------
    estimator : estimator object
        The estimator to tune.
    param_distributions : dict
        Parameter names (of a Pipeline `step__name`) and their domains: see `swarmwood.Tuner`. A
        parameter whose condition (`when=`) does not hold keeps its value in `estimator`.
    n_iter : int, default=50
        Number of configurations to evaluate; fewer if the space is smaller.
    engine : str, default="schemata"
        The search engine: one of `swarmwood.engines()`.
    engine_options : dict, default=None
        Options of the engine by name, such as `{"mutation": "rank", "rate": 0.2}` of `sse`; see
        `swarmwood.engine_options`. None is the defaults.
    batch_size : int, default=4
        Number of configurations that are evaluated in parallel before the engine is updated. Larger
        batches use more processors, smaller ones need fewer evaluations. Results depend on
        `batch_size`, never on `n_jobs`.
    scoring, n_jobs, refit, cv, verbose, pre_dispatch, error_score, return_train_score
        As in scikit-learn. With several metrics the search optimises the one that `refit` names,
        else the first.
    random_state : int, RandomState instance or None, default=None
        Seed of the engine; None is 0.

    Attributes
    ----------
    cv_results_, best_estimator_, best_params_, best_score_, best_index_, scorer_, n_splits_, \
    refit_time_, multimetric_
        As in scikit-learn.
    failed_params_ : list of dict
        Configurations of batches in which all fits failed; they are not in `cv_results_`.

    Notes
    -----
    A configuration whose mean score is not finite, because a fit failed and `error_score` is NaN,
    is reported to the engine as a failure; another `error_score` counts as a score. A configuration
    that is proposed again is not evaluated again. If all fits fail, the error of scikit-learn is
    raised.

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
        "engine_options": [dict, None],
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
        engine_options: dict[str, Any] | None = None,
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
        self.engine_options = engine_options
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
        # Which targets are supported (multi-output, for instance) depends on the estimator.
        tags.target_tags = copy.deepcopy(get_tags(self.estimator).target_tags)
        return tags

    def _check_input_parameters(self, X: Any, y: Any, split_params: Any) -> None:
        if y is None and get_tags(self.estimator).target_tags.required:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, "
                "but the target y is None."
            )

    def _run_search(
        self, evaluate_candidates: Callable[[Sequence[dict[str, Any]]], dict[str, Any]]
    ) -> None:
        space = Space(self.param_distributions)
        engine = _CachedEngine(make_engine(space, self.engine, self._seed(), self.engine_options))
        self.failed_params_: list[dict[str, Any]] = []
        failure = None
        done = scored = 0
        while done < self.n_iter:
            batch = engine.next(min(self.batch_size, self.n_iter - done))
            if not batch:
                break
            done += len(batch)
            candidates = [space.decode(configuration) for _, configuration in batch]
            try:
                results = evaluate_candidates(candidates)
            except ValueError as error:
                if not str(error).startswith("\nAll the "):
                    raise
                # scikit-learn raises if all fits of a call fail; here a call is one batch, and the
                # next one may succeed.
                failure = error
                self.failed_params_.extend(candidates)
                engine.tell(batch, [None] * len(batch))
                continue
            scores = results[self._score_column(results)][scored:]
            scored += len(batch)
            engine.tell(
                batch, [-float(score) if math.isfinite(score) else None for score in scores]
            )
        if failure is not None and not scored:
            raise failure

    def _seed(self) -> int:
        if self.random_state is None:
            return 0
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _score_column(self, results: dict[str, Any]) -> str:
        """Return the column of the results that the search optimises."""
        column = f"mean_test_{self.refit}"
        if isinstance(self.refit, str) and column in results:
            return column
        return "mean_test_score" if "mean_test_score" in results else _first_metric(results)


def _first_metric(results: dict[str, Any]) -> str:
    return next(name for name in results if name.startswith("mean_test_"))


#: A configuration and the numbers of its trials.
Candidate = tuple[list[int], dict[str, Any]]


class _CachedEngine:
    """An engine with a cache for repeated configurations."""

    def __init__(self, engine: _core.Engine) -> None:
        self._engine = engine
        self._losses: dict[frozenset[tuple[str, Any]], float | None] = {}

    def next(self, at_most: int) -> list[Candidate]:
        """Return up to `at_most` new configurations; none if the search is over."""
        batch: dict[frozenset[tuple[str, Any]], Candidate] = {}
        repeats = 0
        while len(batch) < at_most and repeats < MAX_REPEATS:
            trials = self._engine.ask(at_most - len(batch))
            if not trials:
                break
            for number, configuration in trials:
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
        """Report the losses of a batch; None is a failure."""
        for (numbers, configuration), loss in zip(batch, losses, strict=True):
            self._engine.tell([(number, loss) for number in numbers])
            self._losses[frozenset(configuration.items())] = loss
