"""Fits in many threads and processes at a time give the same models as one after the other."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest

from swarmwood import GreedyBoostRegressor, SwarmTreeClassifier


def fitted(seed: int) -> bytes:
    """Fit two small models; their predictions as bytes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 3))
    y = X[:, 0] * X[:, 1] + rng.normal(size=120) * 0.1
    booster = GreedyBoostRegressor(n_estimators=5, n_jobs=2, random_state=seed).fit(X, y)
    tree = SwarmTreeClassifier(max_leaves=4, budget=3, n_jobs=2, random_state=seed).fit(X, y > 0)
    return booster.predict(X).tobytes() + tree.predict_proba(X).tobytes()


SEEDS = list(range(6))


def test_threads() -> None:
    alone = [fitted(seed) for seed in SEEDS]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(fitted, SEEDS * 4)) == alone * 4


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_processes_forked_after_a_fit() -> None:
    alone = [fitted(seed) for seed in SEEDS]
    with multiprocessing.get_context("fork").Pool(3) as pool:
        assert pool.map_async(fitted, SEEDS).get(timeout=120) == alone


def test_joblib_processes() -> None:
    alone = [fitted(seed) for seed in SEEDS[:3]]
    work = (joblib.delayed(fitted)(seed) for seed in SEEDS[:3])
    assert joblib.Parallel(n_jobs=2, backend="loky", timeout=120)(work) == alone
