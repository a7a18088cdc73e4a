"""Estimators for Dask: rows stay on the workers, and the model is that of local training.

`fit` takes Dask DataFrames and arrays, or lists of Parquet files that the workers read. The model
has the same bytes as one that the estimators of `swarmwood` train on the same rows, for any number
of workers, and if workers are lost on the way. `predict` takes Dask collections and returns one.
"""

from __future__ import annotations

import os
from typing import Any, Self

import swarmwood
from swarmwood import _cluster
from swarmwood.dask._parts import is_collection, predicted, split_parts
from swarmwood.dask._workers import DaskWorkers

__all__ = [
    "GreedyBoostClassifier",
    "GreedyBoostRegressor",
    "SwarmBoostClassifier",
    "SwarmBoostRegressor",
]


class _DaskEstimator:
    """Fits to partitions of Dask."""

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        eval_set: Any = None,
        client: Any = None,
        timeout: float = 300.0,
        checkpoint: str | os.PathLike[str] | None = None,
        resume: bool = False,
    ) -> Self:
        """Fit the model to rows on the workers of a cluster.

        Parameters
        ----------
        X : Dask DataFrame or array, or list of paths or of delayed data frames
            Training data. Rows are in the order of the partitions, which may be uneven or empty.
            The workers read them three times and, if a worker is lost, again; `persist` what is
            expensive to compute.
        y : Dask Series or array with the partitions of X, or str
            Targets; the name of their column for lists of paths or delayed data frames.
        sample_weight : as y, default=None
            Sample weights.
        eval_set : (X, y) or list of (X, y) or (X, y, sample_weight), default=None
            Validation data in the memory of this process.
        client : distributed.Client, default=None
            The cluster; the present one by default.
        timeout : float, default=300.0
            Seconds after which a worker that does not reply is given up.
        checkpoint : path, default=None
            File for the state of the search, in the file system of this process: if it is killed,
            the fit can be continued. For the default method.
        resume : bool, default=False
            Whether to continue from the checkpoint if there is one.

        Returns
        -------
        self
            The fitted estimator.
        """
        parts = split_parts(X, y, sample_weight)
        pool = DaskWorkers(client, parts, timeout)
        estimator: Any = self
        _cluster.fit(estimator, pool, len(parts), eval_set, checkpoint, resume)
        return self

    def predict(self, X: Any, **options: Any) -> Any:
        """Predict; a Dask collection for Dask collections."""
        if is_collection(X):
            return predicted(self, X, "predict")
        return super().predict(X, **options)  # type: ignore[misc]


class _DaskClassifier(_DaskEstimator):
    """Predicts probabilities of partitions as well."""

    def predict_proba(self, X: Any) -> Any:
        """Predict class probabilities; a Dask collection for Dask collections."""
        if is_collection(X):
            return predicted(self, X, "predict_proba")
        return super().predict_proba(X)  # type: ignore[misc]


class GreedyBoostClassifier(_DaskClassifier, swarmwood.GreedyBoostClassifier):  # type: ignore[misc]
    """`swarmwood.GreedyBoostClassifier` on the workers of a Dask cluster."""


class GreedyBoostRegressor(_DaskEstimator, swarmwood.GreedyBoostRegressor):  # type: ignore[misc]
    """`swarmwood.GreedyBoostRegressor` on the workers of a Dask cluster."""


class SwarmBoostClassifier(_DaskClassifier, swarmwood.SwarmBoostClassifier):  # type: ignore[misc]
    """`swarmwood.SwarmBoostClassifier` on the workers of a Dask cluster."""


class SwarmBoostRegressor(_DaskEstimator, swarmwood.SwarmBoostRegressor):  # type: ignore[misc]
    """`swarmwood.SwarmBoostRegressor` on the workers of a Dask cluster."""
