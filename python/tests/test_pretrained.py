"""Live models of other libraries, and their files, as a start of the search."""

import catboost
import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn import ensemble, linear_model, tree

from swarmwood import (
    GreedyBoostClassifier,
    SwarmBoostClassifier,
    SwarmTreeClassifier,
    _core,
    _pretrained,
)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(11)
    X = pd.DataFrame(rng.random((250, 3)), columns=["a", "b", "c"])
    return X, ((X["a"] > 0.4) & (X["b"] < 0.7)).astype(int).to_numpy()


SMALL = {"n_estimators": 4, "max_depth": 2}
PRETRAINED = {
    "xgboost": lambda: xgboost.XGBClassifier(**SMALL),
    "lightgbm": lambda: lightgbm.LGBMClassifier(**SMALL, verbose=-1),
    "catboost": lambda: catboost.CatBoostClassifier(
        iterations=4, depth=2, verbose=False, allow_writing_files=False, learning_rate=0.5
    ),
    "decision tree": lambda: tree.DecisionTreeClassifier(max_depth=2),
    "forest": lambda: ensemble.RandomForestClassifier(**SMALL, random_state=0),
    "boosting": lambda: ensemble.GradientBoostingClassifier(**SMALL),
    "histogram boosting": lambda: ensemble.HistGradientBoostingClassifier(max_iter=4, max_depth=2),
    "swarmwood": lambda: GreedyBoostClassifier(**SMALL),
}


def thresholds(model):
    return {
        (node["feature"], node["threshold"], *(node["levels"] or ()))
        for node in model.nodes()
        if node["children"] is not None
    }


@pytest.mark.parametrize("with_names", [True, False])
@pytest.mark.parametrize("pretrained", PRETRAINED)
def test_every_split_is_one_of_the_pretrained_model(pretrained, with_names, data):
    X, y = data
    X = X if with_names else X.to_numpy()
    live = PRETRAINED[pretrained]().fit(X, y)
    names = ["a", "b", "c"] if with_names else ["x0", "x1", "x2"]
    with _pretrained.stored_model(live, names) as path:
        splits = thresholds(_core.Model.load(path))
    assert splits
    for estimator in (
        SwarmBoostClassifier(
            method="psgbdt", n_estimators=2, max_depth=2, iterations=10, pretrained=live
        ),
        SwarmTreeClassifier(method="split-tree", max_depth=2, iterations=10, pretrained=live),
    ):
        model = estimator.fit(X, y)
        assert thresholds(model._model) <= splits
        assert model.score(X, y) > 0.8


def test_boosters_and_files(data, tmp_path):
    X, y = data
    live = PRETRAINED["xgboost"]().fit(X, y)
    live.save_model(tmp_path / "pretrained.json")
    settings = {"method": "psgbdt", "n_estimators": 2, "max_depth": 2, "iterations": 5}
    models = [
        SwarmBoostClassifier(**settings, pretrained=pretrained).fit(X, y)
        for pretrained in (
            live,
            live.get_booster(),
            tmp_path / "pretrained.json",
            str(tmp_path / "pretrained.json"),
        )
    ]
    for model in models[1:]:
        np.testing.assert_array_equal(model.predict_proba(X), models[0].predict_proba(X))
    assert dict(models[0]._model.parameters)["pretrained"] == "xgboost.json"


def test_models_without_trees_are_refused(data):
    X, y = data

    def fit(pretrained, **more):
        return SwarmBoostClassifier(method="psgbdt", pretrained=pretrained, **more).fit(X, y)

    with pytest.raises(TypeError, match="pretrained: a dict is not supported"):
        fit({})
    with pytest.raises(TypeError, match="LogisticRegression has no trees"):
        fit(linear_model.LogisticRegression().fit(X, y))
    with pytest.raises(ValueError, match="is for methods psgbdt, policy-gradient, split-tree"):
        SwarmBoostClassifier(method="swarm", pretrained=PRETRAINED["forest"]().fit(X, y)).fit(X, y)
    other = PRETRAINED["xgboost"]().fit(X.rename(columns={"a": "z"})[["z", "b"]], y)
    with pytest.raises(ValueError, match="asks for the feature 'z'"):
        fit(other)
