"""The four peers behind one face: bin, train, save, load, and the ways each can score a batch of
rows.

A way is a pair: what has to be built from the array first, and the scoring itself. It is built anew
for every pass, because XGBoost remembers the predictions of a DMatrix it has seen.

Libraries are imported inside the constructors, so that a child process loads only the one it
measures.
"""

import pickle
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from shape import Shape

Ways = dict[str, tuple[Callable, Callable]]

PASSES = 3  # how often a batch is scored for one measurement, by every contender


def best_pass(build: Callable, call: Callable) -> float:
    """Seconds of the fastest of PASSES calls; what it is called with is built each time,
    untimed."""
    passes = []
    for _ in range(PASSES):
        batch = build()
        started = time.perf_counter()
        call(batch)
        passes.append(time.perf_counter() - started)
    return min(passes)


class XGBoost:
    """XGBoost's histogram method, depth-wise or loss-guided."""

    suffix = ".ubj"

    def __init__(self, shape: Shape):
        import xgboost

        self.lib, self.shape = xgboost, shape
        objective = {
            "regression": "reg:squarederror",
            "binary": "binary:logistic",
            "multiclass": "multi:softprob",
        }
        self.params = {
            "objective": objective[shape.task],
            "tree_method": "hist",
            "eta": shape.learning_rate,
            "max_depth": shape.depth,
            "max_leaves": shape.leaves,
            "grow_policy": "lossguide" if shape.growth == "leaf" else "depthwise",
            "nthread": shape.threads,
            "seed": 0,
        }
        if shape.task == "multiclass":
            self.params["num_class"] = shape.classes
        if shape.equal:
            equal = {
                "lambda": shape.l2,
                "min_child_weight": shape.min_child_weight,
                "max_bin": shape.bins,
            }
            self.params.update(equal)

    def bin(self, x: np.ndarray, y: np.ndarray) -> None:
        bins = self.params.get("max_bin", 256)
        self.data = self.lib.QuantileDMatrix(x, y, max_bin=bins, nthread=self.shape.threads)

    def train(self) -> None:
        self.model = self.lib.train(self.params, self.data, self.shape.trees)

    def save(self, path: Path) -> None:
        self.model.save_model(path)

    def load(self, path: Path) -> None:
        self.model = self.lib.Booster({"nthread": self.shape.threads}, model_file=path)

    def leaves(self) -> list[int]:
        return [tree.count("leaf=") for tree in self.model.get_dump()]

    def ways(self, x: np.ndarray) -> Ways:
        return {
            "array": (
                lambda: x,
                lambda rows: self.model.inplace_predict(rows, predict_type="margin"),
            ),
            "prepared": (
                lambda: self.lib.DMatrix(x, nthread=self.shape.threads),
                lambda rows: self.model.predict(rows, output_margin=True),
            ),
        }


class LightGBM:
    """LightGBM; it always grows leaf by leaf, within the depth it is given."""

    suffix = ".txt"

    def __init__(self, shape: Shape):
        import lightgbm

        self.lib, self.shape = lightgbm, shape
        self.params = {
            "objective": shape.task,
            "learning_rate": shape.learning_rate,
            "max_depth": shape.depth or -1,
            "num_leaves": shape.max_leaves,
            "num_threads": shape.threads,
            "verbose": -1,
            "seed": 0,
        }
        if shape.task == "multiclass":
            self.params["num_class"] = shape.classes
        if shape.equal:
            self.params.update(
                lambda_l2=shape.l2,
                min_sum_hessian_in_leaf=shape.min_child_weight,
                min_data_in_leaf=1,
                min_data_in_bin=1,
                max_bin=shape.bins,
            )

    def bin(self, x: np.ndarray, y: np.ndarray) -> None:
        self.data = self.lib.Dataset(x, y, params=self.params).construct()

    def train(self) -> None:
        self.model = self.lib.train(self.params, self.data, self.shape.trees)

    def save(self, path: Path) -> None:
        self.model.save_model(path)

    def load(self, path: Path) -> None:
        self.model = self.lib.Booster(model_file=path)

    def leaves(self) -> list[int]:
        return [tree["num_leaves"] for tree in self.model.dump_model()["tree_info"]]

    def ways(self, x: np.ndarray) -> Ways:
        options = {"raw_score": True, "num_threads": self.shape.threads}
        return {"array": (lambda: x, lambda rows: self.model.predict(rows, **options))}


class CatBoost:
    """CatBoost; without `equal` it keeps its own sampling, score noise and leaf iterations."""

    suffix = ".cbm"

    def __init__(self, shape: Shape):
        import catboost

        self.lib, self.shape = catboost, shape
        loss = {"regression": "RMSE", "binary": "Logloss", "multiclass": "MultiClass"}
        policy = {"oblivious": "SymmetricTree", "leaf": "Lossguide", "depth": "Depthwise"}
        self.params = {
            "loss_function": loss[shape.task],
            "iterations": shape.trees,
            "learning_rate": shape.learning_rate,
            "grow_policy": policy[shape.growth],
            "depth": shape.depth or 16,
            "thread_count": shape.threads,
            "random_seed": 0,
            "verbose": False,
            "allow_writing_files": False,
        }
        if shape.growth == "leaf":
            self.params["max_leaves"] = shape.max_leaves
        if shape.equal:
            self.params.update(
                l2_leaf_reg=shape.l2,
                border_count=shape.bins - 1,
                bootstrap_type="No",
                random_strength=0,
                leaf_estimation_method="Newton",
                leaf_estimation_iterations=1,
                boosting_type="Plain",
            )

    def bin(self, x: np.ndarray, y: np.ndarray) -> None:
        self.data = self.lib.Pool(
            x, y, thread_count=self.shape.threads
        )  # its bins are made inside `fit`

    def train(self) -> None:
        self.model = self.lib.CatBoost(self.params).fit(self.data)

    def save(self, path: Path) -> None:
        self.model.save_model(str(path))

    def load(self, path: Path) -> None:
        self.model = self.lib.CatBoost().load_model(str(path))

    def leaves(self) -> list[int]:
        return [int(count) for count in self.model.get_tree_leaf_counts()]

    def ways(self, x: np.ndarray) -> Ways:
        options = {"prediction_type": "RawFormulaVal", "thread_count": self.shape.threads}

        def score(rows):
            return self.model.predict(rows, **options)

        pool = {"thread_count": self.shape.threads}
        return {"array": (lambda: x, score), "prepared": (lambda: self.lib.Pool(x, **pool), score)}


class Sklearn:
    """scikit-learn's histogram booster; OMP_NUM_THREADS sets its threads, and it has no minimum
    child weight."""

    suffix = ".pickle"

    def __init__(self, shape: Shape):
        from sklearn import ensemble

        kind = "Regressor" if shape.task == "regression" else "Classifier"
        options = {
            "max_iter": shape.trees,
            "learning_rate": shape.learning_rate,
            "max_depth": shape.depth or None,
            "max_leaf_nodes": shape.max_leaves,
            "early_stopping": False,
            "random_state": 0,
        }
        if shape.equal:
            options |= {
                "l2_regularization": shape.l2,
                "min_samples_leaf": 1,
                "max_bins": shape.bins,
            }
        self.shape, self.model = shape, getattr(ensemble, f"HistGradientBoosting{kind}")(**options)

    def bin(self, x: np.ndarray, y: np.ndarray) -> None:
        self.data = (x, y)  # its bins are made inside `fit`

    def train(self) -> None:
        self.model.fit(*self.data)

    def save(self, path: Path) -> None:
        path.write_bytes(pickle.dumps(self.model))

    def load(self, path: Path) -> None:
        self.model = pickle.loads(path.read_bytes())

    def ways(self, x: np.ndarray) -> Ways:
        raw = (
            self.model.predict if self.shape.task == "regression" else self.model.decision_function
        )
        return {"array": (lambda: x, raw)}


PEERS = {"lightgbm": LightGBM, "xgboost": XGBoost, "catboost": CatBoost, "sklearn": Sklearn}
PACKAGES = {
    "lightgbm": "lightgbm",
    "xgboost": "xgboost-cpu",
    "catboost": "catboost",
    "sklearn": "scikit-learn",
}
