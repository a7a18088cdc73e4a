"""Decision thresholds."""

import numpy as np
import pytest

from swarmwood import GreedyBoostClassifier, SwarmBoostClassifier, SwarmTreeClassifier


@pytest.fixture
def hits():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 3))
    y = np.where(rng.random(400) < 1 / (1 + np.exp(2 - 2 * X[:, 0])), "yes", "no")
    return X, y


def test_predict_uses_the_threshold_and_probabilities_do_not_change(hits, tmp_path):
    X, y = hits
    plain = GreedyBoostClassifier(n_estimators=10).fit(X, y)
    assert plain.threshold_ == 0.5
    model = GreedyBoostClassifier(n_estimators=10, threshold=0.2).fit(X, y)
    assert model.threshold_ == 0.2
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    expected = np.where(model.predict_proba(X)[:, 1] > 0.2, "yes", "no")
    np.testing.assert_array_equal(model.predict(X), expected)
    assert (model.predict(X) == "yes").sum() > (plain.predict(X) == "yes").sum()

    model.save_model(tmp_path / "m.json")
    again = GreedyBoostClassifier().load_model(tmp_path / "m.json")
    assert again.threshold_ == 0.2
    np.testing.assert_array_equal(again.predict(X), expected)


@pytest.mark.parametrize(
    "estimator", [SwarmBoostClassifier(total_leaves=16), SwarmTreeClassifier()]
)
def test_a_threshold_is_chosen_for_a_goal(hits, estimator):
    X, y = hits
    thresholds = [
        estimator.set_params(threshold_for=goal).fit(X, y).threshold_
        for goal in ("cost=10:1", "cost=1:10")
    ]
    assert thresholds[0] < thresholds[1]
    assert any("out-of-fold" in note for note in estimator.fit_notes_)


def test_more_classes_have_no_threshold(hits):
    X, _ = hits
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    assert GreedyBoostClassifier(n_estimators=2).fit(X, y).threshold_ is None
    with pytest.raises(ValueError, match=r"threshold: .*two classes"):
        GreedyBoostClassifier(n_estimators=2, threshold=0.3).fit(X, y)
    with pytest.raises(ValueError, match=r"threshold_for: .*precision=0.9"):
        GreedyBoostClassifier(n_estimators=2, threshold_for="precision").fit(X, y)
