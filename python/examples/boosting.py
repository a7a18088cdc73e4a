"""A small ensemble by search, beside greedy boosting of the same size."""

# %% The data: Friedman's first function with noise.
from sklearn.datasets import make_friedman1
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import train_test_split

from swarmwood import GreedyBoostRegressor, SwarmBoostRegressor

X, y = make_friedman1(1500, noise=1.0, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

# %% Six trees of at most 32 leaves: greedy, and searched together.
greedy = GreedyBoostRegressor(
    n_estimators=6, growth="leaf", max_depth=0, max_leaves=32, learning_rate=0.5
)
searched = SwarmBoostRegressor(n_estimators=6, max_leaves=32)
errors = {}
for model in (greedy, searched):
    model.fit(X_train, y_train)
    errors[type(model).__name__] = root_mean_squared_error(y_test, model.predict(X_test))
    print(f"{type(model).__name__}: RMSE {errors[type(model).__name__]:.3f}")
assert errors["SwarmBoostRegressor"] < errors["GreedyBoostRegressor"]

# %% The history of the search, feature importances and SHAP values.
history = searched.search_history_
print(f"{len(history['step'])} steps, {history['evaluations'][-1]:.0f} trees grown")
print("importances:", searched.feature_importances_.round(3))
contributions = searched.predict(X_test[:1], pred_contribs=True)
print("the first prediction, feature by feature:", contributions.round(2))
