"""The experiment `monotone`: its errors and its tables."""

import numpy as np
import pytest

from equal import sets
from evidence import monotone
from evidence.request import Request


def test_errors_are_those_of_the_task():
    y = np.array([0.0, 1.0])
    assert monotone.error("regression", y, y + 2) == pytest.approx(2)
    assert monotone.error("binary", y, np.array([0.5, 0.5])) == pytest.approx(np.log(2))


def test_constraints_name_features_of_known_sets():
    assert all(name in sets.SETS for name in monotone.SETS)
    assert all(sign in (-1, 1) for signs in monotone.SETS.values() for sign in signs.values())


def test_cells_are_told(tmp_path):
    request = Request("monotone", tmp_path, tmp_path, tmp_path, tmp_path)
    place = {"set": "pima", "split": 0, "size": "192", "build": "", "limit": None}
    lines = [
        place | {"contender": contender, "score": 0.5 + 0.1 * at, "seconds": 1.0 + at}
        for at, contender in enumerate(monotone.CONTENDERS)
    ]
    assert all(monotone.asked_for(line, request) for line in lines)
    told = " ".join("\n".join(monotone.tell(lines, request).sections).split())
    assert "| pima | log loss | 0.5 | 0.6 | 0.7 | 0.8 | 0.9 |" in told
    assert "| pima | 0.50 |" in told
    assert "No cell" in monotone.tell([], request).sections[0]
