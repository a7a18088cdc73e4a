"""Rows with targets as a CSV file that the command line reads as the same values."""

from __future__ import annotations

import csv
import os
from typing import Any

import numpy as np

from swarmwood._table import category_text, is_frame, is_sparse


def write_rows(path: str | os.PathLike[str], X: Any, y: Any, names: list[str], target: str) -> None:
    """Write a header, and one line per row; the target is the last column."""
    columns = [[_text(value) for value in column] for column in _columns(X, len(names))]
    labels = [_text(value) for value in np.asarray(y).ravel().tolist()]
    if any(len(column) != len(labels) for column in columns):
        raise ValueError(f"X and y have different numbers of rows: y has {len(labels)}")
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*names, target])
        writer.writerows(zip(*columns, labels, strict=True))


def _columns(X: Any, count: int) -> list[list[Any]]:
    """Return the values of each column."""
    if is_frame(X):
        columns = [_values(X, at) for at in range(X.shape[1])]
    else:
        dense = X.toarray() if is_sparse(X) else np.asarray(X)
        columns = [dense[:, at].tolist() for at in range(dense.shape[1])]
    if len(columns) != count:
        raise ValueError(f"X has {len(columns)} features, but the model wants {count}")
    return columns


def _values(frame: Any, at: int) -> list[Any]:
    if hasattr(frame, "iloc"):
        return frame.iloc[:, at].tolist()
    column = frame.column(at) if hasattr(frame, "column") else frame[:, at]
    return column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()


def _text(value: Any) -> str:
    """Return the text that is read as the value; nothing if it is missing."""
    if value is None or value != value:
        return ""
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    return category_text(value)
