"""Estimators for Ray: rows stay on the workers, and the model is that of local training.

`fit` takes lists of Parquet files that the workers read, lists of references to pandas data
frames, or Ray data sets. The model has the same bytes as one that the estimators of `swarmwood`
train on the same rows, for any number of workers, and if workers are lost on the way.
"""

from __future__ import annotations

import os
from typing import Any, Self

import swarmwood
from swarmwood import _cluster
from swarmwood.ray._workers import RayWorkers

__all__ = [
    "GreedyBoostClassifier",
    "GreedyBoostRegressor",
    "SwarmBoostClassifier",
    "SwarmBoostRegressor",
]


class _RayEstimator:
    """Fits to partitions on Ray workers."""

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        eval_set: Any = None,
        workers: int | None = None,
        timeout: float = 300.0,
        checkpoint: str | os.PathLike[str] | None = None,
        resume: bool = False,
    ) -> Self:
        """Fit the model to rows on the workers of a cluster.

        Parameters
        ----------
        X : list of paths, list of references to data frames, or ray.data.Dataset
            Training data, features and target in one table. Rows are in the order of the list.
        y : str
            The name of the target's column.
        sample_weight : str, default=None
            The name of the column of weights.
        eval_set : (X, y) or list of (X, y) or (X, y, sample_weight), default=None
            Validation data in the memory of this process.
        workers : int, default=None
            Number of processes that hold rows; one per CPU of the cluster by default.
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
        if hasattr(X, "to_pandas_refs"):
            X = X.to_pandas_refs()
        if not isinstance(X, (list, tuple)) or not isinstance(y, str):
            raise TypeError(
                "X must be a list of Parquet paths, a list of references to data frames or a Ray "
                "data set, and y the name of a column"
            )
        pool = RayWorkers(list(X), y, sample_weight, workers, timeout)
        try:
            estimator: Any = self
            _cluster.fit(estimator, pool, len(X), eval_set, checkpoint, resume)
        finally:
            pool.stop()
        return self


class GreedyBoostClassifier(_RayEstimator, swarmwood.GreedyBoostClassifier):  # type: ignore[misc]
    """`swarmwood.GreedyBoostClassifier` on the workers of a Ray cluster."""


class GreedyBoostRegressor(_RayEstimator, swarmwood.GreedyBoostRegressor):  # type: ignore[misc]
    """`swarmwood.GreedyBoostRegressor` on the workers of a Ray cluster."""


class SwarmBoostClassifier(_RayEstimator, swarmwood.SwarmBoostClassifier):  # type: ignore[misc]
    """`swarmwood.SwarmBoostClassifier` on the workers of a Ray cluster."""


class SwarmBoostRegressor(_RayEstimator, swarmwood.SwarmBoostRegressor):  # type: ignore[misc]
    """`swarmwood.SwarmBoostRegressor` on the workers of a Ray cluster."""
