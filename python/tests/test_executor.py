"""The tasks of a search on executors: the same model wherever they run."""

import multiprocessing
import os
import pickle
import random
import signal
import threading
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from swarmwood import (
    GreedyBoostRegressor,
    Objective,
    ParameterError,
    SwarmBoostClassifier,
    SwarmBoostRegressor,
    SwarmwoodError,
    _executor,
)


def frame(rows: int = 240) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"a": rng.normal(size=rows), "b": rng.normal(size=rows)})
    X["kind"] = rng.choice(["p", "q", "r"], rows)
    y = np.sin(3 * X["a"]) + (X["b"] > 0) * (X["kind"] == "q") + rng.normal(0, 0.1, rows)
    return X, y.to_numpy()


def regressor(**parameters):
    return SwarmBoostRegressor(n_estimators=3, max_leaves=4, n_jobs=1, **parameters)


def model_bytes(estimator, path: Path) -> bytes:
    estimator.save_model(path / "model.json")
    return (path / "model.json").read_bytes()


def processes(workers: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))


class InThisProcess:
    """An executor that counts, and hands back results in any order."""

    def __init__(self, seed: int = 0):
        self.random = random.Random(seed)
        self.waiting: list[tuple[Future, tuple]] = []
        self.carried = 0
        self.sent = 0
        self.lock = threading.Lock()

    def submit(self, function, *arguments):
        future: Future = Future()
        with self.lock:
            self.sent += 1
            self.carried += arguments[2] is not None
            self.waiting.append((future, (function, arguments)))
        threading.Timer(0.002, self.finish_one).start()
        return future

    def finish_one(self):
        with self.lock:
            at = self.random.randrange(len(self.waiting))
            future, (function, arguments) = self.waiting.pop(at)
        if future.set_running_or_notify_cancel():
            self.finish(future, function, arguments)

    def finish(self, future, function, arguments):
        # As an executor of other processes would.
        function, arguments = pickle.loads(pickle.dumps((function, arguments)))
        try:
            future.set_result(function(*arguments))
        except Exception as error:
            future.set_exception(error)


class FailsOnce(InThisProcess):
    """Every task fails the first time."""

    def __init__(self, failures: int = 1):
        super().__init__()
        self.failures = failures
        self.failed: dict[bytes, int] = {}

    def finish(self, future, function, arguments):
        count = self.failed.get(arguments[3], 0)
        if count < self.failures:
            self.failed[arguments[3]] = count + 1
            future.set_exception(OSError("the worker was lost"))
        else:
            super().finish(future, function, arguments)


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    X, y = frame()
    return model_bytes(regressor().fit(X, y), tmp_path_factory.mktemp("local"))


@pytest.mark.parametrize("workers", [2, 4])
def test_processes_give_the_same_bytes(workers, local, tmp_path):
    X, y = frame()
    with processes(workers) as executor:
        model = regressor().fit(X, y, executor=executor)
    assert model_bytes(model, tmp_path) == local


def test_threads_give_the_same_bytes(local, tmp_path):
    X, y = frame()
    with ThreadPoolExecutor(3) as executor:
        model = regressor().fit(X, y, executor=executor)
    assert model_bytes(model, tmp_path) == local


@pytest.mark.parametrize("seed", [1, 2])
def test_results_in_any_order_give_the_same_bytes(seed, local, tmp_path):
    X, y = frame()
    _executor._held.clear()
    executor = InThisProcess(seed)
    model = regressor().fit(X, y, executor=executor)
    assert model_bytes(model, tmp_path) == local
    # The rows went to the only worker once, though many tasks were under way.
    assert executor.carried == 1
    assert executor.sent > 20


def test_a_task_that_fails_is_sent_again(local, tmp_path):
    X, y = frame()
    model = regressor().fit(X, y, executor=FailsOnce())
    assert model_bytes(model, tmp_path) == local
    with pytest.raises(OSError, match="the worker was lost"):
        regressor().fit(X, y, executor=FailsOnce(failures=3))


def test_weights_categories_classes_and_held_out_rows(tmp_path):
    X, y = frame()
    labels = np.where(y > 0.5, "high", np.where(y > 0, "middle", "low"))
    weight = np.linspace(0.5, 2, len(y))

    def classifier():
        return SwarmBoostClassifier(
            n_estimators=2, max_leaves=4, n_jobs=1, validation_fraction=0.2, max_features=2
        )

    here = classifier().fit(X, labels, weight)
    there = classifier().fit(X, labels, weight, executor=InThisProcess())
    assert model_bytes(there, tmp_path) == model_bytes(here, tmp_path)

    array, numbers = X[["a", "b"]].to_numpy(), (X["kind"] == "q").to_numpy() + y
    for fit in ({}, {"eval_set": (array, numbers)}):
        here = regressor().fit(array, numbers, **fit)
        there = regressor().fit(array, numbers, executor=InThisProcess(), **fit)
        assert model_bytes(there, tmp_path) == model_bytes(here, tmp_path)


def test_loky_gives_the_same_bytes(local, tmp_path):
    from joblib.externals.loky import get_reusable_executor

    X, y = frame()
    model = regressor().fit(X, y, executor=lambda: get_reusable_executor(2))
    assert model_bytes(model, tmp_path) == local


def test_dask_gives_the_same_bytes(local, tmp_path):
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    X, y = frame()
    cluster = {"n_workers": 2, "threads_per_worker": 2, "dashboard_address": None}
    with distributed.Client(**cluster) as client:
        model = regressor().fit(X, y, executor=client.get_executor(pure=False))
    assert model_bytes(model, tmp_path) == local


def test_ray_gives_the_same_bytes(local, tmp_path):
    ray = pytest.importorskip("ray", reason="Ray is not installed")

    class RayExecutor:
        def submit(self, function, *arguments):
            return ray.remote(function).remote(*arguments).future()

    X, y = frame()
    ray.init(num_cpus=2, include_dashboard=False)
    try:
        model = regressor().fit(X, y, executor=RayExecutor())
    finally:
        ray.shutdown()
    assert model_bytes(model, tmp_path) == local


def squared(target, prediction):
    return prediction - target, np.ones_like(target)


def squared_values(target, prediction):
    return 0.5 * (prediction - target) ** 2


def test_a_custom_loss_goes_with_the_rows(tmp_path):
    X, y = frame(120)
    loss = Objective(squared, squared_values)
    here = regressor(objective=loss).fit(X, y)
    with processes(1) as executor:
        there = regressor(objective=loss).fit(X, y, executor=executor)
    assert model_bytes(there, tmp_path) == model_bytes(here, tmp_path)
    local_function = Objective(lambda *rows: squared(*rows), squared_values)
    with pytest.raises(ParameterError, match="pickled"):
        regressor(objective=local_function).fit(X, y, executor=InThisProcess())


def kill_the_worker(mark: str):
    if not os.path.exists(mark):
        Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_worker(local, tmp_path):
    X, y = frame()
    mark = str(tmp_path / "killed")
    made = []

    def make():
        # Its only worker is killed before the tasks that are sent to it.
        made.append(processes(1))
        made[-1].submit(kill_the_worker, mark)
        return made[-1]

    model = regressor().fit(X, y, executor=make)
    assert len(made) == 2
    assert model_bytes(model, tmp_path) == local

    Path(mark).unlink()
    with pytest.raises(SwarmwoodError, match="pass a function that makes an executor"):
        regressor().fit(X, y, executor=make())


def test_what_has_no_tasks_and_what_is_no_executor_is_refused():
    X, y = frame(50)
    with pytest.raises(ParameterError, match="executor: is for methods that compare candidates"):
        GreedyBoostRegressor().fit(X, y, executor=InThisProcess())
    with pytest.raises(ParameterError, match="must have the method submit"):
        regressor().fit(X, y, executor=3)


def test_another_version_is_refused():
    with pytest.raises(RuntimeError, match="install the same version"):
        _executor.run_task("0.0.0", "key", None, b"")


def test_a_time_limit_ends_the_wait():
    class Never:
        def submit(self, *_):
            return Future()

    X, y = frame()
    model = regressor(time_limit=1).fit(X, y, executor=Never())
    assert any("time limit" in note for note in model.fit_notes_)
