"""The child process of one solver: a job as JSON on stdin, one JSON object as the last line of
stdout.

The clock of the processor covers `fit` alone: neither the interpreter nor imports nor the data are
held against a solver. Ours is measured as a whole process.
"""

import json
import sys
import time
import warnings

import numpy as np

THRESHOLDS = 20  # that STreeD, which wants yes-or-no features, may choose from in each column


def make(name: str, depth: int, limit: float):
    """The solver, and how to ask it whether its tree is proven best."""
    if name == "contree":
        from pycontree import ConTree

        return ConTree(
            max_depth=depth, time_limit=limit
        ), lambda solver: solver._config.is_within_time_limit()
    if name == "streed":
        from pystreed import STreeDClassifier

        solver = STreeDClassifier(
            "accuracy", max_depth=depth, time_limit=limit, n_thresholds=THRESHOLDS
        )
        return solver, lambda solver: solver.fit_result.is_optimal()
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(max_depth=depth, random_state=0), lambda solver: False


def solve(job: dict) -> dict:
    """Accuracy on the rows it was fitted to, seconds, and whether the solver came to its end."""
    with np.load(job["rows"]) as stored:
        x, y = stored["x"], stored["y"]
    solver, is_proven = make(job["solver"], job["depth"], job["limit"])
    wall, cpu = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # both warn of the limit that `proven` tells
        solver.fit(x, y)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return {
        "accuracy": float(np.mean(solver.predict(x) == y)),
        "cpu": cpu,
        "wall": wall,
        "proven": is_proven(solver),
    }


if __name__ == "__main__":
    print("\n" + json.dumps(solve(json.load(sys.stdin))))
