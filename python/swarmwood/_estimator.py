"""The base of all estimators: validation as in scikit-learn, and calls of the core."""

from __future__ import annotations

import inspect
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import (
    assert_all_finite,
    check_consistent_length,
    check_random_state,
    column_or_1d,
)
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from swarmwood import _core, _pretrained
from swarmwood._errors import parameter_error
from swarmwood._executor import SearchData, TaskSender
from swarmwood._metric import CoreMetric, Metric
from swarmwood._objective import CoreLoss, Objective
from swarmwood._pretrained import loaded_model
from swarmwood._progress import Progress, evaluations, search_history
from swarmwood._rows_file import write_rows
from swarmwood._summary import summary_html
from swarmwood._table import add_targets, categorical_mask, table_of, validated

#: Parameters of Python alone, which are not passed to the core.
OWN = {
    "class_weight",
    "scale_pos_weight",
    "warm_start",
    "categorical_features",
    "pretrained",
    "importance_type",
    "verbose",
    "n_jobs",
    "random_state",
}

#: The values of `importance_type`, with their position in the importances of the core.
IMPORTANCES = {"gain": 0, "cover": 1, "splits": 2}


class Estimator(BaseEstimator):
    """The base of all estimators; each is a `Classifier` or a `Regressor`."""

    _methods: tuple[str, ...] = ()

    # Parameters of every subclass.
    categorical_features: Any
    importance_type: str
    n_jobs: int | None
    random_state: Any
    verbose: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    # -- fitting

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        eval_set: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        init_model: Any = None,
        executor: Any = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Training data. NaN and null are missing values; strings and categories need no
            encoding.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Class labels, or target values; of a regressor also several columns.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights.
        eval_set : (X, y) or list of (X, y) or (X, y, sample_weight), default=None
            Validation data, as in XGBoost. Of several sets, the last one decides on early
            stopping; all are in `evals_result_`.
        X_val, y_val, sample_weight_val : default=None
            Validation data, as in scikit-learn.
        init_model : str, path or estimator, default=None
            Model to continue, as in LightGBM: its trees stay, and `n_estimators` new ones are
            added. For greedy boosting of trees.
        executor : executor or function, default=None
            Where the tasks of the search run, candidates times folds: an object with `submit`, as
            in `concurrent.futures`, or a function that makes one. The model is the same. For
            estimators whose `method` is the default search.

        Returns
        -------
        self
            The fitted estimator.
        """
        previous = getattr(self, "_model", None) if getattr(self, "warm_start", False) else None
        X = validated(self, X, reset=previous is None)
        y, weight, classes = self._encode_training(X, y, self._validate_weight(sample_weight, X))
        valid = [
            (X_valid, self._encode_validation(X_valid, y_valid), self._validate_weight(w, X_valid))
            for X_valid, y_valid, w in self._validation_data(
                eval_set, X_val, y_val, sample_weight_val
            )
        ]
        if previous is not None and init_model is None and executor is None:
            return self._continue_fit(X, y, weight, valid, classes, previous)
        initial = None if init_model is None else loaded_model(init_model, self._feature_names())
        return self._fit(X, y, weight, valid, classes, initial, executor=executor)

    def _continue_fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        valid: list[tuple[Any, Any, Any]],
        classes: list[str] | None,
        previous: _core.Model,
    ) -> Self:
        """Fit the rounds that the model of the last fit lacks (`warm_start`)."""
        wanted, done = getattr(self, "n_estimators", 0), previous.rounds
        if wanted < done:
            raise parameter_error(
                "n_estimators",
                f"is {wanted}, must be at least the {done} of the model that warm_start continues",
            )
        if wanted == done:
            message = "warm_start adds no trees: the model has n_estimators rounds already"
            warnings.warn(message, UserWarning, stacklevel=3)
            return self
        return self._fit(X, y, sample_weight, valid, classes, previous, wanted - done)

    def _encode_training(
        self, X: Any, y: Any, weight: Any
    ) -> tuple[NDArray[Any], Any, list[str] | None]:
        """Return the encoded targets, the sample weights, and the names of the classes."""
        raise NotImplementedError

    def _encode_validation(self, X: Any, y: Any) -> NDArray[Any]:
        """Return the targets of validation rows, encoded as those of the training rows."""
        raise NotImplementedError

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        valid: list[tuple[Any, Any, Any]],
        classes: list[str] | None,
        initial: _core.Model | None = None,
        rounds: int | None = None,
        cluster: Any = None,
        executor: Any = None,
        checkpoint: str | None = None,
        resume: bool = False,
    ) -> Self:
        """Fit to validated data and encoded targets; `initial` is a model to continue.

        With a cluster, which holds all rows, `X` is their sample.
        """
        columns = self._target_columns(y)
        if initial is not None and len(initial.columns) != len(columns or []):
            raise parameter_error(
                "init_model",
                f"predicts {initial.outputs} columns, but y has {len(columns or [None])}; they "
                "must be equal",
            )
        if columns is not None and (executor is not None or cluster is not None):
            what = "executor" if cluster is None else "cluster"
            raise parameter_error(
                what, f"is for one target, but y has {len(columns)}; fit one estimator per column"
            )
        if initial is not None and initial.classes != (classes or []):
            raise parameter_error(
                "init_model",
                f"has the classes {initial.classes}, but y has {classes or []}; they must be equal",
            )
        names = self._feature_names()
        mask = categorical_mask(self.categorical_features, names)
        tables: list[_core.Table] = []
        for rows, target, weight in [(X, y, sample_weight), *valid]:
            is_sample = cluster is not None and not tables
            table = cluster.table(rows) if is_sample else table_of(rows, names, mask)
            add_targets(table, target, columns)
            if weight is not None:
                table.set_weight(weight)
            tables.append(table)
        metric = self._custom_metric()
        parameters = self._parameters() + ([] if rounds is None else [("n_estimators", rounds)])
        tasks = None
        if executor is not None:
            loss = None if self._custom_loss() is None else getattr(self, "objective", None)
            rows = (X, names, mask, y, sample_weight)
            tasks = TaskSender(executor, SearchData(*rows, classes, parameters, not valid, loss))
        progress = Progress() if self.verbose else None
        try:
            with _pretrained.stored_model(getattr(self, "pretrained", None), names) as pretrained:
                result = _core.train(
                    tables[0],
                    "target",
                    classes,
                    parameters,
                    valid=tables[1:],
                    pretrained=pretrained,
                    callback=progress,
                    objective=self._custom_loss(),
                    metric=metric,
                    init_model=initial,
                    cluster=cluster,
                    tasks=tasks,
                    columns=columns,
                    checkpoint=checkpoint,
                    resume=resume,
                )
        finally:
            for opened in (progress, tasks):
                if opened is not None:
                    opened.close()
        self._store_result(result, result.metric if metric is None else metric.name)
        return self

    def _fit_cluster(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        classes: list[str] | None,
        eval_set: Any,
        cluster: Any,
        checkpoint: str | None,
        resume: bool,
    ) -> Self:
        """Fit to the rows of a cluster, given their sample and its encoded targets."""
        X = validated(self, X, reset=True)
        valid = [
            (X_valid, self._encode_validation(X_valid, y_valid), self._validate_weight(w, X_valid))
            for X_valid, y_valid, w in self._validation_data(eval_set, None, None, None)
        ]
        return self._fit(
            X,
            y,
            sample_weight,
            valid,
            classes,
            cluster=cluster,
            checkpoint=checkpoint,
            resume=resume,
        )

    def _store_result(self, result: _core.FitResult, metric: str) -> None:
        self._model = result.model
        events = result.events()
        self.n_iter_ = result.rounds
        self.best_iteration_ = result.rounds
        targets = result.model.columns
        self.evals_result_, self._evaluated_rounds = evaluations(
            events, metric, len(result.watched_metrics), targets
        )
        self.train_metrics_ = dict(result.train_metrics)
        self.validation_metrics_ = dict(result.valid_metrics)
        for target, (train, valid) in zip(targets, result.column_metrics, strict=True):
            self.train_metrics_ |= {f"{metric}/{target}": value for metric, value in train}
            self.validation_metrics_ |= {f"{metric}/{target}": value for metric, value in valid}
        self.fit_notes_ = list(result.notes)
        self.search_history_ = search_history(events)
        self.search_report_ = result.search_report
        for warning in result.warnings:
            warnings.warn(warning, UserWarning, stacklevel=4)
        if result.interrupted:
            # The model is usable, but a loop over several fits must end as well.
            raise KeyboardInterrupt

    def _parameters(self) -> list[tuple[str, Any]]:
        """Return the parameters that differ from their defaults."""
        method = getattr(self, "method", self._methods[0])
        if method not in self._methods:
            raise parameter_error(
                "method", f"is {method!r}, must be one of {', '.join(self._methods)}"
            )
        parameters = [
            ("method", method),
            ("n_jobs", self._threads()),
            ("random_state", self._seed()),
        ]
        for name, parameter in inspect.signature(type(self).__init__).parameters.items():
            if name in OWN or name in ("self", "method"):
                continue
            value = getattr(self, name)
            if name == "objective" and self._custom_loss() is not None:
                continue
            if name == "eval_metric" and self._custom_metric() is not None:
                continue
            if value is None or (
                type(value) is type(parameter.default) and value == parameter.default
            ):
                continue
            parameters.append((name, _plain(value)))
        return parameters

    def _custom_loss(self) -> CoreLoss | None:
        objective = getattr(self, "objective", None)
        if isinstance(objective, Objective) or callable(objective):
            return CoreLoss(objective)
        return None

    def _custom_metric(self) -> CoreMetric | None:
        metric = getattr(self, "eval_metric", None)
        if isinstance(metric, Metric) or callable(metric):
            return CoreMetric(metric)
        return None

    def _threads(self) -> int:
        """Return the number of threads; 0 is one per core."""
        if self.n_jobs is None or self.n_jobs == -1:
            return 0
        if self.n_jobs == 0:
            raise parameter_error(
                "n_jobs",
                "is 0, must be None, a positive number, or a negative one (-1 is one per core)",
            )
        return self.n_jobs if self.n_jobs > 0 else max((os.cpu_count() or 1) + 1 + self.n_jobs, 1)

    def _seed(self) -> int:
        if self.random_state is None:
            return 0
        if isinstance(self.random_state, (int, np.integer)):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _feature_names(self) -> list[str]:
        """Return the feature names; those of arrays are x0, x1, ..."""
        names = getattr(self, "feature_names_in_", None)
        return (
            [f"x{at}" for at in range(self.n_features_in_)]
            if names is None
            else [str(name) for name in names]
        )

    def _model_features(self) -> list[str]:
        """Return the names of the model's features: dates are expanded to their parts."""
        return [name for name, _ in self._model.features]

    def _target_columns(self, y: NDArray[Any]) -> list[str] | None:
        """Return the names of several columns to predict; None if there is one."""
        return None

    def _validate_y(self, X: Any, y: Any) -> NDArray[Any]:
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, "
                "but the target y is None."
            )
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, estimator_name=type(self).__name__, input_name="y")
        check_consistent_length(X, y)
        return np.asarray(y)

    def _validate_weight(self, sample_weight: Any, X: Any) -> NDArray[np.float64] | None:
        if sample_weight is None:
            return None
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not np.any(weight):
            raise ValueError("Sample weights must contain at least one non-zero number.")
        return np.asarray(weight)

    def _validation_data(
        self, eval_set: Any, X_val: Any, y_val: Any, sample_weight_val: Any
    ) -> list[tuple[Any, Any, Any]]:
        """Return sets of validation rows, from `eval_set` or from `X_val` and `y_val`."""
        if eval_set is not None:
            if X_val is not None or y_val is not None:
                raise parameter_error(
                    "eval_set", "cannot be used with X_val and y_val; choose one of the two"
                )
            is_single = isinstance(eval_set, tuple) and not isinstance(eval_set[0], tuple)
            sets = [eval_set] if is_single else list(eval_set)
            if not sets or not all(isinstance(one, (tuple, list)) for one in sets):
                raise parameter_error("eval_set", "expected pairs (X, y)")
            wrong = next((len(one) for one in sets if len(one) not in (2, 3)), None)
            if wrong is not None:
                raise parameter_error(
                    "eval_set", f"expected pairs (X, y) or triples with weights, got {wrong} items"
                )
            return [
                (
                    validated(self, one[0], reset=False),
                    one[1],
                    one[2] if len(one) == 3 else sample_weight_val if len(sets) == 1 else None,
                )
                for one in sets
            ]
        if (X_val is None) != (y_val is None):
            raise parameter_error("X_val, y_val", "both are needed")
        if X_val is None:
            return []
        return [(validated(self, X_val, reset=False), y_val, sample_weight_val)]

    # -- predicting

    def _predict(self, X: Any, kind: str, first: int | None = None) -> NDArray[Any]:
        check_is_fitted(self, "_model")
        X = validated(self, X, reset=False)
        return self._predict_checked(X, kind, first)

    def _predict_checked(self, X: Any, kind: str, first: int | None = None) -> NDArray[Any]:
        mask = np.array(self._model.categorical, dtype=bool)
        table = table_of(X, self._feature_names(), mask if mask.any() else None)
        data, width, messages = self._model.predict(table, kind, first, self._threads())
        for message in messages:
            warnings.warn(message, UserWarning, stacklevel=4)
        dtype = np.uint32 if kind in ("leaves", "classes", "sets") else np.float64
        return np.frombuffer(data, dtype=dtype).reshape(X.shape[0], width)

    def _staged_predictions(self, X: Any, kind: str) -> Iterator[NDArray[Any]]:
        check_is_fitted(self, "_model")
        X = validated(self, X, reset=False)
        for first in range(1, self._model.rounds + 1):
            yield self._predict_checked(X, kind, first)

    def _contributions(self, X: Any) -> NDArray[np.float64]:
        values = self._predict(X, "contributions")
        if self._model.outputs == 1:
            return values
        return values.reshape(len(values), self._model.outputs, -1)

    def predict_reasons(self, X: Any, k: int = 3) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return the features that contribute most to each prediction.

        Contributions are exact (TreeSHAP), to the raw score; with three or more classes, to that
        of the most probable class.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Samples.
        k : int, default=3
            Features per sample, at most all of them.

        Returns
        -------
        features : ndarray of shape (n_samples, k)
            Feature names, the one with the largest absolute contribution first.
        contributions : ndarray of shape (n_samples, k)
            Their contributions.
        """
        check_is_fitted(self, "_model")
        if self._model.columns:
            raise ValueError(
                "predict_reasons is for models of one target; predict with pred_contribs has the "
                "contributions to each"
            )
        values = self._contributions(X)
        if values.ndim == 3:
            best = self._predict(X, "raw").argmax(axis=1)
            values = values[np.arange(len(values)), best]
        values = values[:, :-1]
        order = np.argsort(-np.abs(values), axis=1, kind="stable")[:, :k]
        names = np.array(self._model_features(), dtype=object)
        return names[order], np.take_along_axis(values, order, axis=1)

    def _check_interval(self, method: str) -> None:
        """Raise an error if the model was fitted without `interval`."""
        check_is_fitted(self, "_model")
        if self._model.interval is None:
            raise ValueError(
                f"{method} needs a model that was fitted with interval, the coverage, such as 0.9"
            )

    def apply(self, X: Any) -> NDArray[np.uint32]:
        """Return the leaf that each row reaches in each tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_trees)
            Indices of leaves.
        """
        return self._predict(X, "leaves")

    # -- inspection

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Importance of each feature, by `importance_type`; they sum to 1.

        Columns of dates have one importance per part, such as `sold.month`.
        """
        check_is_fitted(self, "_model")
        if self.importance_type not in IMPORTANCES:
            allowed = ", ".join(IMPORTANCES)
            raise parameter_error(
                "importance_type", f"is {self.importance_type!r}, must be one of {allowed}"
            )
        index = IMPORTANCES[self.importance_type]
        values = np.array([one[index] for one in self._model.importances()], dtype=np.float64)
        total = values.sum()
        return values / total if total > 0 else values

    def trees_to_dataframe(self) -> Any:
        """Return all nodes as a pandas DataFrame, with the column names of XGBoost.

        A tree for all classes has no output, and its leaves have one value per class in `Values`.
        """
        check_is_fitted(self, "_model")
        import pandas as pd

        names = self._model_features()
        rows = []
        for node in self._model.nodes():
            tree, children = node["tree"], node["children"]
            ids = [None, None] if children is None else [f"{tree}-{child}" for child in children]
            rows.append(
                {
                    "Tree": tree,
                    "Output": node["output"],
                    "Node": node["node"],
                    "ID": f"{tree}-{node['node']}",
                    "Feature": "Leaf" if node["feature"] is None else names[node["feature"]],
                    "Split": node["threshold"],
                    "Category": node["levels"],
                    "Yes": ids[0],
                    "No": ids[1],
                    "Missing": ids[1] if node["missing_right"] else ids[0],
                    "Gain": node["gain"],
                    "Values": node["values"],
                    "Cover": node["cover"],
                }
            )
        return pd.DataFrame(rows)

    def to_text(self) -> str:
        """Return the trees as text."""
        check_is_fitted(self, "_model")
        return self._model.text()

    def scorer(self) -> Callable[[Any], float | list[float]]:
        """Return a function that predicts one row, without the cost of a table.

        The row is an array or a sequence with one value per feature: numbers, texts of categories,
        None or NaN for missing values. The function returns the predicted number, the probability
        of the second of two classes, the probabilities of three or more, or the numbers of several
        columns. It does not know columns of dates.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from swarmwood import GreedyBoostClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = GreedyBoostClassifier(n_estimators=5).fit(X, y == 2)
        >>> score = model.scorer()
        >>> score(X[0]) == model.predict_proba(X[:1])[0, 1]
        True
        """
        check_is_fitted(self, "_model")
        return self._model.row_scorer()

    # -- files

    def save_model(self, path: str | os.PathLike[str]) -> None:
        """Write a model file, which the command line and Rust read as well."""
        check_is_fitted(self, "_model")
        self._model.save(os.fspath(path))

    def export(
        self,
        path: str | os.PathLike[str],
        format: str | None = None,
        *,
        verify: bool = False,
        verify_if_possible: bool = False,
        **options: Any,
    ) -> dict[str, Any]:
        """Write the model for another program.

        Parameters
        ----------
        path : str or path
            The file to write; for a bundle a folder that does not exist, or a zip file.
        format : str, optional
            'onnx', 'lightgbm', 'xgboost', 'c', 'sql', 'js', 'python', 'pmml', 'json', 'text', or
            'bundle' for all of them; by default the one of the file's extension.
        verify : bool
            Whether to run the export and compare it with the model before it is written. It is
            not written if the program that runs it is not installed.
        verify_if_possible : bool
            The same, but an export that cannot be run here is written, with the reason in the
            result.
        **options
            Options of the format, such as `dialect="postgres"` or `integer=8`.

        Returns
        -------
        dict
            'files' that were written, a 'note', and with `verify` whether the export was
            'verified', on how many 'rows', and the largest 'raw_difference' and
            'prediction_difference', or the 'reason' why it was not run. A bundle has the same for
            each of its 'formats'.

        """
        check_is_fitted(self, "_model")
        texts = [(name, str(value)) for name, value in options.items()]
        is_required = verify and not verify_if_possible
        is_bundle = format == "bundle" or (format is None and os.fspath(path).endswith(".zip"))
        python = sys.executable if verify or verify_if_possible or is_bundle else None
        return self._model.export(os.fspath(path), format, texts, python, is_required)

    def report(
        self, path: str | os.PathLike[str], X: Any = None, y: Any = None, *, title: str = ""
    ) -> None:
        """Write a page about the model: HTML in one file that needs no network.

        Parameters
        ----------
        path : str or path
            The page to write.
        X, y : default=None
            Rows with known targets. With them the page has metrics with confidence intervals,
            effects of the features, subgroups, and the drift of the features.
        title : str, default=""
            The title of the page.
        """
        check_is_fitted(self, "_model")
        if self._model.columns:
            raise ValueError("a report is about one target; fit one estimator per column")
        if (X is None) != (y is None):
            raise parameter_error("X, y", "both are needed")
        with tempfile.TemporaryDirectory() as directory:
            model = os.path.join(directory, "model.json")
            self._model.save(model)
            arguments = [model, "--out", os.fspath(path)]
            if X is not None:
                rows = os.path.join(directory, "rows.csv")
                write_rows(rows, X, y, self._model.input_columns, self._model.target)
                # The names of columns and classes are those of the model.
                arguments += ["--data", rows, "--delimiter", ",", "--decimal", "."]
            arguments += ["--title", title] if title else []
            _core.write_report(arguments)

    def _repr_html_(self) -> str | None:
        """Return a summary for notebooks; scikit-learn's diagram if the model is not fitted."""
        if not hasattr(self, "_model"):
            return super()._repr_html_()
        return summary_html(self)

    def _repr_mimebundle_(self, **arguments: Any) -> dict[str, Any]:
        """Return what notebooks show."""
        if not hasattr(self, "_model"):
            return super()._repr_mimebundle_(**arguments)
        return {"text/plain": repr(self), "text/html": summary_html(self)}

    def to_lightgbm(self) -> Any:
        """Return the same model as a `lightgbm.Booster`.

        Tools for LightGBM's models work with it, such as `shap.TreeExplainer`. Needs the package
        lightgbm, and a model with trees.
        """
        check_is_fitted(self, "_model")
        import lightgbm

        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "model.lightgbm")
            self._model.export(path)
            return lightgbm.Booster(model_file=path)

    def load_model(self, path: str | os.PathLike[str]) -> Self:
        """Read a model file of this library, XGBoost, LightGBM or CatBoost."""
        self._set_model(_core.Model.load(os.fspath(path)))
        return self

    def _set_model(self, model: _core.Model) -> None:
        self._model = model
        names = model.input_columns
        self.n_features_in_ = len(names)
        if names != [f"x{at}" for at in range(len(names))]:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.n_iter_ = self.best_iteration_ = model.rounds
        self.evals_result_ = {}
        self.search_history_ = {}
        self.search_report_ = None


def _plain(value: Any) -> Any:
    """Return the Python objects that numpy and pandas objects hold."""
    return np.asarray(value).tolist() if hasattr(value, "__array__") else value
