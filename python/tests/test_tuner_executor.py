"""Trials of a tuner on executors: the same trials and values wherever they are evaluated."""

import math
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from test_executor import FailsOnce, InThisProcess, processes

from swarmwood import Integer, ParameterError, SwarmwoodError, Tuner, _executor, engines

SPACE = {
    "kind": ["a", "b", "c"],
    "depth": Integer(1, 9, when={"kind": ["a", "b"]}),
    "rate": (0.01, 1.0, "log"),
}


def loss(params, fold, rows, shift):
    """Some trials fail: they divide by zero, or have no value."""
    if params["kind"] == "c" and params["rate"] > 0.3:
        return 1 / (fold * 0)
    if params.get("depth") == 9:
        return math.nan
    part = rows[fold::3]
    slope = math.log10(params["rate"]) + params.get("depth", 6) / 4
    return float(np.mean((part * slope - shift) ** 2))


ROWS = np.linspace(-1, 2, 50)


def tuned(executor=None, engine="tpe", n_trials=24, **options):
    tuner = Tuner(SPACE, engine=engine, seed=3)
    options = {"batch_size": 5, "folds": 3, "catch": (ZeroDivisionError,), **options}
    tuner.optimize(loss, n_trials, data=(ROWS, 0.5), executor=executor, **options)
    return tuner.trials


@pytest.mark.parametrize("engine", engines())
def test_results_in_any_order_give_the_same_trials(engine):
    here = tuned(engine=engine)
    assert len(here) == 24
    # Not every engine comes to where trials fail.
    assert engine != "random" or any(value is None for _, value in here)
    for seed in (1, 2):
        _executor._held.clear()
        executor = InThisProcess(seed)
        assert tuned(executor, engine) == here
        # The data went to the only worker once, though many tasks were under way.
        assert executor.carried == 1
        assert executor.sent >= 3 * 24


def test_the_size_of_batches_is_what_results_depend_on():
    alone, together = (tuned(batch_size=size) for size in (1, 5))
    assert alone != together
    with ThreadPoolExecutor(4) as executor:
        assert tuned(executor, batch_size=1) == alone


def test_processes_give_the_same_trials():
    here = tuned()
    with processes(2) as executor:
        assert tuned(executor) == here


def test_functions_without_a_name_and_loky_give_the_same_trials():
    from joblib.externals.loky import get_reusable_executor

    def run(executor):
        shift = 0.25
        tuner = Tuner({"x": (-1.0, 1.0)}, seed=2)
        tuner.optimize(lambda params: (params["x"] - shift) ** 2, 15, executor=executor)
        return tuner.trials

    assert run(lambda: get_reusable_executor(2)) == run(None)


def test_a_task_that_fails_outside_of_the_function_is_sent_again():
    here = tuned()
    assert tuned(FailsOnce()) == here
    with pytest.raises(OSError, match="the worker was lost"):
        tuned(FailsOnce(failures=3))


def killed_once(params, path, parent):
    if os.getpid() != parent and not Path(path).exists():
        Path(path).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return params["x"] ** 2


def test_a_killed_process_changes_nothing(tmp_path):
    def run(executor, path):
        tuner = Tuner({"x": (-1.0, 1.0)}, seed=2)
        tuner.optimize(killed_once, 9, data=(str(path), os.getpid()), executor=executor)
        return tuner.trials

    here = run(None, tmp_path / "none")
    assert run(lambda: processes(2), tmp_path / "first") == here
    assert (tmp_path / "first").exists()
    with (
        processes(2) as executor,
        pytest.raises(SwarmwoodError, match="pass a function that makes an executor"),
    ):
        run(executor, tmp_path / "second")


def raises_at_low_rates(params):
    if params["rate"] < 0.1:
        raise LookupError(f"rate {params['rate']}")
    return params["rate"]


@pytest.mark.parametrize("executor", [None, InThisProcess()])
def test_an_exception_of_the_function_is_raised_and_the_search_can_go_on(executor):
    tuner = Tuner({"rate": (0.01, 1.0, "log")}, seed=1)
    with pytest.raises(LookupError, match=r"rate 0\.0"):
        tuner.optimize(raises_at_low_rates, 20, batch_size=8, executor=executor)
    told = len(tuner.trials)
    assert 0 < told < 20
    assert all(value >= 0.1 for _, value in tuner.trials)
    assert tuner.open_trials
    # What was left open comes first.
    tuner.optimize(raises_at_low_rates, 12, executor=executor, catch=(LookupError,))
    assert len(tuner.trials) == told + 12
    assert not tuner.open_trials
    assert sum(value is None for _, value in tuner.trials) >= 1


def test_a_search_that_is_over_ends_early():
    tuner = Tuner({"x": [1, 2, 3]}, engine="grid")
    tuner.optimize(lambda params: params["x"], 50)
    assert len(tuner.trials) == 3
    assert tuner.best_.params == {"x": 1}


def test_what_cannot_be_run_is_refused():
    tuner = Tuner({"x": (0.0, 1.0)})
    with pytest.raises(ParameterError, match="folds"):
        tuner.optimize(loss, 3, folds=0)
    with pytest.raises(ParameterError, match="n_trials"):
        tuner.optimize(loss, 0)
    with pytest.raises(ParameterError, match="must have the method submit"):
        tuner.optimize(loss, 3, executor=5)
    with pytest.raises(ParameterError, match="can be pickled"):
        tuner.optimize(loss, 3, data=(threading.Lock(),), executor=InThisProcess())


def test_dask_gives_the_same_trials():
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    cluster = {"n_workers": 2, "threads_per_worker": 2, "dashboard_address": None}
    with distributed.Client(**cluster) as client:
        assert tuned(client.get_executor(pure=False)) == tuned()


def test_ray_gives_the_same_trials():
    ray = pytest.importorskip("ray", reason="Ray is not installed")

    class RayExecutor:
        def submit(self, function, *arguments):
            return ray.remote(function).remote(*arguments).future()

    # Workers find the function by the name of this module.
    environment = {"env_vars": {"PYTHONPATH": str(Path(__file__).parent)}}
    ray.init(num_cpus=2, include_dashboard=False, runtime_env=environment)
    try:
        assert tuned(RayExecutor()) == tuned()
    finally:
        ray.shutdown()
