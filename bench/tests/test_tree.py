"""The rows and the page of the experiment on the published swarm tree."""

import numpy as np
import pandas as pd

from evidence import tree_tables
from evidence.request import Request
from evidence.tree import (
    COMPLETE,
    COVARIANCES,
    MEANS,
    OURS,
    SETS,
    Set,
    flags_of,
    parts,
    pruned,
    rows_of,
    solved,
)


def test_artificial_rows_have_the_means_and_covariances_of_table_1():
    frame = rows_of(Set("case 1", (0, 0), (0, 0), 0.1, (40_000, 60_000, 20_000)), None, 0)
    for label, mean, covariance in zip([1, 2, 3], MEANS, COVARIANCES, strict=True):
        rows = frame[frame["target"] == label].drop(columns="target")
        assert np.allclose(rows.mean(), mean, atol=0.02)
        assert np.allclose(rows.cov(), 0.1 * np.array(covariance), atol=0.02)


def test_repetitions_differ_and_repeat():
    first, again, other = (rows_of(SETS["case 1"], None, repetition) for repetition in (0, 0, 1))
    assert first.equals(again) and not first.equals(other)
    assert first["target"].value_counts().to_dict() == {1: 100, 2: 150, 3: 50}
    kept, tested = parts(first, 0)
    assert (len(kept), len(tested)) == (200, 100)
    assert sorted([*kept.index, *tested.index]) == list(range(300))


def test_incomplete_rows_are_left_out(tmp_path):
    frame = pd.DataFrame({column: [1, 1, 1] for column in COMPLETE}).assign(target=[0, 1, 0])
    frame.loc[1, "Insulin"] = 0
    frame.to_csv(tmp_path / "pima.csv", index=False)
    assert len(rows_of(SETS["pima"], tmp_path, 0)) == 2


def test_cross_validation_finds_the_planted_tree_in_noise():
    random = np.random.default_rng(7)
    x = random.random((400, 3))
    y = ((x[:, 0] > 0.5) ^ (random.random(400) < 0.1)).astype(int)
    tree = pruned(x, y)
    assert (
        tree.get_n_leaves() <= 4
        and tree.tree_.feature[0] == 0
        and abs(tree.tree_.threshold[0] - 0.5) < 0.05
    )


def test_solvers_find_what_greed_does_not():
    steps = np.arange(64)
    frame = pd.DataFrame({"a": steps % 8, "b": steps // 8}).assign(
        target=((steps % 8 > 3) ^ (steps // 8 > 3)) + 5
    )
    for package in ("pycontree", "pystreed"):
        assert solved(package, frame, frame) == {"train": 100.0, "test": 100.0, "proven": True}


def test_gains_are_paired_and_judged(tmp_path):
    lines = []
    for repetition, base in enumerate([80.0, 90.0, 70.0, 75.0, 60.0, 65.0]):
        for place, name in enumerate(OURS):
            cell = {
                "set": "case 2",
                "split": repetition,
                "contender": name,
                "train": 95.0,
                "test": base + place,
            }
            lines.append(cell | {"leaves": 5})
    page = tree_tables.tell(lines, Request("tree", tmp_path, tmp_path, tmp_path, tmp_path))
    text = "\n".join(page.sections)
    assert (
        "+1.00 ± 0.00" in text
        and "+3.00 ± 0.00" in text
        and "89.61" in text
        and "case 3" not in text
    )
    claims = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in text.splitlines()
        if "+3.71" in line
    ]
    judged = {claim[1]: claim[2:] for claim in claims}
    assert judged["apso-tree, random"] == ["+3.71", "+2.00 ± 0.00", "0.031", "confirmed"]
    # Compared with the CART of its size, which stands four places after the other.
    assert judged["apso-tree, random, published size"][1] == "+1.00 ± 0.00"
    optimizers = [line for line in text.splitlines() if line.startswith("| aco")]
    assert len(optimizers) == 1 and "(6-0-0; 0.031)" in optimizers[0]


def test_the_published_size_depends_on_the_set():
    known = SETS["pima"]
    cart = flags_of("CART, published size", known)
    assert cart[-4:] == ("--prune", "none", "--max-leaves", known.leaves)
    grid = flags_of("apso-tree, random, published size", known)
    assert "random" in grid and grid[-2:] == ("--grid-thresholds", known.leaves - 1)
    assert flags_of("CART", known) == ("--method", "cart")
