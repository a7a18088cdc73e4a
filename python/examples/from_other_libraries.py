"""The splits of a large model of another library, in few trees."""

# %% A random forest of scikit-learn; models of XGBoost, LightGBM and CatBoost are accepted as well,
# in memory or as files.
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from swarmwood import SwarmBoostClassifier

X, y = load_wine(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
forest = RandomForestClassifier(n_estimators=100, random_state=0).fit(X_train, y_train)
print(f"forest: {len(forest.estimators_)} trees, accuracy {forest.score(X_test, y_test):.3f}")

# %% Two rounds of oblivious trees over its splits, by the published swarm with mutation against
# early convergence.
model = SwarmBoostClassifier(
    method="psgbdt",
    pretrained=forest,
    n_estimators=2,
    max_depth=3,
    iterations=60,
    mutation=0.02,
    random_state=1,
)
model.fit(X_train, y_train)
print(f"psgbdt: {model.n_iter_} rounds, accuracy {model.score(X_test, y_test):.3f}")
assert model.score(X_test, y_test) > 0.8
