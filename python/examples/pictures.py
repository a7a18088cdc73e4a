"""Plots of a search, a model and a study, each written to a file."""

# %% Five runs of a swarm with different seeds, with and without adaptive coefficients: mean and
# standard deviation.
from sklearn.datasets import load_wine
from sklearn.model_selection import RandomizedSearchCV

from swarmwood import GreedyBoostClassifier, SwarmBoostClassifier, SwarmTreeClassifier, plot

X, y = load_wine(return_X_y=True, as_frame=True)


def swarms(**more: object) -> list[SwarmBoostClassifier]:
    """Return five fits of the published swarm over the bins."""
    settings = {
        "method": "sgbdt-bins",
        "n_estimators": 2,
        "max_depth": 3,
        "iterations": 40,
        "n_jobs": 1,
    }
    return [
        SwarmBoostClassifier(random_state=seed, **settings, **more).fit(X, y) for seed in range(5)
    ]


plain, adaptive = swarms(), swarms(adaptive=True, mutation=0.02)
plot.convergence({"as published": plain, "adaptive": adaptive}, against="step").figure.savefig(
    "convergence.png"
)
plot.search(adaptive[0]).savefig("search.png")

# %% One tree: drawn, and over two of its features with the rows on top and its rules framed.
tree = SwarmTreeClassifier(max_leaves=4).fit(X[["flavanoids", "proline"]], y)
plot.tree(tree).figure.savefig("tree.png")
plot.decision_map(tree, X[["flavanoids", "proline"]], y).figure.savefig("map.png")

# %% What a booster uses, and how its loss fell.
booster = GreedyBoostClassifier(n_estimators=30).fit(X[::2], y[::2], eval_set=(X[1::2], y[1::2]))
plot.importance(booster).figure.savefig("importance.png")
plot.learning_curve(booster).figure.savefig("learning-curve.png")

# %% A tuning; study.jsonl of `swarmwood tune` and lists of (parameters, value) are accepted, too.
space = {
    "n_estimators": range(2, 20),
    "max_depth": [1, 2, 3, 4],
    "growth": ["depth", "leaf", "oblivious"],
}
tuned = RandomizedSearchCV(
    GreedyBoostClassifier(n_jobs=1), space, n_iter=25, cv=3, random_state=0
).fit(X, y)
for name in ("history", "importance", "parallel"):
    getattr(plot, f"tuning_{name}")(tuned).figure.savefig(f"tuning-{name}.png")
plot.tuning_slices(tuned).savefig("tuning-slices.png")
