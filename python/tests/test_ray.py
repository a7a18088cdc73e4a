"""Rows on a Ray cluster: the bytes of local training, for any workers, and through killed ones.

`make cluster` runs these tests; they are skipped where Ray is not installed.
"""

import os
import signal
import threading
import time

import numpy as np
import pytest

import swarmwood

ray = pytest.importorskip("ray", reason="Ray is not installed; see make cluster")
pd = pytest.importorskip("pandas")

import joblib  # noqa: E402
from ray.util.joblib import register_ray  # noqa: E402

from swarmwood import ray as clustered  # noqa: E402


def table(rows):
    rng = np.random.default_rng(4)
    X = pd.DataFrame({f"x{at}": rng.normal(size=rows) for at in range(4)})
    X["city"] = rng.choice(["bern", "oslo", "rome"], size=rows)
    y = 2 * X["x0"] + np.sin(3 * X["x1"]) + (X["city"] == "oslo") + 0.2 * rng.normal(size=rows)
    return X, y


def model(estimator):
    return estimator._model.to_json()


@pytest.fixture(scope="module")
def session():
    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR")
    yield
    ray.shutdown()


@pytest.fixture
def paths(tmp_path):
    X, y = table(20_000)
    whole, names = X.assign(y=y), []
    for at in range(4):
        names.append(str(tmp_path / f"{at}.parquet"))
        whole[5000 * at : 5000 * (at + 1)].to_parquet(names[-1])
    return names


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_any_number_of_workers_gives_the_model_of_local_training(session, paths, workers):
    local = swarmwood.GreedyBoostRegressor(n_estimators=8, max_depth=4).fit(*table(20_000))
    estimator = clustered.GreedyBoostRegressor(n_estimators=8, max_depth=4)
    assert model(estimator.fit(paths, "y", workers=workers)) == model(local)


def test_the_default_search_gives_the_same_model(session, paths):
    local = swarmwood.SwarmBoostRegressor(budget=40, n_estimators=3, max_leaves=8)
    local.fit(*table(20_000))
    estimator = clustered.SwarmBoostRegressor(budget=40, n_estimators=3, max_leaves=8)
    assert model(estimator.fit(paths, "y", workers=2)) == model(local)


def test_a_swarm_gives_the_same_model(session, paths):
    settings = {"method": "psgbdt", "n_estimators": 3, "max_depth": 3, "iterations": 6}
    local = swarmwood.SwarmBoostRegressor(population=10, **settings).fit(*table(20_000))
    estimator = clustered.SwarmBoostRegressor(population=10, **settings)
    assert model(estimator.fit(paths, "y", workers=2)) == model(local)


def test_a_hyperparameter_search_on_workers_gives_the_same_result(session):
    X, y = table(2000)
    space = {"max_depth": (1, 4), "learning_rate": (0.05, 0.5, "log")}
    estimator = swarmwood.GreedyBoostRegressor(n_estimators=10, n_jobs=1)

    def search():
        search = swarmwood.SchemataSearchCV(estimator, space, n_iter=8, cv=3, random_state=1)
        search.fit(X, y)
        results = search.cv_results_
        return results["params"], list(results["mean_test_score"]), model(search.best_estimator_)

    local = search()
    register_ray()
    with joblib.parallel_config("ray"):
        assert search() == local


def test_a_killed_actor_changes_nothing(session, paths):
    local = swarmwood.GreedyBoostRegressor(n_estimators=60, max_depth=5).fit(*table(20_000))
    estimator = clustered.GreedyBoostRegressor(n_estimators=60, max_depth=5)

    def kill():
        time.sleep(4.0)
        for process in os.listdir("/proc"):
            try:
                with open(f"/proc/{process}/cmdline") as file:
                    is_actor = "HostActor" in file.read()
            except OSError:
                continue
            if process.isdigit() and is_actor:
                os.kill(int(process), signal.SIGKILL)
                return

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    estimator.fit(paths, "y", workers=2)
    killer.join()
    assert model(estimator) == model(local)
