"""Partitions of Dask collections, and of files that workers read."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np

from swarmwood._cluster import Part, read_part


def is_collection(X: Any) -> bool:
    """Whether this is a Dask DataFrame, Series or array."""
    return hasattr(X, "dask") and hasattr(X, "__dask_graph__")


def split_parts(X: Any, y: Any, weight: Any) -> list[Any]:
    """Return one delayed `Part` per partition."""
    import dask

    make = dask.delayed(_part, pure=False)
    if is_collection(X):
        blocks = _blocks(X)
        targets = _aligned(y, X, blocks, "y")
        weights = _aligned(weight, X, blocks, "sample_weight")
        return [make(*part) for part in zip(blocks, targets, weights, strict=True)]
    if isinstance(X, (list, tuple)) and isinstance(y, str):
        read = dask.delayed(read_part, pure=False)
        return [read(part if _is_delayed(part) else os.fspath(part), y, weight) for part in X]
    raise TypeError(
        "X must be a Dask DataFrame or array, or a list of Parquet paths or delayed data frames "
        "with y the name of a column; for data in memory use the estimators of swarmwood"
    )


def _is_delayed(part: Any) -> bool:
    return hasattr(part, "__dask_graph__")


def _part(X: Any, y: Any, weight: Any) -> Part:
    return Part(X, y, weight)


def _blocks(X: Any) -> list[Any]:
    """Return the partitions of a collection, by rows."""
    if hasattr(X, "npartitions") and hasattr(X, "columns"):
        return list(X.to_delayed())
    if X.ndim == 2:
        X = X.rechunk({1: -1})
    return [block for block in np.ravel(X.to_delayed())]


def _aligned(values: Any, X: Any, blocks: list[Any], what: str) -> list[Any]:
    """Return the partitions of targets or weights, which must be those of X."""
    if values is None:
        return [None] * len(blocks)
    if not is_collection(values):
        raise TypeError(f"{what} must be a Dask collection with the partitions of X")
    if hasattr(values, "chunks") and hasattr(X, "chunks") and values.chunks[0] != X.chunks[0]:
        values = values.rechunk((X.chunks[0], *values.chunks[1:]))
    parts = list(np.ravel(values.to_delayed()))
    if len(parts) != len(blocks):
        raise ValueError(
            f"X has {len(blocks)} partitions, but {what} has {len(parts)}; they must be the same"
        )
    return parts


def predicted(estimator: Any, X: Any, method: str) -> Any:
    """Return the predictions of a Dask collection as one."""
    if hasattr(X, "columns"):
        with warnings.catch_warnings():
            # The row that tells the type holds texts of its own.
            warnings.simplefilter("ignore")
            sample = _call(X._meta_nonempty, estimator, method)
        return X.map_partitions(_call, estimator, method, meta=_empty(sample))
    X = X.rechunk({1: -1})
    sample = np.asarray(_call(np.zeros((1, X.shape[1])), estimator, method))
    if sample.ndim == 1:
        return X.map_blocks(_call, estimator, method, drop_axis=1, dtype=sample.dtype)
    chunks = (X.chunks[0], (sample.shape[1],))
    return X.map_blocks(_call, estimator, method, chunks=chunks, dtype=sample.dtype)


def _empty(sample: Any) -> Any:
    return sample.iloc[:0]


def _call(part: Any, estimator: Any, method: str) -> Any:
    """Predict a partition; a data frame keeps its index."""
    import pandas as pd

    is_frame = isinstance(part, pd.DataFrame)
    if part.shape[0] == 0:
        # An empty partition has the type of the others.
        filled = part.reindex([0]) if is_frame else np.zeros((1, part.shape[1]))
        return _call(filled, estimator, method)[:0]
    values = getattr(estimator, method)(part)
    if not is_frame:
        return values
    if values.ndim == 1:
        return pd.Series(values, index=part.index, name="prediction")
    return pd.DataFrame(
        values, index=part.index, columns=[str(name) for name in estimator.classes_]
    )
