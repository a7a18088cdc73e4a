"""The rows and the tables of the experiment on the published swarm tree."""

import numpy as np
import pandas as pd

import paper_trees
from paper_trees import COLUMNS, COMPLETE, CONTENDERS, COVARIANCES, MEANS, SETS, Set, parts, rows_of, summary


def test_artificial_rows_have_the_means_and_covariances_of_table_1():
    large = Set("case 1", (0, 0), (0, 0), 0.1, (40_000, 60_000, 20_000))
    paper_trees.SETS.append(large)
    try:
        frame = rows_of(large, None, 0)
    finally:
        paper_trees.SETS.remove(large)
    for label, mean, covariance in zip([1, 2, 3], MEANS, COVARIANCES, strict=True):
        rows = frame[frame["target"] == label].drop(columns="target")
        assert np.allclose(rows.mean(), mean, atol=0.02)
        assert np.allclose(rows.cov(), 0.1 * np.array(covariance), atol=0.02)


def test_repetitions_differ_and_repeat():
    first, again, other = (rows_of(SETS[0], None, repetition) for repetition in (0, 0, 1))
    assert first.equals(again) and not first.equals(other)
    assert first["target"].value_counts().to_dict() == {1: 100, 2: 150, 3: 50}
    kept, tested = parts(first, 0)
    assert (len(kept), len(tested)) == (200, 100)
    assert sorted([*kept.index, *tested.index]) == list(range(300))


def test_incomplete_rows_are_left_out(tmp_path):
    frame = pd.DataFrame({column: [1, 1, 1] for column in COMPLETE}).assign(target=[0, 1, 0])
    frame.loc[1, "Insulin"] = 0
    frame.to_csv(tmp_path / "pima.csv", index=False)
    pima = next(known for known in SETS if known.name == "pima")
    assert len(rows_of(pima, tmp_path, 0)) == 2


def test_gains_are_paired():
    lines = []
    for repetition, base in enumerate([80.0, 90.0]):
        for place, name in enumerate(CONTENDERS):
            lines.append(["case 1", repetition, name, 95.0, base + place, 5, "", "", "", 0])
    text = summary(pd.DataFrame(lines, columns=COLUMNS))
    assert "+1.00 ± 0.00" in text and "+3.00 ± 0.00" in text and "93.41" in text and "case 2" not in text
