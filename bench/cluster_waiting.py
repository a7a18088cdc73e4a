"""How much of a default run on a Dask cluster is waiting for messages?

python bench/cluster_waiting.py [--rows 1000000] [--columns 20] [--workers 4]

needs an environment with swarmwood and Dask, such as that of `make cluster`. The workers make the
rows. Waiting is the time of all rounds of messages less, in each round, the processor time of the
host that worked longest: what the driver would not wait if messages took no time, and if every
worker had a core of its own.
"""

import argparse
import json
import time
from collections import defaultdict

import dask
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster
from swarmwood import _cluster
from swarmwood.dask import SwarmBoostRegressor

#: Of one partition.
PART_ROWS = 62_500


def part(at: int, rows: int, columns: int) -> pd.DataFrame:
    """Make the rows of a partition: a sum, a wave and a product."""
    rng = np.random.default_rng(at)
    X = rng.normal(size=(rows, columns))
    y = 2 * X[:, 0] + np.sin(3 * X[:, 1]) + X[:, 2] * X[:, 3] + 0.5 * rng.normal(size=rows)
    return pd.DataFrame(X, columns=[f"x{at}" for at in range(columns)]).assign(y=y)


def time_hosts() -> None:
    """In a worker: keep the processor seconds of every message, by host."""
    from swarmwood import _cluster

    _cluster.seconds = defaultdict(list)
    handle = _cluster.ask_host

    def ask_host(key: str, message: bytes) -> bytes | None:
        started = time.thread_time()
        reply = handle(key, message)
        _cluster.seconds[key].append(time.thread_time() - started)
        return reply

    # Tasks name the function, and find this one.
    ask_host.__module__, ask_host.__qualname__ = handle.__module__, handle.__qualname__
    _cluster.ask_host = ask_host


def host_seconds() -> dict[str, list[float]]:
    """In a worker: what was kept."""
    from swarmwood import _cluster

    return dict(_cluster.seconds)


def measure(rows: int, columns: int, workers: int) -> dict[str, float]:
    """Return the seconds of a run and of its parts."""
    rounds: list[tuple[list[str], float]] = []
    exchange = _cluster.ClusterRun.exchange

    def timed(run, messages):
        started = time.perf_counter()
        replies = exchange(run, messages)
        keys = [run._keys[host] for host, _ in messages]
        rounds.append((keys, time.perf_counter() - started))
        return replies

    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with LocalCluster(n_workers=workers, **options) as cluster, Client(cluster) as client:
        client.run(time_hosts)
        count = -(-rows // PART_ROWS)
        sizes = [rows * (at + 1) // count - rows * at // count for at in range(count)]
        made = dask.delayed(part)
        parts = [made(at, size, columns) for at, size in enumerate(sizes)]
        _cluster.ClusterRun.exchange = timed
        started = time.perf_counter()
        try:
            model = SwarmBoostRegressor(n_jobs=1)
            model.fit(parts, "y", client=client)
        finally:
            _cluster.ClusterRun.exchange = exchange
        total = time.perf_counter() - started
        kept: dict[str, list[float]] = {}
        for of_worker in client.run(host_seconds).values():
            kept |= of_worker
    steps = {key: iter(seconds) for key, seconds in kept.items()}
    work = sum(max(next(steps[key]) for key in keys) for keys, _ in rounds)
    in_rounds = sum(seconds for _, seconds in rounds)
    return {
        "rounds": len(rounds),
        "seconds": total,
        "in rounds": in_rounds,
        "longest hosts": work,
        "share of waiting": (in_rounds - work) / total,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--workers", type=int, default=4)
    given = parser.parse_args()
    print(json.dumps(measure(given.rows, given.columns, given.workers), indent=1))


if __name__ == "__main__":
    main()
