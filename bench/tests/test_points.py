"""The experiment `points`: the rounded model, and the table on planted answers."""

import pytest

from evidence import points
from evidence.points import FLOAT, POINTS, ROUNDED
from evidence.request import Request


def test_rounding_keeps_the_least_leaf_of_each_tree():
    model = {"trees": [{"leaf": [1.0, 1.26, 2.0]}, {"leaf": [-0.3, 0.0]}]}
    found = points.rounded(model, 4)
    assert found["trees"][0]["leaf"] == [1.0, 1.25, 2.0]
    assert found["trees"][1]["leaf"] == pytest.approx([-0.3, -0.05])
    assert model["trees"][0]["leaf"] == [1.0, 1.26, 2.0]


def test_leaves_beyond_the_grid_are_refused():
    points.check_points({"points_unit": 0.5, "trees": [{"leaf": [0.0, 5.0]}]}, 10)
    for leaf in (5.5, 0.3, -0.5):
        with pytest.raises(ValueError, match="0 to 10 points"):
            points.check_points({"points_unit": 0.5, "trees": [{"leaf": [leaf]}]}, 10)


def test_losses_are_compared_on_the_splits_that_all_contenders_have(tmp_path):
    losses = {FLOAT: (1.0, 1.0, 3.0), ROUNDED: (1.1, 1.0), POINTS: (1.05, 1.0)}
    lines = [
        {"set": "pima", "size": "10", "split": split, "contender": who, "loss": loss}
        for who, known in losses.items()
        for split, loss in enumerate(known)
    ]
    request = Request("points", tmp_path, tmp_path, tmp_path, tmp_path, busy=True)
    told = "\n".join(points.tell(lines, request).sections)
    assert "lower loss on 1 of 2 splits, the same on 1." in told
    assert "+2.50 %" in told and "+5.00 %" in told
