"""Automatic logging of MLflow, by its flavour for scikit-learn. Skipped without MLflow."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from swarmwood import GreedyBoostClassifier, SwarmTreeClassifier

mlflow = pytest.importorskip("mlflow")


@pytest.fixture
def logged(tmp_path, monkeypatch):
    """Automatic logging to a database of the test alone."""
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'runs.db'}")
    mlflow.set_experiment("swarmwood")
    mlflow.sklearn.autolog(silent=True)
    yield
    mlflow.sklearn.autolog(disable=True)


@pytest.fixture
def rows():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return train_test_split(X, y, random_state=0)


def test_a_pipeline_is_logged_and_predicts_the_same_when_it_is_loaded(logged, rows):
    X, X_test, y, _ = rows
    pipeline = make_pipeline(StandardScaler(), GreedyBoostClassifier(n_estimators=7))
    with mlflow.start_run() as run:
        pipeline.fit(X, y)

    data = mlflow.get_run(run.info.run_id).data
    assert data.params["greedyboostclassifier__n_estimators"] == "7"
    assert data.metrics["training_accuracy_score"] == pipeline.score(X, y)
    (model,) = mlflow.search_logged_models(output_format="list")
    loaded = mlflow.sklearn.load_model(model.model_uri)
    assert np.array_equal(loaded.predict_proba(X_test), pipeline.predict_proba(X_test))


def test_a_search_is_logged_with_its_candidates(logged, rows):
    X, _, y, _ = rows
    search = GridSearchCV(SwarmTreeClassifier(), {"max_leaves": [2, 4]}, cv=2)
    with mlflow.start_run() as run:
        search.fit(X, y)

    data = mlflow.get_run(run.info.run_id).data
    assert data.params["best_max_leaves"] == str(search.best_params_["max_leaves"])
    children = mlflow.search_runs(filter_string=f"tags.mlflow.parentRunId = '{run.info.run_id}'")
    assert sorted(children["params.max_leaves"]) == ["2", "4"]


def test_an_estimator_by_itself_is_logged_as_a_model(logged, rows):
    X, X_test, y, _ = rows
    model = SwarmTreeClassifier(max_leaves=4).fit(X, y)
    with mlflow.start_run():
        # The default format, skops, must be told to trust every type that is not scikit-learn's.
        stored = mlflow.sklearn.log_model(model, name="tree", serialization_format="cloudpickle")
    loaded = mlflow.pyfunc.load_model(stored.model_uri)
    assert np.array_equal(loaded.predict(X_test), model.predict(X_test))
