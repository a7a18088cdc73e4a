"""`compress`: students of the models of several libraries."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

import swarmwood

DIABETES, CANCER, WINE = (
    load(return_X_y=True) for load in (load_diabetes, load_breast_cancer, load_wine)
)
SMALL = {"total_leaves": 48, "swaps": 4, "n_jobs": 1}


def xgboost_models():
    from xgboost import DMatrix, XGBClassifier, XGBRegressor, train

    yield XGBRegressor(n_estimators=60, max_depth=3, learning_rate=0.1).fit(*DIABETES), DIABETES
    yield XGBClassifier(n_estimators=60).fit(*CANCER), CANCER
    yield XGBClassifier(n_estimators=30).fit(*WINE), WINE
    booster = train({"objective": "binary:logistic"}, DMatrix(*CANCER), 30)
    yield booster, CANCER


def lightgbm_models():
    from lightgbm import LGBMClassifier, LGBMRegressor

    quiet = {"verbose": -1, "n_jobs": 1}
    yield LGBMRegressor(n_estimators=60, **quiet).fit(*DIABETES), DIABETES
    classifier = LGBMClassifier(n_estimators=60, **quiet).fit(*CANCER)
    yield classifier, CANCER
    yield classifier.booster_, CANCER
    yield LGBMClassifier(n_estimators=30, **quiet).fit(*WINE), WINE


def catboost_models():
    from catboost import CatBoostClassifier, CatBoostRegressor

    quiet = {"verbose": 0, "thread_count": 1, "allow_writing_files": False}
    yield CatBoostRegressor(iterations=60, **quiet).fit(*DIABETES), DIABETES
    yield CatBoostClassifier(iterations=60, **quiet).fit(*CANCER), CANCER
    yield CatBoostClassifier(iterations=30, **quiet).fit(*WINE), WINE


def scikit_learn_models():
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestRegressor
    from sklearn.ensemble import RandomForestClassifier as Forest

    yield RandomForestRegressor(50, random_state=0, min_samples_leaf=5).fit(*DIABETES), DIABETES
    yield GradientBoostingClassifier(random_state=0).fit(*CANCER), CANCER
    yield Forest(50, random_state=0, min_samples_leaf=3).fit(*WINE), WINE


def own_models():
    yield swarmwood.GreedyBoostRegressor(objective="poisson", max_depth=3).fit(*DIABETES), DIABETES
    yield swarmwood.GreedyBoostClassifier(n_estimators=30).fit(*WINE), WINE


@pytest.mark.parametrize(
    "models", [xgboost_models, lightgbm_models, catboost_models, scikit_learn_models, own_models]
)
def test_students_follow_their_teachers(models):
    for model, (X, y) in models():
        student = swarmwood.compress(model, X, y, **SMALL)
        report = student.compression_
        fidelity = report["fidelity"]
        assert fidelity["r2"] > 0.6, (model, report)
        assert set(report["metrics"]) == {"large_model", "small_model", "difference"}
        if hasattr(student, "classes_"):
            assert fidelity["agreement"] > 0.85, (model, report)
            assert student.predict_proba(X).shape == (len(X), len(np.unique(y)))
            assert (student.predict(X) == y).mean() > 0.85
        else:
            assert fidelity["agreement"] is None
            large = model.predict(X)
            assert np.corrcoef(student.predict(X), large)[0, 1] > 0.9, (model, report)


def test_data_frames_keep_their_types():
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "colour": pd.Categorical(random.choice(["red", "green", "blue"], 500)),
            "text": random.choice(["a", "b"], 500),
            "number": random.normal(size=500),
            "whole": random.integers(0, 9, 500),
        }
    )
    frame.loc[::7, "number"] = np.nan
    seen = []

    def scores(X):
        seen.append(X)
        return np.where(X["colour"] == "red", 3.0, 0.0) + X["number"].fillna(5) * (X["text"] == "a")

    student = swarmwood.compress(scores, frame, total_leaves=64, n_jobs=1)
    assert student.compression_["fidelity"]["r2"] > 0.95
    assert all(list(X.dtypes) == list(frame.dtypes) for X in seen)
    assert len(student.predict(frame)) == 500

    polars = pytest.importorskip("polars")
    table = polars.from_pandas(frame.drop(columns="text"))

    def of_polars(X):
        return X["whole"].to_numpy() * 1.0

    student = swarmwood.compress(of_polars, table, total_leaves=64, n_jobs=1)
    assert student.compression_["fidelity"]["r2"] > 0.95


def test_a_function_of_logits_needs_the_classes():
    X, _ = WINE

    def scores(X):
        return np.stack([X[:, 0], 15 - X[:, 0], X[:, 1] * 3], axis=1)

    student = swarmwood.compress(scores, X, classes=["a", "b", "c"], **SMALL)
    assert list(student.classes_) == ["a", "b", "c"]
    expected = np.array(["a", "b", "c"])[scores(X).argmax(axis=1)]
    assert (student.predict(X) == expected).mean() > 0.9


def test_files_and_repeats(tmp_path):
    X, y = DIABETES
    model = swarmwood.GreedyBoostRegressor(n_estimators=40).fit(X, y)
    model.save_model(tmp_path / "large.json")
    one = swarmwood.compress(str(tmp_path / "large.json"), X, **SMALL)
    two = swarmwood.compress(model, X, **{**SMALL, "n_jobs": 2})
    assert one._model.to_json() == two._model.to_json()
    assert one.compression_["metrics"] is None
    greedy = swarmwood.compress(model, X, method="greedy", n_estimators=5, swaps=1)
    assert greedy.compression_["fidelity"]["r2"] > 0.3

    state = tmp_path / "state"
    first = swarmwood.compress(model, X, checkpoint=state, **SMALL)
    again = swarmwood.compress(model, X, checkpoint=state, resume=True, **SMALL)
    assert first._model.to_json() == again._model.to_json() == one._model.to_json()


def test_repeated_rows_keep_their_scores():
    """Rows that occur more than once are put in another order before training."""
    X, _ = DIABETES
    X = np.concatenate([X, X[:100], X[:50]])
    student = swarmwood.compress(lambda X: X[:, 2] * 1000, X, total_leaves=64, n_jobs=1)
    assert student.compression_["fidelity"]["r2"] > 0.98


def test_what_is_wrong_is_said():
    X, _ = DIABETES
    with pytest.raises(TypeError, match="a int is not supported"):
        swarmwood.compress(3, X)
    with pytest.raises(ValueError, match="shape"):
        swarmwood.compress(lambda X: X, X, **SMALL)
    with pytest.raises(swarmwood.SwarmwoodError, match="score of row 1 is NaN"):
        swarmwood.compress(lambda X: np.full(len(X), np.nan), X, **SMALL)
    with pytest.raises(ZeroDivisionError):
        swarmwood.compress(lambda X: 1 / 0, X, **SMALL)
    with pytest.raises(swarmwood.ParameterError, match="total_leafs"):
        swarmwood.compress(lambda X: X[:, 0], X, total_leafs=3)
    with pytest.raises(swarmwood.ParameterError, match="squared differences"):
        swarmwood.compress(lambda X: X[:, 0], X, objective="huber", **SMALL)
