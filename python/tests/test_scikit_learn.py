"""scikit-learn's own checks, without expected failures, and its tools."""

import copy
import io
import pickle

import joblib
import numpy as np
import pytest
from conftest import CLASSIFIERS, METHODS, REGRESSORS, is_classifier, name_of
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from swarmwood import GreedyBoostRegressor


@pytest.mark.parametrize("case", METHODS, ids=name_of)
def test_check_estimator_has_no_failures(case):
    estimator, parameters = case
    results = check_estimator(estimator(**parameters), on_fail=None, on_skip=None)
    failed = {
        one["check_name"]: str(one["exception"])[:500]
        for one in results
        if one["status"] == "failed"
    }
    assert not failed
    assert not [one for one in results if one["status"] == "xfail"]
    passed = [one["check_name"] for one in results if one["status"] == "passed"]
    assert len(passed) > 40
    assert {"check_estimator_sparse_array", "check_estimator_sparse_matrix"} <= set(passed)


@pytest.mark.parametrize("case", METHODS, ids=name_of)
def test_weights_equal_repeated_rows_bit_by_bit(case, steps):
    estimator, parameters = case
    X, numbers, classes = steps
    y = classes if is_classifier(estimator) else numbers
    rng = np.random.default_rng(1)
    weight = rng.integers(0, 4, len(y))
    order = rng.permutation(np.repeat(np.arange(len(y)), weight))
    weighted = estimator(**parameters).fit(X, y, sample_weight=weight)
    repeated = estimator(**parameters).fit(X[order], y[order])
    assert weighted._model.to_json() == repeated._model.to_json()


@pytest.mark.parametrize("estimator", CLASSIFIERS + REGRESSORS)
def test_copies_predict_the_same(estimator, steps):
    X, numbers, classes = steps
    y = classes if is_classifier(estimator) else numbers
    fitted = estimator(random_state=3, n_jobs=1).fit(X, y)
    file = io.BytesIO()
    joblib.dump(fitted, file)
    file.seek(0)
    for other in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted), joblib.load(file)):
        np.testing.assert_array_equal(other.predict(X), fitted.predict(X))
        assert other._model.to_json() == fitted._model.to_json()
    fresh = clone(fitted)
    assert fresh.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        fresh.predict(X)
    np.testing.assert_array_equal(fresh.fit(X, y).predict(X), fitted.predict(X))


def test_works_in_scikit_learns_tools(steps):
    X, y, _ = steps
    model = GreedyBoostRegressor(n_estimators=20, learning_rate=0.3, n_jobs=1)
    assert min(cross_val_score(model, X, y, cv=3, n_jobs=2)) > 0.9
    grid = GridSearchCV(model, {"n_estimators": [1, 20], "max_depth": [1, 3]}, cv=3).fit(X, y)
    assert grid.best_params_ == {"n_estimators": 20, "max_depth": 3} or grid.best_score_ > 0.9
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), model).fit(X, y)
    assert pipeline.score(X, y) > 0.95
    assert list(pipeline[-1].feature_names_in_) == ["x0", "x1", "x2", "x3"]


def test_threads_change_nothing(steps):
    X, y, _ = steps
    models = [
        GreedyBoostRegressor(n_jobs=jobs, subsample=0.7).fit(X, y)._model.to_json()
        for jobs in (1, 2, -1, None)
    ]
    assert len(set(models)) == 1
