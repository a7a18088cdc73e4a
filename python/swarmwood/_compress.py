"""Compression: a small model that behaves like a large one."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swarmwood import _core
from swarmwood._classifier import Classifier
from swarmwood._errors import parameter_error
from swarmwood._estimator import Estimator
from swarmwood._estimators import (
    GreedyBoostClassifier,
    GreedyBoostRegressor,
    SwarmBoostClassifier,
    SwarmBoostRegressor,
)
from swarmwood._progress import Progress
from swarmwood._table import (
    categorical_mask,
    category_text,
    is_frame,
    is_pandas,
    readable,
    table_of,
    validated,
)

#: Raw scores of a matrix or data frame: one per row, or one per row and class.
Scores = Callable[[Any], Any]

#: Probabilities of models that have no other scores are limited to this distance from 0 and 1.
LEAST_PROBABILITY = 1e-3


def compress(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    classes: Any = None,
    swaps: int | None = None,
    validation_fraction: float = 0.2,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    **parameters: Any,
) -> Any:
    """Fit a small model to the scores of a large one.

    Parameters
    ----------
    model : object
        A fitted model of XGBoost, LightGBM, CatBoost, scikit-learn or swarmwood, the path of a
        model file, or a function from `X` to predictions, or with `classes` to logits: one per row,
        or one per row and class.
    X : array-like or data frame of shape (n_samples, n_features)
        Rows as the large model takes them; they need no targets.
    y : array-like of shape (n_samples,), default=None
        Targets; only used to compare the metrics of both models.
    classes : array-like, default=None
        The class labels, if `model` is a function that returns logits.
    swaps : int, default=None
        Extra rows per row, made by exchanging values between neighbours. None is 4.
    validation_fraction : float, default=0.2
        Share of the rows that are held out to compare both models.
    checkpoint : path, default=None
        File to save the state of the search to.
    resume : bool, default=False
        Whether to continue from the checkpoint if there is one.
    **parameters
        Parameters of the small model: those of `SwarmBoostClassifier` and `SwarmBoostRegressor`,
        such as `total_leaves`, `time_limit`, `n_jobs`, `random_state` and `verbose`; with
        `method='greedy'` those of `GreedyBoostClassifier` and `GreedyBoostRegressor`.

    Returns
    -------
    estimator
        A fitted classifier or regressor. Its `compression_` has the 'rows', the 'extra_rows', the
        'fidelity' on held-out rows ('r2' of the raw scores, 'rmse', 'largest_difference',
        'agreement' of classes) and, with `y`, the 'metrics' of both models and their difference,
        each with its interval of 95 %.
    """
    scores, labels = _teacher(model, classes)
    student = _student(labels is not None, parameters)
    X = validated(student, X, reset=True)
    names = student._feature_names()
    table = table_of(X, names, categorical_mask(student.categorical_features, names))
    # What a fit to y would have set.
    if labels is None:
        student.n_outputs_ = 1
    else:
        student.classes_ = np.asarray(labels)
    target = np.zeros(X.shape[0]) if y is None else student._encode_validation(X, y)
    table.set_target(readable(target))

    outputs = 1 if labels is None or len(labels) == 2 else len(labels)
    progress = Progress() if student.verbose else None
    try:
        found, report, messages, interrupted = _core.compress(
            table,
            [] if labels is None else [category_text(label) for label in labels],
            y is not None,
            lambda sources: _scores_at(X, sources, scores, outputs),
            [*student._parameters(), ("validation_fraction", validation_fraction)],
            swaps=swaps,
            checkpoint=None if checkpoint is None else os.fspath(checkpoint),
            resume=resume,
            callback=progress,
        )
    finally:
        if progress is not None:
            progress.close()

    student._set_model(found)
    if labels is not None:
        student.classes_ = np.asarray(labels)
    student.compression_ = report
    for message in messages:
        warnings.warn(message, UserWarning, stacklevel=2)
    if interrupted:
        # As for `fit`: a loop over several models must end as well.
        raise KeyboardInterrupt
    return student


def _student(is_classifier: bool, parameters: dict[str, Any]) -> Any:
    parameters = dict(parameters)
    if parameters.get("method") == "greedy":
        del parameters["method"]
        kind: type[Estimator] = GreedyBoostClassifier if is_classifier else GreedyBoostRegressor
    else:
        kind = SwarmBoostClassifier if is_classifier else SwarmBoostRegressor
    try:
        return kind(**parameters)
    except TypeError as error:
        name = str(error).rpartition("argument ")[2].strip("'")
        raise parameter_error(name, f"is no parameter of {kind.__name__}") from None


def _scores_at(X: Any, sources: list[bytes], scores: Scores, outputs: int) -> NDArray[np.float64]:
    """Return the scores of rows whose values are taken from these rows of X, column by column."""
    rows = [np.frombuffer(one, dtype=np.uint32) for one in sources]
    found = np.asarray(scores(_rows_at(X, rows)), dtype=np.float64)
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    expected = (len(rows[0]),) if outputs == 1 else (len(rows[0]), outputs)
    if found.shape != expected:
        raise ValueError(
            f"the model that is compressed returned scores of shape {found.shape}, expected "
            f"{expected}"
        )
    return np.ascontiguousarray(found).reshape(-1)


def _rows_at(X: Any, rows: list[NDArray[np.uint32]]) -> Any:
    if is_pandas(X):
        import pandas as pd

        columns = [X.iloc[:, at].iloc[one].reset_index(drop=True) for at, one in enumerate(rows)]
        return pd.concat(columns, axis=1)
    if hasattr(X, "gather_every"):
        # Polars: columns keep their types.
        return X.select([X.to_series(at).gather(one) for at, one in enumerate(rows)])
    if is_frame(X):
        import pyarrow as pa

        table = pa.table(X)
        columns = [table.column(at).take(pa.array(one)) for at, one in enumerate(rows)]
        return pa.table(columns, names=table.column_names)
    return np.stack([X[:, at][one] for at, one in enumerate(rows)], axis=1)


def _teacher(model: Any, classes: Any) -> tuple[Scores, NDArray[Any] | None]:
    """Return the scores of a model, and its class labels; None for numbers.

    Scores are logits of classes, and predictions of numbers: some models of numbers have raw scores
    on another scale, which the student would not know.
    """
    if isinstance(model, (str, os.PathLike)):
        return _own_teacher(_loaded(os.fspath(model)))
    if isinstance(model, Estimator):
        return _own_teacher(model)
    library = type(model).__module__.partition(".")[0]
    known = {
        "xgboost": _xgboost_teacher,
        "lightgbm": _lightgbm_teacher,
        "catboost": _catboost_teacher,
    }
    if library in known:
        return known[library](model)
    if hasattr(model, "predict"):
        return _estimator_teacher(model)
    if callable(model):
        return model, None if classes is None else np.asarray(classes)
    raise TypeError(
        f"model: a {type(model).__name__} is not supported; pass a fitted model, a file, or a "
        "function that returns scores"
    )


def _loaded(path: str) -> Estimator:
    is_classifier = bool(_core.Model.load(path).classes)
    return (SwarmBoostClassifier() if is_classifier else SwarmBoostRegressor()).load_model(path)


def _own_teacher(model: Estimator) -> tuple[Scores, NDArray[Any] | None]:
    if not isinstance(model, Classifier):
        return model.predict, None
    return (lambda X: model._predict(X, "raw")), model.classes_


def _xgboost_teacher(model: Any) -> tuple[Scores, NDArray[Any] | None]:
    if hasattr(model, "get_booster"):
        if not hasattr(model, "predict_proba"):
            return model.predict, None
        return (lambda X: model.predict(X, output_margin=True)), np.asarray(model.classes_)

    import json

    import xgboost

    learner = json.loads(model.save_config())["learner"]
    objective = learner["objective"]["name"]
    count = int(learner["learner_model_param"]["num_class"])
    labels = np.arange(max(count, 2)) if objective.startswith(("binary:", "multi:")) else None

    def scores(X: Any) -> Any:
        data = xgboost.DMatrix(X, feature_names=None if is_frame(X) else model.feature_names)
        return model.predict(data, output_margin=labels is not None)

    return scores, labels


def _lightgbm_teacher(model: Any) -> tuple[Scores, NDArray[Any] | None]:
    def logits(X: Any) -> Any:
        return model.predict(X, raw_score=True)

    if hasattr(model, "booster_"):
        is_classifier = hasattr(model, "predict_proba")
        return (logits, np.asarray(model.classes_)) if is_classifier else (model.predict, None)
    lines = model.model_to_string(num_iteration=1).splitlines()
    objective = next((line for line in lines if line.startswith("objective=")), "objective=")
    name = objective.removeprefix("objective=")
    if name.startswith("binary"):
        return logits, np.arange(2)
    if name.startswith("multiclass"):
        return logits, np.arange(model.num_model_per_iteration())
    return model.predict, None


def _catboost_teacher(model: Any) -> tuple[Scores, NDArray[Any] | None]:
    labels = np.asarray(getattr(model, "classes_", ()))
    if not len(labels):
        return model.predict, None
    return (lambda X: model.predict(X, prediction_type="RawFormulaVal")), labels


def _estimator_teacher(model: Any) -> tuple[Scores, NDArray[Any] | None]:
    """Return the scores of an estimator of scikit-learn, or of one with the same methods."""
    if not hasattr(model, "classes_"):
        return model.predict, None
    labels = np.asarray(model.classes_)
    # Gradient boosting has logits; decision functions of other models are on another scale.
    if "GradientBoosting" in type(model).__name__:
        return model.decision_function, labels
    if not hasattr(model, "predict_proba"):
        raise TypeError(
            f"model: a {type(model).__name__} has no probabilities; pass a function that returns "
            "logits, and `classes`"
        )

    def logits(X: Any) -> Any:
        likely = np.clip(model.predict_proba(X), LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
        return np.log(likely[:, 1] / likely[:, 0]) if len(labels) == 2 else np.log(likely)

    return logits, labels
