"""Feature budgets and interaction constraints, by the names that scikit-learn has for them."""

import numpy as np
import pandas as pd
import pytest

from swarmwood import (
    GreedyBoostRegressor,
    ParameterError,
    SwarmBoostRegressor,
    SwarmTreeRegressor,
)


@pytest.fixture
def rows():
    random = np.random.default_rng(1)
    x = pd.DataFrame(random.normal(size=(300, 4)), columns=list("abcd"))
    return x, 3 * x["a"] + x["b"] * x["c"] + 0.1 * random.normal(size=300)


@pytest.mark.parametrize("kind", [GreedyBoostRegressor, SwarmBoostRegressor])
def test_a_budget_limits_features_and_their_costs(rows, kind):
    x, y = rows
    model = kind(max_features=1, random_state=0).fit(x, y)
    assert np.count_nonzero(model.feature_importances_) == 1
    assert np.argmax(model.feature_importances_) == 0
    cheap = kind(feature_cost={"a": 50}, max_feature_cost=2, random_state=0).fit(x, y)
    assert cheap.feature_importances_[0] == 0
    assert np.count_nonzero(cheap.feature_importances_) <= 2


@pytest.mark.parametrize("groups", [[{"a", "b"}], [{0, 1}, [2, 3]], "a,b;*", [("a", "b"), ["*"]]])
def test_groups_are_named_as_in_scikit_learn(rows, groups):
    x, y = rows
    model = GreedyBoostRegressor(n_estimators=20, interaction_cst=groups).fit(x, y)
    expected = GreedyBoostRegressor(n_estimators=20, interaction_cst="c,d;a,b").fit(x, y)
    assert np.array_equal(model.predict(x), expected.predict(x))
    free = GreedyBoostRegressor(n_estimators=20).fit(x, y)
    assert not np.array_equal(model.predict(x), free.predict(x))


def test_no_interactions_make_a_sum_of_functions_of_one_feature(rows):
    x, y = rows
    model = GreedyBoostRegressor(interaction_cst="no_interactions").fit(x, y)
    base = x.iloc[:1]
    moved = [base.assign(a=1.0), base.assign(b=1.0), base.assign(a=1.0, b=1.0)]
    start, one, other, both = (model.predict(each)[0] for each in (base, *moved))
    assert both - start == pytest.approx(one - start + other - start, abs=1e-6)


@pytest.mark.parametrize("value", [[{"a", "z"}], [{7}], "z,a"])
def test_features_that_are_not_there_are_refused(rows, value):
    with pytest.raises((ParameterError, ValueError), match="interaction_cst"):
        GreedyBoostRegressor(interaction_cst=value).fit(*rows)


@pytest.mark.parametrize("kind", [GreedyBoostRegressor, SwarmBoostRegressor, SwarmTreeRegressor])
@pytest.mark.parametrize(
    "split",
    [
        "b<=0.125",
        "b<=0.125; missing right",
        {"feature": "b", "threshold": 0.125, "right": {"feature": 2, "threshold": -0.5}},
    ],
)
def test_trees_begin_with_the_first_split(rows, kind, split):
    x, y = rows
    model = kind(first_split=split, random_state=0).fit(x, y)
    assert model.get_params()["first_split"] == split
    other = kind(random_state=0).fit(x, y)
    assert not np.array_equal(model.predict(x), other.predict(x))


@pytest.mark.parametrize(
    "split", ["b<3", "z<=3", {"feature": "b"}, {"feature": 9, "threshold": 1}, 3]
)
def test_first_splits_that_cannot_be_made_are_refused(rows, split):
    with pytest.raises((ParameterError, ValueError), match="first_split"):
        GreedyBoostRegressor(first_split=split).fit(*rows)


def test_single_trees_have_feature_budgets_and_groups(rows):
    x, y = rows
    model = SwarmTreeRegressor(max_features=1, random_state=0).fit(x, y)
    assert np.count_nonzero(model.feature_importances_) == 1
    SwarmTreeRegressor(interaction_cst="no_interactions", random_state=0).fit(x, y)
