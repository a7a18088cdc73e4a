"""Pretrained models whose splits a method starts from, in memory or as files."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from swarmwood import _core


@contextmanager
def stored_model(model: Any, names: list[str]) -> Iterator[str | None]:
    """Store a model in a temporary file, with the feature names of the data."""
    if model is None:
        yield None
        return
    library, read = _load_named(model, names)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, f"{library}.json")
        read.save(path)
        yield path


def loaded_model(model: Any, names: list[str]) -> _core.Model:
    """Return a model to continue, with the feature names of the data."""
    if isinstance(model, _core.Model):
        return model
    library, read = _load_named(model, names)
    if library == "sklearn":
        raise TypeError(
            "init_model: models of scikit-learn cannot be continued; pass a file, or a model of "
            "swarmwood, XGBoost, LightGBM or CatBoost"
        )
    return read


def _load_named(model: Any, names: list[str]) -> tuple[str, _core.Model]:
    library, read = _load(model)
    model_names = [name for name, _ in read.features]
    # A model that was trained on an array has generated names, which differ between libraries.
    if not set(model_names) <= set(names) and len(model_names) == len(names):
        read = read.with_feature_names(names)
    return library, read


def _load(model: Any) -> tuple[str, _core.Model]:
    if isinstance(model, (str, os.PathLike)):
        return Path(model).stem, _core.Model.load(os.fspath(model))
    library = type(model).__module__.partition(".")[0]
    if library == "xgboost":
        booster = model.get_booster() if hasattr(model, "get_booster") else model
        return library, _core.Model.from_bytes(bytes(booster.save_raw("json")))
    if library == "lightgbm":
        booster = getattr(model, "booster_", model)
        return library, _core.Model.from_bytes(booster.model_to_string().encode())
    if library == "catboost":
        # CatBoost writes JSON only to files.
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.json")
            model.save_model(path, format="json")
            return library, _core.Model.load(path)
    if library == "sklearn":
        return library, _core.Model.from_bytes(json.dumps(_document(model)).encode())
    if isinstance(getattr(model, "_model", None), _core.Model):
        return library, model._model
    raise TypeError(
        f"pretrained: a {type(model).__name__} is not supported; pass a file, or a model of "
        "XGBoost, LightGBM, CatBoost, scikit-learn (trees) or swarmwood"
    )


def _document(model: Any) -> dict[str, Any]:
    """Return a model of scikit-learn in the format of model files; only its splits are used."""
    trees = [tree for one in _trees(model) if (tree := _tree(*one)) is not None]
    if not trees:
        raise ValueError("pretrained: the model has no splits")
    count = int(model.n_features_in_)
    names = getattr(model, "feature_names_in_", [f"x{at}" for at in range(count)])
    return {
        "format": "swarmwood",
        "version": 1,
        "objective": "squared",
        "link": "identity",
        "base": [0.0],
        "provenance": {
            "version": _core.__version__,
            "method": "scikit-learn",
            "rows": 0,
            "params": {},
        },
        "target": {"name": "target"},
        "features": [{"name": str(name)} for name in names],
        "trees": trees,
    }


TreeArrays = tuple[Any, Any, Any, Any, Any]


def _trees(model: Any) -> Iterable[TreeArrays]:
    """Yield the nodes of each tree: feature (-1 for leaves), threshold, missing left, children."""
    if hasattr(model, "_predictors"):
        for predictor in (one for stage in model._predictors for one in stage):
            nodes = predictor.nodes
            if nodes["is_categorical"].any():
                raise ValueError(
                    "pretrained: categorical splits of scikit-learn's models are not supported"
                )
            feature = np.where(nodes["is_leaf"], -1, nodes["feature_idx"].astype(np.int64))
            yield (
                feature,
                nodes["num_threshold"],
                nodes["missing_go_to_left"],
                nodes["left"],
                nodes["right"],
            )
        return
    if hasattr(model, "tree_"):
        estimators: Iterable[Any] = [model]
    elif hasattr(model, "estimators_"):
        estimators = np.ravel(np.asarray(model.estimators_, dtype=object))
    else:
        raise TypeError(f"pretrained: a {type(model).__name__} has no trees, or is not fitted")
    for estimator in estimators:
        tree = estimator.tree_
        feature = np.where(tree.children_left < 0, -1, tree.feature)
        missing = getattr(tree, "missing_go_to_left", np.zeros(len(feature)))
        yield feature, tree.threshold, missing, tree.children_left, tree.children_right


def _tree(
    feature: Any, threshold: Any, missing_left: Any, left: Any, right: Any
) -> dict[str, Any] | None:
    inner = np.flatnonzero(feature >= 0)
    if not len(inner):
        return None
    leaves = np.flatnonzero(feature < 0)
    # Inner nodes keep their order, in which children follow their parents; leaves are negative.
    index = np.empty(len(feature), dtype=np.int64)
    index[inner] = np.arange(len(inner))
    index[leaves] = -1 - np.arange(len(leaves))
    return {
        "kind": "ordinary",
        "output": 0,
        "feature": [int(one) for one in feature[inner]],
        "threshold": [float(one) for one in threshold[inner]],
        "missing_right": [int(not one) for one in np.asarray(missing_left)[inner]],
        "left": index[np.asarray(left, dtype=np.int64)[inner]].tolist(),
        "right": index[np.asarray(right, dtype=np.int64)[inner]].tolist(),
        "gain": [0.0] * len(inner),
        "cover": [1.0] * len(inner),
        "leaf": [0.0] * len(leaves),
        "leaf_cover": [1.0] * len(leaves),
    }
