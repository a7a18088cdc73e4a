"""The experiment `rules`: its generated rows, and its tables on planted answers."""

import numpy as np

from evidence import rules, rules_tables
from evidence.request import Request


def test_the_ends_of_tic_tac_toe_are_those_of_the_published_set():
    x, y = rules.tic_tac_toe(5000)
    assert x.shape == (958, 27)
    assert int(y.sum()) == 626
    # Every field is blank, of the first or of the second player.
    assert (x.reshape(958, 9, 3).sum(axis=2) == 1).all()


def test_sets_of_both_kinds_are_there_for_confirmation():
    for task in rules.METRICS:
        groups = {known.confirmation for known in rules.SETS.values() if known.task == task}
        assert groups == {True, False}
    assert sum(known.confirmation for known in rules.SETS.values()) >= 12


def test_metrics_are_percent():
    told = rules.metrics("binary", np.array([0.9, 0.2, 0.6, 0.1]), np.array([1, 0, 0, 0]))
    assert told["test_accuracy"] == 75.0
    assert told["test_auc"] == 100.0
    assert (
        rules.metrics("regression", np.array([1.0, 2.0]), np.array([1.0, 2.0]))["test_r2"] == 100.0
    )


def line(name: str, split: int, who: str, **figures: float) -> dict:
    return {"set": name, "split": split, "size": "7", "contender": who, **figures}


def test_gains_are_means_of_sets(tmp_path):
    lines = []
    for name, ours, theirs in (("abalone", 50.0, 48.0), ("diabetes", 40.0, 41.0)):
        for split, shift in ((0, 0.0), (1, 4.0)):
            lines.append(line(name, split, "tree-sum", test_r2=ours + shift, trees=3, splits=7))
            lines.append(line(name, split, "FIGS", test_r2=theirs + shift))
    request = Request("rules", tmp_path, tmp_path, tmp_path, tmp_path, busy=True)
    told = "\n".join(rules_tables.tell(lines, request).sections)
    assert "+0.50 ± 1.50 (1-0-1)" in told
    assert "47.0" in told and "Development sets" in told and "Confirmation sets" not in told


def test_the_choice_is_compared_with_the_better_of_both():
    lines = [
        line("abalone", 0, "tree-sum", test_r2=50.0),
        line("abalone", 0, "tree-sum, no guard", test_r2=49.0),
        line("abalone", 0, "swarm-tree", test_r2=52.5),
    ]
    assert "-2.50" in rules_tables.choice_table(lines, False)
