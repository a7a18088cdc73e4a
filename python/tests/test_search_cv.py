"""The search with cross-validation: scikit-learn's own checks and conventions."""

import pickle
import warnings

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification, make_regression
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import KFold, RandomizedSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils.estimator_checks import check_estimator

from swarmwood import GreedyBoostRegressor, Integer, SchemataSearchCV, engines


class Planted(ClassifierMixin, BaseEstimator):
    """Scores 1 - |x - 0.3| - |n - 7| / 10 whatever the rows, and fails where it is told to."""

    def __init__(self, x=0.5, n=1, kind="a", fail_above=9.0):
        self.x, self.n, self.kind, self.fail_above = x, n, kind, fail_above

    def fit(self, X, y):
        if self.x > self.fail_above:
            raise RuntimeError("planted")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])

    def score(self, X, y=None):
        return 1 - abs(self.x - 0.3) - abs(self.n - 7) / 10 - (self.kind == "b")


SPACE = {"x": (0.0, 1.0), "n": (1, 12), "kind": ["a", "b"]}
ROWS = (np.zeros((12, 2)), np.arange(12) % 2)


@pytest.mark.parametrize(
    ("estimator", "space"),
    [
        (Ridge(), {"alpha": (0.1, 1.0)}),
        (RidgeClassifier(), {"alpha": (0.1, 1.0, "log")}),
        (Pipeline([("pca", PCA()), ("ridge", Ridge())]), {"ridge__alpha": [0.1, 1.0]}),
    ],
    ids=["Ridge", "RidgeClassifier", "Pipeline"],
)
def test_check_estimator_has_no_failures(estimator, space):
    search = SchemataSearchCV(estimator, space, n_iter=2, cv=2, error_score="raise")
    results = check_estimator(search, on_fail=None, on_skip=None)
    failed = {
        one["check_name"]: str(one["exception"])[:500]
        for one in results
        if one["status"] == "failed"
    }
    assert not failed
    assert sum(one["status"] == "passed" for one in results) > 30


@pytest.mark.parametrize("engine", list(engines()))
def test_every_engine_searches(engine):
    search = SchemataSearchCV(Planted(), SPACE, n_iter=40, cv=2, engine=engine, random_state=1).fit(
        *ROWS
    )
    scores = search.cv_results_["mean_test_score"]
    assert len(scores) == 40 and search.best_score_ == max(scores) > 0.6
    assert len({tuple(params.items()) for params in search.cv_results_["params"]}) == 40
    assert search.best_estimator_.get_params() == {**Planted().get_params(), **search.best_params_}
    assert search.cv_results_["param_kind"].dtype == object


def test_it_learns():
    ours = SchemataSearchCV(Planted(), SPACE, n_iter=60, cv=2, random_state=0).fit(*ROWS)
    scores = ours.cv_results_["mean_test_score"]
    assert np.mean(scores[40:]) > np.mean(scores[:10]) + 0.2


def test_results_do_not_depend_on_the_number_of_jobs():
    X, y = make_regression(80, 4, noise=5, random_state=0)
    model = GreedyBoostRegressor(n_estimators=5, n_jobs=1)
    space = {"max_depth": (1, 5), "learning_rate": (0.05, 0.9, "log")}
    with parallel_config(
        "threading"
    ):  # which start sooner than processes and end in any order as well
        runs = [
            SchemataSearchCV(
                model, space, n_iter=16, cv=3, n_jobs=jobs, random_state=5, engine="tpe"
            ).fit(X, y)
            for jobs in (1, 4)
        ]
    for name in ("params", "mean_test_score", "split2_test_score", "rank_test_score"):
        np.testing.assert_array_equal(runs[0].cv_results_[name], runs[1].cv_results_[name])
    np.testing.assert_array_equal(runs[0].predict(X), runs[1].predict(X))


def test_failed_fits_are_told_as_failures():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = SchemataSearchCV(
            Planted(fail_above=0.5), SPACE, n_iter=40, cv=2, batch_size=2
        ).fit(*ROWS)
        alone = SchemataSearchCV(Planted(fail_above=0.5), SPACE, n_iter=40, cv=2, batch_size=1).fit(
            *ROWS
        )
    scores = search.cv_results_["mean_test_score"]
    failed = np.array([params["x"] > 0.5 for params in search.cv_results_["params"]])
    assert (
        failed.sum() > 0 and np.isnan(scores[failed]).all() and not np.isnan(scores[~failed]).any()
    )
    assert len(scores) + len(search.failed_params_) == 40 and search.best_params_["x"] <= 0.5
    # One at a time every failure is a call in which all fits fail: none may end the search.
    assert alone.failed_params_ and all(params["x"] > 0.5 for params in alone.failed_params_)
    assert not np.isnan(alone.cv_results_["mean_test_score"]).any()
    with pytest.raises(ValueError, match="fits failed"):
        SchemataSearchCV(Planted(fail_above=-1.0), SPACE, n_iter=6, cv=2).fit(*ROWS)
    with pytest.raises(RuntimeError, match="planted"):
        SchemataSearchCV(Planted(fail_above=-1.0), SPACE, n_iter=6, cv=2, error_score="raise").fit(
            *ROWS
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scored = SchemataSearchCV(
            Planted(fail_above=0.5), SPACE, n_iter=8, cv=2, error_score=-9.0
        ).fit(*ROWS)
    assert min(scored.cv_results_["mean_test_score"]) == -9.0


def test_small_spaces_end():
    search = SchemataSearchCV(Planted(), {"n": [1, 2, 3], "kind": ["a", "b"]}, n_iter=50, cv=2).fit(
        *ROWS
    )
    assert len(search.cv_results_["params"]) == 6 and search.best_params_ == {"n": 3, "kind": "a"}


def several(estimator, X, y):
    score = estimator.score(X, y)
    return {"good": score, "bad": -score}


def test_several_metrics_follow_the_one_that_is_refitted():
    def fitted(**more):
        return SchemataSearchCV(
            Planted(), SPACE, n_iter=24, cv=2, random_state=2, scoring=several, **more
        ).fit(*ROWS)

    good, bad = fitted(refit="good"), fitted(refit="bad")
    assert good.multimetric_ and good.best_score_ > 0.7 and bad.best_score_ > 0.7
    assert (
        np.mean(good.cv_results_["mean_test_good"])
        > np.mean(bad.cv_results_["mean_test_good"]) + 0.2
    )
    first = fitted(refit=False)
    assert first.cv_results_["params"] == good.cv_results_["params"] and not hasattr(
        first, "best_estimator_"
    )
    picked = fitted(refit=lambda results: int(np.argmin(results["mean_test_good"])))
    assert picked.best_index_ == np.argmin(picked.cv_results_["mean_test_good"])
    with pytest.raises(ValueError, match="refit must be set"):
        fitted(refit=True)
    X, y = make_classification(60, random_state=0)
    listed = SchemataSearchCV(
        LogisticRegression(), {"C": (0.01, 10.0, "log")}, n_iter=4, cv=2, scoring=["accuracy",
        "roc_auc"], refit="roc_auc", return_train_score=True,
    ).fit(X, y)  # fmt: skip
    assert {"mean_train_accuracy", "rank_test_roc_auc"} <= listed.cv_results_.keys()
    assert 0.5 < listed.score(X, y) <= 1.0


def test_pipelines_conditions_clones_and_pickles(capsys):
    X, y = make_regression(60, 5, random_state=0)
    pipeline = Pipeline([("pca", PCA()), ("model", GreedyBoostRegressor(n_estimators=3, n_jobs=1))])
    space = {
        "pca__whiten": [True, False],
        "pca__n_components": Integer(2, 5, when={"pca__whiten": True}),
        "model__max_depth": (1, 4),
    }
    search = SchemataSearchCV(
        pipeline, space, n_iter=10, cv=KFold(2, shuffle=True, random_state=0), random_state=0
    )
    assert clone(search).get_params()["param_distributions"] == space
    search.set_params(verbose=1).fit(X, y)
    assert "Fitting 2 folds for each of 4 candidates" in capsys.readouterr().out
    shown = search.cv_results_["param_pca__n_components"]
    whitened = search.cv_results_["param_pca__whiten"].astype(bool)
    assert (shown.mask == ~whitened).all() and 0 < whitened.sum() < 10
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(search)).predict(X), search.predict(X))
    weighted = clone(search).set_params(
        estimator=Ridge(), param_distributions={"alpha": (0.1, 9.0)}, verbose=0
    )
    weighted.fit(X, y, sample_weight=np.arange(60))
    assert weighted.best_estimator_.coef_.shape == (5,)


def test_faults_are_those_of_scikit_learn():
    for more, words in (
        ({"n_iter": 0}, "n_iter"),
        ({"engine": "tep"}, "engine"),
        ({"batch_size": 0}, "batch_size"),
        ({"param_distributions": {"x": (2, 1)}}, "parameter 'x': low bound 2"),
        ({"param_distributions": {"nonsense": (1, 2)}}, "nonsense"),
    ):
        with pytest.raises(ValueError, match=words):
            SchemataSearchCV(Planted(), SPACE, cv=2, n_iter=4).set_params(**more).fit(*ROWS)
    theirs = RandomizedSearchCV(Planted(), {"n": [1, 2]}, n_iter=2, cv=2).fit(*ROWS)
    ours = SchemataSearchCV(Planted(), {"n": [1, 2]}, n_iter=2, cv=2).fit(*ROWS)
    assert ours.cv_results_.keys() == theirs.cv_results_.keys()
