"""Sparse matrices: the same models as dense ones, without making them dense."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from swarmwood import (
    GreedyBoostClassifier,
    GreedyBoostRegressor,
    SwarmBoostRegressor,
    SwarmTreeClassifier,
    TreeSumRegressor,
)


def data(rows: int = 500) -> tuple[Any, Any]:
    rng = np.random.default_rng(8)
    X = rng.normal(size=(rows, 12)) * (rng.random((rows, 12)) < 0.15)
    X[rng.random(X.shape) < 0.02] = np.nan
    X[:, 3] = np.round(2 * X[:, 3])
    return X, np.nan_to_num(X[:, 0]) + 2 * (X[:, 1] != 0) + rng.normal(size=rows) / 5


FORMATS: list[Any] = [
    sparse.csr_matrix,
    sparse.csc_matrix,
    sparse.coo_array,
    sparse.csr_array,
    lambda X: sparse.csr_matrix(X.astype(np.float32)),
]

ESTIMATORS: list[Any] = [
    GreedyBoostRegressor(n_estimators=20),
    GreedyBoostRegressor(n_estimators=20, booster="gblinear"),
    SwarmBoostRegressor(n_estimators=2, max_leaves=4),
    SwarmTreeClassifier(max_leaves=4),
    TreeSumRegressor(max_splits=4),
    GreedyBoostClassifier(n_estimators=5, categorical_features=[3]),
]


@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("make", FORMATS)
def test_sparse_and_dense_give_the_same_bytes(model: Any, make: Any) -> None:
    X, y = data()
    if "Classifier" in type(model).__name__:
        y = np.digitize(y, np.quantile(y, [0.4, 0.7]))
    matrix = make(X)
    dense = matrix.toarray()
    expected = model.fit(dense, y)
    bytes_expected, predicted = expected._model.to_json(), expected.predict(dense)
    own = model.fit(matrix, y)
    assert own._model.to_json() == bytes_expected
    assert np.array_equal(own.predict(matrix), predicted)
    assert np.array_equal(own.predict(dense), predicted)


def test_zeros_are_values_and_missing_stays_missing() -> None:
    X = sparse.csr_matrix(np.array([[0.0], [0.0], [np.nan], [np.nan], [5.0], [5.0]] * 20))
    y = np.array([1.0, 1.0, 2.0, 2.0, 3.0, 3.0] * 20)
    model = GreedyBoostRegressor(n_estimators=60, learning_rate=0.5, min_child_weight=0).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-3)


def test_matrices_that_are_not_canonical() -> None:
    rows, columns, values = [0, 0, 2, 1, 1], [0, 0, 1, 1, 0], [1.0, 2.0, 4.0, 0.0, 5.0]
    # Duplicates are sums, stored zeros are zeros, and rows may come in any order.
    coo = sparse.coo_matrix((values, (rows, columns)), shape=(3, 2))
    shuffled = sparse.csc_matrix(([5.0, 3.0, 4.0], [1, 0, 2], [0, 2, 3]), shape=(3, 2))
    y = np.array([0.0, 1.0, 2.0])
    options: dict[str, Any] = {"n_estimators": 3, "min_child_weight": 0}
    expected = GreedyBoostRegressor(**options).fit(coo.toarray(), y)
    for X in (coo, shuffled):
        own = GreedyBoostRegressor(**options).fit(X, y)
        assert own._model.to_json() == expected._model.to_json()
    assert not shuffled.has_sorted_indices


def test_validation_rows_weights_and_contributions() -> None:
    X, y = data()
    weight = np.arange(len(y)) % 3 + 0.5
    S = sparse.csr_matrix(X)
    options: dict[str, Any] = {"n_estimators": 100, "early_stopping_rounds": 3}
    dense = GreedyBoostRegressor(**options).fit(X, y, weight, eval_set=[(X[:90], y[:90])])
    own = GreedyBoostRegressor(**options).fit(S, y, weight, eval_set=[(S[:90], y[:90])])
    assert own._model.to_json() == dense._model.to_json()
    assert np.array_equal(own.predict(S, pred_contribs=True), dense.predict(X, pred_contribs=True))
    assert np.array_equal(own.apply(S), dense.apply(X))


def test_nothing_is_made_dense() -> None:
    # The dense matrix of doubles would take 1.6 GB.
    script = """
import resource
import numpy as np
from scipy import sparse
from swarmwood import GreedyBoostRegressor

rng = np.random.default_rng(0)
rows, columns, cells = 100_000, 2_000, 1_000_000
index = rng.integers(rows, size=cells), rng.integers(columns, size=cells)
X = sparse.csr_matrix((rng.normal(size=cells), index), shape=(rows, columns))
y = np.asarray(X[:, :50].sum(axis=1)).ravel()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
model = GreedyBoostRegressor(n_estimators=1, max_depth=2, max_bin=15, n_jobs=1).fit(X, y)
model.predict(X)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""
    output = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    # Codes of one byte, by column and by row, and what is proportional to the stored cells.
    assert float(output.stdout) < 800, output.stdout
