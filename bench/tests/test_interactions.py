"""The experiment `interactions`: what is planted, and its tables."""

import numpy as np
import pytest

from evidence import interactions
from evidence.interactions import PLANTED, SETS
from evidence.request import Request


@pytest.mark.parametrize("kind", [kind for kind in PLANTED if kind != "mixed"])
def test_no_column_alone_tells_anything_and_the_oracle_all_but_the_noise(kind):
    planted = PLANTED[kind]
    x, y, expected = planted.rows(20_000, 5, 1)
    assert x.shape == (20_000, planted.columns + 5)
    for column in x.T:
        halves = y[column > 0], y[column <= 0]
        assert abs(np.mean(halves[0]) - np.mean(halves[1])) < 0.05
    best = interactions.score(planted, y, expected)
    if planted.has_classes:
        assert best == pytest.approx(1 - planted.noise, abs=0.01)
    else:
        assert best == pytest.approx(1 - planted.noise**2 / np.var(y), abs=0.01)
        assert interactions.score(planted, y, np.full(len(y), y.mean())) == pytest.approx(0)


def test_cells_are_planned_and_told(tmp_path):
    request = Request("interactions", tmp_path, tmp_path, tmp_path, tmp_path, quick=True)
    jobs = list(interactions.plan(request))
    assert {job.name for job in jobs} == {name for name in SETS if name.endswith("-5")}
    place = {"set": "parity-20", "split": 0, "size": "2k", "build": "", "limit": None}
    lines = [
        place | {"contender": "swarm", "score": 0.84, "oracle": 0.85},
        place | {"contender": "xgboost", "score": 0.5, "oracle": 0.85},
    ]
    assert all(interactions.asked_for(line, request) for line in lines)
    told = "\n".join(interactions.tell(lines, request).sections)
    told = " ".join(told.split()) + "\n"
    assert "| swarm | 1 of 1 | 0.99 |" in told and "| xgboost | 0 of 1 | 0.59 |" in told
    assert "## 2,000 rows" in told and "No cell" in interactions.tell([], request).sections[0]
