"""Tuning of an estimator, of any function, and with Optuna."""

# %% An estimator of scikit-learn with cross-validation. The default engine is schema
# exploitation.
import math

from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from swarmwood import GreedyBoostClassifier, Integer, SchemataSearchCV, Tuner, engines

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
space = {"max_depth": (1, 5), "learning_rate": (0.05, 0.5, "log"), "subsample": [0.5, 0.75, 1.0]}
model = GreedyBoostClassifier(n_estimators=20, n_jobs=1)
search = SchemataSearchCV(model, space, n_iter=12, cv=3, scoring="neg_log_loss", random_state=1)
search.fit(X_train, y_train)
print(
    "best:",
    search.best_params_,
    f"log loss {-search.best_score_:.3f}, test {-search.score(X_test, y_test):.3f}",
)

# %% A pipeline, with a parameter that is there only under a condition.
pipeline = make_pipeline(
    StandardScaler(), LogisticRegression(solver="saga", max_iter=200, tol=0.01)
)
space = {
    "standardscaler__with_mean": [True, False],
    "logisticregression__C": (0.01, 100.0, "log"),
    "logisticregression__l1_ratio": [0.0, 0.5, 1.0],
}
search = SchemataSearchCV(pipeline, space, n_iter=8, cv=3, engine="tpe").fit(X_train, y_train)
print("best:", search.best_params_, f"accuracy {search.score(X_test, y_test):.3f}")

# %% Anything else: ask and tell. The search can be saved between two trials.
for name, about in engines().items():
    print(f"{name:10} {about}")
tuner = Tuner(
    {
        "shape": ["line", "wave"],
        "period": Integer(1, 20, when={"shape": "wave"}),
        "height": (0.0, 5.0),
    },
    seed=1,
)
for _ in range(40):
    trial = tuner.ask()
    period = trial.params.get("period", 20)
    tuner.tell(trial, abs(math.log(period / 6)) + abs(trial.params["height"] - 2))
tuner.save("search.json")
tuner = Tuner.load("search.json")
print("best:", tuner.best_.params, f"{tuner.best_.value:.3f}")
assert tuner.best_.value < 1

# %% In Optuna, with its pruners, storages and pictures.
import optuna

from swarmwood.optuna import SchemataSampler

optuna.logging.set_verbosity(optuna.logging.WARNING)
study = optuna.create_study(sampler=SchemataSampler(seed=1), storage="sqlite:///study.db")
study.optimize(
    lambda trial: (trial.suggest_float("x", -5, 5) - 1) ** 2 + trial.suggest_int("y", 0, 9),
    n_trials=40,
)
print("best:", study.best_params, f"{study.best_value:.3f}")
assert study.best_value < 2
