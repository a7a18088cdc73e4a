"""Make small models of the other libraries, with rows and the library's own predictions for them.

bench/.venv/bin/python bench/import_samples.py               # the samples that are kept in git
bench/.venv/bin/python bench/import_samples.py --seeds 5 --out DIR   # many more, for a longer check

Each sample is a model file and `<name>.expected.json` beside it: the names of the columns, the rows
(null is a missing value, a category is its name), the raw scores where ours are on the same scale,
and the predictions. Many rows lie on and beside thresholds, where comparisons of 32 and of 64 bits
part.
"""

import argparse
import json
import math
import os
import re
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import catboost as cb
import lightgbm as lgb
import numpy as np
import pandas as pd
import xgboost as xgb

HERE = Path(__file__).resolve().parent
KEPT = HERE.parent / "crates" / "swarmwood-model" / "tests" / "imports"
TRAIN, ROWS, TREES = 240, 32, 5
# Kinds of models that only the longer check makes, to keep git small; so are those with an
# objective in their name.
NOT_KEPT = {
    "xgboost_two_classes",
    "xgboost_poisson",
    "lightgbm_two_classes",
    "lightgbm_poisson",
    "lightgbm_dart",
    "catboost_two_classes",
    "catboost_poisson",
}
OBJECTIVE = "_objective_"
COLOURS = ["red", "green", "blue", "grey", "pink", "teal"]


class Data:
    """A table with numbers a, b, c and a category d, and targets of all kinds."""

    def __init__(self, seed: int, missing: bool = False, zeros: bool = False) -> None:
        rng = np.random.default_rng(seed)
        self.numbers = np.round(rng.normal(size=(TRAIN + ROWS, 3)) * [1.0, 10.0, 1000.0], 6)
        if zeros:
            self.numbers[rng.random(self.numbers.shape) < 0.3] = 0.0
        if missing:
            self.numbers[rng.random(self.numbers.shape) < 0.2] = np.nan
        self.codes = rng.integers(0, len(COLOURS), TRAIN + ROWS)
        a, b, c = np.nan_to_num(self.numbers, nan=0.7).T
        signal = (
            a
            + np.sin(b / 5.0) * 2.0
            + (c > 200.0)
            + np.array([0, 2, -1, 3, 0, 1])[self.codes] * 0.7
        )
        self.y = np.round(signal + 0.1 * rng.normal(size=signal.size), 4)
        self.binary = (self.y > np.median(self.y)).astype(int)
        self.three = np.digitize(self.y, np.quantile(self.y, [0.33, 0.66]))
        self.counts = np.floor(np.exp(np.clip(self.y / 2.0, -2.0, 3.0)))
        self.positive = self.counts + 0.5

    def beside(self, thresholds: list[tuple[int, float]]) -> None:
        """Moves some of the last rows onto thresholds and next to them."""
        for row, (feature, threshold) in zip(
            range(TRAIN + 2, TRAIN + ROWS - 4), thresholds * 20, strict=False
        ):
            if not math.isfinite(threshold):
                continue
            with np.errstate(over="ignore"):
                single = np.float32(threshold)
                below, above = (
                    np.nextafter(single, np.float32(-np.inf)),
                    np.nextafter(single, np.float32(np.inf)),
                )
            middle = (float(single) + float(below)) / 2.0
            middle_up = (float(single) + float(above)) / 2.0
            variants = [threshold, float(single), float(below), float(above), middle, middle_up]
            variants += [
                math.nextafter(value, side)
                for value in (middle, middle_up)
                for side in (-math.inf, math.inf)
            ]
            variants = [value for value in variants if math.isfinite(value)]
            self.numbers[row, feature] = variants[row % len(variants)]
        self.numbers[-4] = 0.0
        self.numbers[-3] = [-0.0, 1e-36, -1e-36]
        self.numbers[-2] = [np.nan, 1e30, -1e30]
        self.numbers[-1] = np.nan

    def frame(self, rows: slice) -> pd.DataFrame:
        frame = pd.DataFrame(self.numbers[rows], columns=["a", "b", "c"])
        frame["d"] = pd.Categorical.from_codes(self.codes[rows], COLOURS)
        return frame

    def coded(self, rows: slice) -> np.ndarray:
        return np.column_stack([self.numbers[rows], self.codes[rows].astype(float)])


FIT, TEST = slice(0, TRAIN), slice(TRAIN, None)


def keep(out: Path, name: str, ending: str, columns, table, raw, predictions) -> None:
    """Writes what is expected of a model."""
    cells = [[None if isinstance(v, float) and math.isnan(v) else v for v in row] for row in table]

    def rows(values) -> list | None:
        known = values is not None
        return np.asarray(values, float).reshape(len(table), -1).tolist() if known else None

    expected = {"model": name + ending, "columns": list(columns), "rows": cells}
    expected |= {"raw": rows(raw), "predictions": rows(predictions)}
    lines = ",\n".join(
        f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
        for key, value in expected.items()
    )
    (out / f"{name}.expected.json").write_text("{" + lines + "}\n", encoding="utf-8")


def xgboost_model(
    out, name, ending, data, label, params, *, kind="numbers", rounds=TREES, same_raw=True
) -> None:
    """Trains, stores and predicts with XGBoost. `kind` is numbers, frame (named categories) or
    codes."""

    def matrix(rows, y=None):
        if kind == "frame":
            return xgb.DMatrix(data.frame(rows), label=y, enable_categorical=True)
        if kind == "codes":
            types = ["float", "float", "float", "c"]
            return xgb.DMatrix(
                data.coded(rows), label=y, feature_types=types, enable_categorical=True
            )
        return xgb.DMatrix(data.numbers[rows], label=y)

    defaults = {"nthread": 1, "max_depth": 3, "eta": 0.5, "seed": 7}
    booster = xgb.train(defaults | params, matrix(FIT, label[FIT]), rounds)
    dumped = json.loads(booster.save_raw("json").decode().replace("-Infinity", "-1e999"))
    booster_json = dumped["learner"]["gradient_booster"]
    trees = booster_json.get("gbtree", booster_json)["model"]["trees"]
    thresholds = [
        (int(feature), float(value))
        for tree in trees
        for feature, value, left, is_set in zip(
            tree["split_indices"],
            tree["split_conditions"],
            tree["left_children"],
            tree["split_type"],
            strict=True,
        )
        if left != -1 and not is_set and int(feature) < 3
    ]
    data.beside(thresholds)
    booster.save_model(out / f"{name}{ending}")
    test = matrix(TEST)
    raw, predictions = booster.predict(test, output_margin=True), booster.predict(test)
    columns, table = {
        "numbers": (["f0", "f1", "f2"], data.numbers[TEST].tolist()),
        "codes": (
            ["f0", "f1", "f2", "f3"],
            [[*row[:3], str(int(row[3]))] for row in data.coded(TEST).tolist()],
        ),
        "frame": (["a", "b", "c", "d"], data.frame(TEST).astype({"d": str}).values.tolist()),
    }[kind]
    keep(out, name, ending, columns, table, raw if same_raw else None, predictions)


def lightgbm_model(
    out, name, data, label, params, *, kind="numbers", rounds=TREES, same_raw=True
) -> None:
    """Trains, stores and predicts with LightGBM."""
    tables = {"numbers": lambda rows: data.numbers[rows], "codes": data.coded, "frame": data.frame}
    table = tables[kind]
    defaults = {
        "num_threads": 1,
        "num_leaves": 8,
        "learning_rate": 0.5,
        "min_data_in_leaf": 5,
        "verbose": -1,
    }
    defaults |= {
        "seed": 7,
        "cat_smooth": 1.0,
        "cat_l2": 1.0,
        "min_data_per_group": 5,
        "deterministic": True,
    }
    categories = [3] if kind == "codes" else "auto"
    dataset = lgb.Dataset(table(FIT), label[FIT], categorical_feature=categories)
    booster = lgb.train(defaults | params, dataset, rounds)
    text = booster.model_to_string()
    thresholds = []
    for features, values, kinds in zip(
        *(
            re.findall(rf"^{key}=(.*)$", text, re.M)
            for key in ("split_feature", "threshold", "decision_type")
        ),
        strict=True,
    ):
        parts = zip(features.split(), values.split(), kinds.split(), strict=True)
        thresholds += [
            (int(f), float(t)) for f, t, kind_ in parts if int(f) < 3 and not int(kind_) & 1
        ]
    data.beside(thresholds)
    booster.save_model(out / f"{name}.txt")
    test = table(TEST)
    raw, predictions = booster.predict(test, raw_score=True), booster.predict(test)
    columns, rows = {
        "numbers": (["Column_0", "Column_1", "Column_2"], data.numbers[TEST].tolist()),
        "codes": (
            ["Column_0", "Column_1", "Column_2", "Column_3"],
            [[*row[:3], str(int(row[3]))] for row in data.coded(TEST).tolist()],
        ),
        "frame": (["a", "b", "c", "d"], data.frame(TEST).astype({"d": str}).values.tolist()),
    }[kind]
    keep(out, name, ".txt", columns, rows, raw if same_raw else None, predictions)


def catboost_model(
    out, name, data, label, params, *, names=None, prediction="RawFormulaVal", same_raw=True
) -> None:
    """Trains, stores and predicts with CatBoost, over numbers."""

    def pool(rows, y=None):
        return cb.Pool(data.numbers[rows], label=y, feature_names=names)

    defaults = {
        "thread_count": 1,
        "depth": 3,
        "iterations": TREES,
        "learning_rate": 0.5,
        "logging_level": "Silent",
    }
    defaults |= {"random_seed": 7, "allow_writing_files": False, "border_count": 16}
    model = cb.train(pool=pool(FIT, label[FIT]), params=defaults | params)
    model.save_model(str(out / f"{name}.json"), format="json")
    dumped = json.loads((out / f"{name}.json").read_text(encoding="utf-8"))
    features = dumped["features_info"]["float_features"]
    data.beside(
        [(f["flat_feature_index"], border) for f in features for border in f["borders"] or []]
    )
    test = pool(TEST)
    raw = model.predict(test, prediction_type="RawFormulaVal")
    predictions = model.predict(test, prediction_type=prediction)
    if prediction == "Probability" and np.asarray(predictions).shape[1] == 2:
        predictions = np.asarray(predictions)[:, 1]
    rows = data.numbers[TEST].tolist()
    keep(
        out,
        name,
        ".json",
        names or ["f0", "f1", "f2"],
        rows,
        raw if same_raw else None,
        predictions,
    )


def xgboost_samples(out: Path, seed: int) -> None:
    def model(name, ending, params, target="y", missing=False, **more):
        data = Data(seed, missing=missing)
        xgboost_model(out, f"xgboost_{name}", ending, data, getattr(data, target), params, **more)

    model("regression", ".json", {})
    model("binary", ".ubj", {"objective": "binary:logistic"}, "binary")
    model("multiclass", ".json", {"objective": "multi:softprob", "num_class": 3}, "three", rounds=3)
    model(
        "two_classes",
        ".ubj",
        {"objective": "multi:softprob", "num_class": 2},
        "binary",
        rounds=3,
        same_raw=False,
    )
    model("dart", ".ubj", {"booster": "dart", "rate_drop": 0.5, "one_drop": 1}, missing=True)
    model(
        "missing", ".json", {"objective": "binary:logistic", "max_depth": 4}, "binary", missing=True
    )
    model("forest", ".ubj", {"num_parallel_tree": 3, "subsample": 0.5, "eta": 1.0}, rounds=2)
    model("categories", ".json", {"max_cat_to_onehot": 2}, missing=True, kind="frame")
    model("category_codes", ".ubj", {"max_cat_to_onehot": 8}, kind="codes")
    model("poisson", ".ubj", {"objective": "count:poisson"}, "counts")
    forest = {
        "objective": "multi:softprob",
        "num_class": 3,
        "num_parallel_tree": 2,
        "grow_policy": "lossguide",
    }
    model("multiclass_forest", ".ubj", forest | {"subsample": 0.7}, "three", rounds=2, missing=True)
    only_missing(out, seed)
    for objective, target, more in [
        ("reg:absoluteerror", "y", {}),
        ("reg:quantileerror", "y", {"quantile_alpha": 0.3}),
        ("reg:pseudohubererror", "y", {}),
        ("reg:squaredlogerror", "positive", {}),
        ("reg:logistic", "binary", {"base_score": 0.3}),
        ("binary:logitraw", "binary", {}),
        ("reg:gamma", "positive", {}),
        ("reg:tweedie", "counts", {"base_score": 2.0}),
        ("survival:cox", "positive", {}),
        ("rank:pairwise", "three", {}),
    ]:
        name = OBJECTIVE[1:] + objective.replace(":", "_")
        model(name, ".json", {"objective": objective} | more, target, missing=True)


def only_missing(out: Path, seed: int) -> None:
    """A column that is either missing or one number: its rule parts missing values from all
    others."""
    data = Data(seed)
    data.numbers[:, 0] = np.where(data.numbers[:, 0] > 0.0, 5.0, np.nan)
    data.y = np.where(np.isnan(data.numbers[:, 0]), 1.0, -1.0) + data.y * 0.1
    xgboost_model(out, "xgboost_only_missing", ".ubj", data, data.y, {"max_depth": 2}, rounds=3)


def lightgbm_samples(out: Path, seed: int) -> None:
    def model(name, params, target="y", missing=False, zeros=False, **more):
        data = Data(seed, missing=missing, zeros=zeros)
        lightgbm_model(out, f"lightgbm_{name}", data, getattr(data, target), params, **more)

    model("regression", {})
    model("binary", {"objective": "binary", "sigmoid": 2.0}, "binary", missing=True, same_raw=False)
    model("multiclass", {"objective": "multiclass", "num_class": 3}, "three", rounds=3)
    model(
        "two_classes",
        {"objective": "multiclass", "num_class": 2},
        "binary",
        rounds=3,
        same_raw=False,
    )
    model("categories", {}, missing=True, kind="frame")
    model("category_codes", {"objective": "binary"}, "binary", kind="codes")
    model("missing", {}, missing=True)
    model("zero_as_missing", {"zero_as_missing": True}, zeros=True, missing=True)
    model("nothing_missing", {"use_missing": False}, missing=True)
    model("poisson", {"objective": "poisson"}, "counts")
    model("forest", {"boosting": "rf", "bagging_fraction": 0.6, "bagging_freq": 1}, same_raw=False)
    model("dart", {"boosting": "dart", "drop_rate": 0.5, "objective": "l1"})
    for objective, target in [
        ("huber", "y"),
        ("fair", "y"),
        ("quantile", "y"),
        ("mape", "positive"),
        ("gamma", "positive"),
        ("tweedie", "counts"),
        ("cross_entropy", "binary"),
    ]:
        model(
            OBJECTIVE[1:] + objective,
            {"objective": objective, "zero_as_missing": True},
            target,
            zeros=True,
        )


def catboost_samples(out: Path, seed: int) -> None:
    def model(name, params, target="y", missing=False, **more):
        data = Data(seed, missing=missing)
        catboost_model(out, f"catboost_{name}", data, getattr(data, target), params, **more)

    probability = {"prediction": "Probability"}
    model("regression", {"loss_function": "RMSE"}, names=["a", "b c", "ü"])
    model("binary", {"loss_function": "Logloss"}, "binary", missing=True, **probability)
    model("multiclass", {"loss_function": "MultiClass", "iterations": 3}, "three", **probability)
    model("missing_last", {"loss_function": "MAE", "nan_mode": "Max"}, missing=True)
    leafwise = {"grow_policy": "Lossguide", "max_leaves": 6}
    model(
        "leafwise", {"loss_function": "Logloss"} | leafwise, "binary", missing=True, **probability
    )
    depthwise = {
        "loss_function": "MultiClass",
        "grow_policy": "Depthwise",
        "iterations": 2,
        "depth": 2,
    }
    model("multiclass_depthwise", depthwise, "three", **probability)
    model("poisson", {"loss_function": "Poisson"}, "counts", prediction="Exponent")
    two = {"loss_function": "MultiClass", "classes_count": 2, "iterations": 3}
    model("two_classes", two, "binary", same_raw=False, **probability)
    for loss, target, prediction in [
        ("Quantile:alpha=0.3", "y", "RawFormulaVal"),
        ("Huber:delta=1.0", "y", "RawFormulaVal"),
        ("MAPE", "positive", "RawFormulaVal"),
        ("LogCosh", "y", "RawFormulaVal"),
        ("Lq:q=2", "y", "RawFormulaVal"),
        ("Expectile:alpha=0.3", "y", "RawFormulaVal"),
        ("Tweedie:variance_power=1.5", "counts", "Exponent"),
        ("CrossEntropy", "binary", "Probability"),
    ]:
        params = {"loss_function": loss, "leaf_estimation_iterations": 1}
        model(
            OBJECTIVE[1:] + loss.split(":")[0], params, target, missing=True, prediction=prediction
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=KEPT, help="where the samples go")
    parser.add_argument(
        "--seeds", type=int, default=1, help="how many times each kind of model is made"
    )
    arguments = parser.parse_args()
    for seed in range(arguments.seeds):
        out = arguments.out if arguments.seeds == 1 else arguments.out / str(seed)
        out.mkdir(parents=True, exist_ok=True)
        for samples in (xgboost_samples, lightgbm_samples, catboost_samples):
            samples(out, seed + 1)
        if out == KEPT:
            for path in out.iterdir():
                if path.name.split(".")[0] in NOT_KEPT or OBJECTIVE in path.name:
                    path.unlink()


if __name__ == "__main__":
    main()
