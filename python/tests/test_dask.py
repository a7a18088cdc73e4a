"""Rows on a Dask cluster: the bytes of local training, for any workers, and through lost ones.

`make cluster` runs these tests; they are skipped where Dask is not installed. With
SWARMWOOD_KILLS=100 workers are killed at so many moments.
"""

import itertools
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import swarmwood

distributed = pytest.importorskip("distributed", reason="Dask is not installed; see make cluster")
dd = pytest.importorskip("dask.dataframe", reason="Dask is not installed; see make cluster")
pd = pytest.importorskip("pandas")

import dask  # noqa: E402
import dask.array as da  # noqa: E402
import joblib  # noqa: E402

from swarmwood import dask as clustered  # noqa: E402

KILLS = int(os.environ.get("SWARMWOOD_KILLS", "2"))


def table(rows, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({f"x{at}": rng.normal(size=rows) for at in range(4)})
    X["count"] = rng.integers(0, 9, size=rows)
    X["flag"] = rng.random(rows) < 0.3
    X["city"] = rng.choice(["bern", "oslo", "rome", "lima"], size=rows)
    X.loc[rng.random(rows) < 0.1, "city"] = None
    X.loc[rng.random(rows) < 0.1, "x1"] = np.nan
    signal = 2 * X["x0"] + np.sin(3 * X["x1"].fillna(0)) + 1.5 * (X["city"] == "oslo")
    return X, pd.Series(signal + 0.2 * rng.normal(size=rows), name="y")


def model(estimator):
    return estimator._model.to_json()


@pytest.fixture(scope="module")
def client():
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with (
        distributed.LocalCluster(n_workers=8, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def frames(*tables, npartitions=5):
    return [dd.from_pandas(table, npartitions=npartitions, sort=False) for table in tables]


@pytest.mark.parametrize("workers", [1, 2, 4, 8])
def test_any_number_of_workers_gives_the_model_of_local_training(client, workers):
    # Eight shards.
    X, y = table(40_000)
    local = swarmwood.GreedyBoostRegressor(n_estimators=8, max_depth=4).fit(X, y)
    addresses = sorted(client.scheduler_info(n_workers=-1)["workers"])
    names = list(addresses)[:workers]
    estimator = clustered.GreedyBoostRegressor(n_estimators=8, max_depth=4)
    with pytest.MonkeyPatch.context() as patch:
        pool = clustered.DaskWorkers
        alive = pool._workers
        patch.setattr(
            pool, "_workers", lambda self: {name: 1 for name in alive(self) if name in names}
        )
        estimator.fit(*frames(X, y))
    assert model(estimator) == model(local)


def test_classes_weights_and_leaf_wise_growth(client):
    X, y = table(20_000)
    weight = pd.Series(np.random.default_rng(1).uniform(0, 2, len(X)))
    weight[::7] = 0.0
    for labels in [(y > 0).map({True: "high", False: "low"}), pd.cut(y, 3, labels=False)]:
        settings = {"n_estimators": 5, "growth": "leaf", "max_leaves": 9}
        local = swarmwood.GreedyBoostClassifier(**settings).fit(X, labels, weight)
        estimator = clustered.GreedyBoostClassifier(**settings)
        estimator.fit(*frames(X, labels, weight))
        assert model(estimator) == model(local)
        assert list(estimator.classes_) == list(local.classes_)


def test_the_default_search_gives_the_same_model(client):
    X, y = table(9000)
    for settings in [{"n_estimators": 3, "max_leaves": 8}, {}]:
        local = swarmwood.SwarmBoostRegressor(budget=60, **settings).fit(X, y)
        estimator = clustered.SwarmBoostRegressor(budget=60, **settings).fit(*frames(X, y))
        assert model(estimator) == model(local)


SWARM = {"n_estimators": 3, "max_depth": 3, "population": 10, "iterations": 6}


@pytest.mark.parametrize("method", ["psgbdt", "sgbdt-bins"])
def test_a_swarm_gives_the_same_model(client, method):
    X, y = table(40_000)
    settings = {"method": method, "local_search": True, **SWARM}
    local = swarmwood.SwarmBoostRegressor(**settings).fit(X, y)
    estimator = clustered.SwarmBoostRegressor(**settings).fit(*frames(X, y))
    assert model(estimator) == model(local)
    labels = pd.cut(y, 3, labels=False)
    local = swarmwood.SwarmBoostClassifier(method=method, **SWARM).fit(X, labels)
    estimator = clustered.SwarmBoostClassifier(method=method, **SWARM).fit(*frames(X, labels))
    assert model(estimator) == model(local)


def test_a_swarm_over_the_rules_of_a_model_gives_the_same_model(client, tmp_path):
    X, y = table(20_000)
    forest = swarmwood.GreedyBoostRegressor(n_estimators=5, max_depth=3).fit(X, y)
    forest.save_model(tmp_path / "forest.json")
    settings = {"method": "psgbdt", "pretrained": tmp_path / "forest.json", **SWARM}
    local = swarmwood.SwarmBoostRegressor(**settings).fit(X, y)
    estimator = clustered.SwarmBoostRegressor(**settings).fit(*frames(X, y))
    assert model(estimator) == model(local)


def test_a_hyperparameter_search_on_workers_gives_the_same_result(client):
    X, y = table(2000)
    space = {"max_depth": (1, 4), "learning_rate": (0.05, 0.5, "log")}
    estimator = swarmwood.GreedyBoostRegressor(n_estimators=10, n_jobs=1)

    def search():
        search = swarmwood.SchemataSearchCV(estimator, space, n_iter=8, cv=3, random_state=1)
        search.fit(X, y)
        results = search.cv_results_
        return results["params"], list(results["mean_test_score"]), model(search.best_estimator_)

    local = search()
    with joblib.parallel_config("dask", client=client):
        assert search() == local


def test_trials_of_a_tuner_on_workers_give_the_same_result(client):
    def evaluate(params):
        return (params["x"] - 0.3) ** 2 + abs(params["k"] - 2)

    def search(run):
        tuner = swarmwood.Tuner({"x": (0.0, 1.0), "k": (1, 5)}, seed=1)
        for _ in range(6):
            trials = tuner.ask(4)
            values = run(evaluate, [trial.params for trial in trials])
            for trial, value in zip(trials, values, strict=True):
                tuner.tell(trial, value)
        return tuner.best_.params, tuner.best_.value

    assert search(client.get_executor(pure=False).map) == search(map)


def test_more_rows_than_the_sample(client):
    X, y = table(150_000)
    weight = pd.Series(np.random.default_rng(2).choice([0.0, 0.5, 1.5], len(X)))
    for weights in [(), (weight,)]:
        local = swarmwood.GreedyBoostRegressor(n_estimators=3).fit(X, y, *weights)
        estimator = clustered.GreedyBoostRegressor(n_estimators=3)
        assert model(estimator.fit(*frames(X, y, *weights))) == model(local)


def test_uneven_and_empty_partitions_and_repeated_rows(client):
    X, y = table(9000)
    # Repeated rows are put in an order of their own.
    X, y = pd.concat([X, X[:500]]), pd.concat([y, y[:500]])
    X, y = X.reset_index(drop=True), y.reset_index(drop=True)
    local = swarmwood.GreedyBoostRegressor(n_estimators=5).fit(X, y)
    ends = [0, 1, 1, 4000, 4100, 9500, 9500]
    parts = [(X[a:b], y[a:b]) for a, b in itertools.pairwise(ends)]
    delayed = [dask.delayed(lambda X, y: X.assign(y=y))(*part) for part in parts]
    estimator = clustered.GreedyBoostRegressor(n_estimators=5).fit(delayed, "y")
    assert model(estimator) == model(local)


def test_arrays(client):
    X, y = table(9000)
    numbers = X[["x0", "x1", "x2", "x3"]].to_numpy()
    local = swarmwood.GreedyBoostRegressor(n_estimators=5).fit(numbers, y.to_numpy())
    blocks = da.from_array(numbers, chunks=(2500, 2))
    estimator = clustered.GreedyBoostRegressor(n_estimators=5)
    estimator.fit(blocks, da.from_array(y.to_numpy(), chunks=4000))
    assert model(estimator) == model(local)
    predicted = estimator.predict(blocks).compute()
    np.testing.assert_array_equal(predicted, local.predict(numbers))


def test_parquet_files_are_read_by_the_workers(client, tmp_path):
    X, y = table(9000)
    whole = X.assign(y=y)
    paths = [tmp_path / f"{at}.parquet" for at in range(3)]
    for at, path in enumerate(paths):
        whole[3000 * at : 3000 * (at + 1)].to_parquet(path)
    local = swarmwood.GreedyBoostRegressor(n_estimators=5).fit(X, y)
    estimator = clustered.GreedyBoostRegressor(n_estimators=5).fit(paths, "y")
    assert model(estimator) == model(local)


def test_predictions_of_collections(client):
    X, y = table(9000)
    labels = (y > 0).astype(int)
    local = swarmwood.GreedyBoostClassifier(n_estimators=5).fit(X, labels)
    estimator = clustered.GreedyBoostClassifier(n_estimators=5).fit(*frames(X, labels))
    (rows,) = frames(X)
    np.testing.assert_array_equal(estimator.predict(rows).compute(), local.predict(X))
    probabilities = estimator.predict_proba(rows).compute()
    np.testing.assert_array_equal(probabilities, local.predict_proba(X))


def test_early_stopping_on_rows_in_memory(client):
    X, y = table(9000)
    settings = {"n_estimators": 60, "early_stopping_rounds": 3, "learning_rate": 0.8}
    held = table(2000, seed=3)
    local = swarmwood.GreedyBoostRegressor(**settings).fit(X, y, eval_set=[held])
    estimator = clustered.GreedyBoostRegressor(**settings)
    estimator.fit(*frames(X, y), eval_set=[held])
    assert model(estimator) == model(local)


@pytest.mark.parametrize(
    ("settings", "name"), [({"booster": "gblinear"}, "booster"), ({"max_bin": 0}, "max_bin")]
)
def test_what_needs_rows_in_one_process_is_refused(client, settings, name):
    X, y = table(2000)
    with pytest.raises(swarmwood.ParameterError, match=name):
        clustered.GreedyBoostRegressor(**settings).fit(*frames(X, y))


def test_a_swarm_over_all_distinct_values_is_refused(client):
    with pytest.raises(swarmwood.ParameterError, match="sgbdt-bins"):
        clustered.SwarmBoostRegressor(method="sgbdt", **SWARM).fit(*frames(*table(2000)))


def test_partitions_that_do_not_fit_together(client):
    X, y = table(2000)
    with pytest.raises(ValueError, match="partitions"):
        clustered.GreedyBoostRegressor().fit(frames(X)[0], frames(y, npartitions=3)[0])


class Killer(threading.Thread):
    """Kills the process of a worker after some time, unless the run is over by then."""

    def __init__(self, cluster, delay, number, sign=signal.SIGKILL):
        super().__init__(daemon=True)
        self.cluster, self.delay, self.number, self.sign = cluster, delay, number, sign
        self.killed = None

    def run(self):
        time.sleep(self.delay)
        workers = sorted(self.cluster.workers.items(), key=lambda item: str(item[0]))
        if not workers:
            return
        nanny = workers[self.number % len(workers)][1]
        self.killed = nanny.pid
        os.kill(nanny.pid, self.sign)


@pytest.mark.parametrize("kill", range(KILLS))
def test_a_killed_worker_changes_nothing(kill):
    rng = np.random.default_rng(kill)
    X, y = table(20_000)
    name, settings = "GreedyBoostRegressor", {"n_estimators": 40, "max_depth": 5}
    if kill % 4 == 3:
        name, settings = "SwarmBoostRegressor", {"method": "psgbdt", **SWARM, "iterations": 15}
    local = getattr(swarmwood, name)(**settings).fit(X, y)
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with (
        distributed.LocalCluster(n_workers=3, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        killers = [Killer(cluster, rng.uniform(0.2, 6.0), int(rng.integers(3)))]
        if kill % 2:
            killers.append(Killer(cluster, rng.uniform(0.2, 6.0), int(rng.integers(3))))
        for killer in killers:
            killer.start()
        started = time.monotonic()
        estimator = getattr(clustered, name)(**settings)
        estimator.fit(*frames(X, y), client=client)
        assert time.monotonic() - started < 90
    assert model(estimator) == model(local)


def test_a_worker_that_dies_after_its_reply_changes_nothing(monkeypatch):
    # Its reply is gone with it, and the scheduler would wait for a worker of that address.
    X, y = table(20_000)
    settings = {"n_estimators": 5, "max_depth": 3}
    local = swarmwood.GreedyBoostRegressor(**settings).fit(X, y)
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with (
        distributed.LocalCluster(n_workers=2, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        processes = client.run(os.getpid)
        calls, awaited = itertools.count(), clustered.DaskWorkers._await

        def kill_after(pool, futures, addresses, deadline):
            awaited(pool, futures, addresses, deadline)
            # Of the futures of messages, which have a deadline.
            if deadline is not None and next(calls) == 12:
                os.kill(processes[addresses[0]], signal.SIGKILL)

        monkeypatch.setattr(clustered.DaskWorkers, "_await", kill_after)
        estimator = clustered.GreedyBoostRegressor(**settings)
        fit = threading.Thread(
            target=estimator.fit, args=frames(X, y), kwargs={"client": client}, daemon=True
        )
        fit.start()
        fit.join(60)
        assert not fit.is_alive()
    assert next(calls) > 13
    assert model(estimator) == model(local)


DRIVER = """
import sys, distributed
from swarmwood.dask import SwarmBoostRegressor

address, rows, checkpoint = sys.argv[1:]
with distributed.Client(address) as client:
    model = SwarmBoostRegressor(n_estimators=4, max_leaves=8, budget=400)
    model.fit([rows], "y", client=client, checkpoint=checkpoint)
"""


def test_a_killed_driver_resumes_from_its_checkpoint(client, tmp_path):
    X, y = table(9000)
    rows, checkpoint = tmp_path / "rows.parquet", tmp_path / "checkpoint"
    X.assign(y=y).to_parquet(rows)
    arguments = [client.scheduler.address, str(rows), str(checkpoint)]
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, *arguments])
    while not checkpoint.exists():
        assert driver.poll() is None
        time.sleep(0.01)
    driver.kill()
    assert driver.wait() == -signal.SIGKILL
    settings = {"n_estimators": 4, "max_leaves": 8, "budget": 400}
    estimator = clustered.SwarmBoostRegressor(**settings)
    estimator.fit([rows], "y", client=client, checkpoint=checkpoint, resume=True)
    assert model(estimator) == model(swarmwood.SwarmBoostRegressor(**settings).fit(X, y))
    with pytest.raises(swarmwood.ParameterError, match="checkpoint"):
        clustered.GreedyBoostRegressor().fit([rows], "y", client=client, checkpoint=checkpoint)


def test_a_worker_that_stops_is_given_up():
    X, y = table(20_000)
    settings = {"n_estimators": 30, "max_depth": 4}
    local = swarmwood.GreedyBoostRegressor(**settings).fit(X, y)
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with (
        distributed.LocalCluster(n_workers=2, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        estimator = clustered.GreedyBoostRegressor(**settings)
        killer = Killer(cluster, 3.0, 0, signal.SIGSTOP)
        killer.start()
        try:
            estimator.fit(*frames(X, y), client=client, timeout=5.0)
        finally:
            killer.join()
            os.kill(killer.killed, signal.SIGCONT)
    assert model(estimator) == model(local)
