"""The experiment `intervals`: its figures and its tables on planted answers."""

import numpy as np

from evidence import intervals
from evidence.request import Request


def test_coverage_counts_both_ends_and_width_is_relative():
    y = np.array([0.0, 2.0, 4.0, 6.0])
    told = intervals.figures(y - np.array([0, 1, 1, -1]), y + np.array([1, 0, 1, 3]), y)
    assert told["coverage"] == 75.0
    assert told["width"] == np.mean([1, 1, 2, 2]) / np.std(y)


def test_only_regression_sets_are_measured():
    assert {"abalone", "insurance", "kc_house"} <= set(intervals.SETS)
    assert all(known.task == "regression" for known in intervals.SETS.values())


def test_sets_out_of_tolerance_are_named(tmp_path):
    lines = [
        {
            "set": name,
            "split": split,
            "size": "0.9",
            "contender": who,
            "coverage": value,
            "width": 2,
        }
        for name, who, value in (
            ("abalone", "swarm, constant", 90.5),
            ("insurance", "swarm, constant", 87.0),
            ("abalone", "LightGBM quantiles", 80.0),
        )
        for split in range(2)
    ]
    request = Request("intervals", tmp_path, tmp_path, tmp_path, tmp_path, busy=True)
    told = "\n".join(intervals.tell(lines, request).sections)
    assert "- swarm, constant: 1 of 2 sets; not insurance (87.0 %)" in told
    assert "- LightGBM quantiles: 0 of 1 sets; not abalone (80.0 %)" in told
    assert "88.8" in told and "Seconds" not in told
