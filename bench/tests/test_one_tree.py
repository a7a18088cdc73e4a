"""One tree beside CART and the solvers: sets, cells, what is measured again, and the tables."""

import stat

import numpy as np
import pandas as pd
import pytest

import one_tree
import rules_size
from equal import cache
from single import measure, sets, solver, tables
from single.measure import FIRST_SPLIT, SIZES, Job, planned

# A stand-in for our binary: it notes every call, answers as `train --json` and `evaluate --json`
# do.
STAND_IN = """#!/usr/bin/env python3
import json, pathlib, sys
pathlib.Path(__file__).with_suffix(".calls").open("a").write(" ".join(sys.argv[1:]) + "\\n")
if "--version" in sys.argv:
    print("stand-in 0.0.0")
elif sys.argv[1] == "train":
    search = {"leaves": 8, "selected_by_search": True, "descents": 1}
    seconds = {"read": 0.1, "bin": 0.0, "train": 0.2}
    metrics = {"train": {"accuracy": 0.75}}
    print(json.dumps({"seconds": seconds, "search": search, "metrics": metrics}))
else:
    print(json.dumps({"accuracy": 1.0, "r2": 1.0}))
"""


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    random = np.random.default_rng(1)
    x = random.random((60, 2))
    frame = pd.DataFrame(x, columns=["a", "b"]).assign(target=np.where(x[:, 0] > 0.5, "yes", "no"))
    frame.to_csv(folder / "banknote.csv", index=False)
    frame.assign(target=np.arange(60) % 7 + 1).to_csv(folder / "wine_red.csv", index=False)
    frame.assign(sex=np.where(x[:, 1] > 0.5, "f", "m"), target=x[:, 0]).to_csv(
        folder / "abalone.csv", index=False
    )
    return folder


@pytest.fixture
def binary(tmp_path):
    path = tmp_path / "stand_in"
    path.write_text(STAND_IN)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def calls(binary) -> list[str]:
    return binary.with_suffix(".calls").read_text().splitlines()


def test_classes_are_numbered_and_thresholds_make_two_of_them(data):
    named = sets.load("banknote", data)
    raw = pd.read_csv(data / "banknote.csv")["target"]
    assert (named["target"] == (raw == "yes")).all()
    wine = sets.load("wine_class", data)["target"]
    assert (wine == (pd.read_csv(data / "wine_red.csv")["target"] >= 6)).all()
    assert len(sets.load("banknote", data, 20)) == 20


def test_a_split_is_a_partition_with_equal_shares_of_the_classes(data):
    frame = sets.load("wine_class", data)
    kept, unseen = sets.divide(frame, "classification", 100, 1 / 3)
    assert sorted([*kept.index, *unseen.index]) == list(range(60))
    assert len(unseen) == 20
    assert abs(kept["target"].mean() - unseen["target"].mean()) < 0.03
    again, other = (sets.divide(frame, "classification", split, 1 / 3)[0] for split in (100, 101))
    assert again.index.equals(kept.index) and not other.index.equals(kept.index)


def test_text_becomes_the_same_columns_in_both_parts(data):
    frame = sets.load("abalone", data)
    women = frame[frame["sex"] == "f"]
    x, unseen = sets.numbers(frame, women)
    assert x.shape == (60, 4) and unseen.shape == (len(women), 4)
    assert (unseen[:, 2] == 1).all() and (unseen[:, 3] == 0).all()


def test_cells_are_planned_for_the_sets_that_are_asked_for():
    given = {"data": None, "binary": None, "build": "b", "limit": 1.0}
    jobs = list(
        planned(["depth 3", "8 leaves"], ["pima", "kc_house"], rounds=2, splits=20, **given)
    )
    at_depth = [job for job in jobs if job.size == "depth 3"]
    assert {job.name for job in at_depth} == {"pima"} and len(at_depth) == 2 * 5
    unseen = [job for job in jobs if job.size == "8 leaves"]
    assert len(unseen) == 2 * 20 * 2 and {job.split for job in unseen} == set(
        range(FIRST_SPLIT, FIRST_SPLIT + 20)
    )
    assert not list(planned(["16 leaves"], ["kc_house"], 1, 20, **given))


def test_only_what_is_missing_or_made_by_another_binary_is_measured():
    def job(contender: str, split: int = 1, size: str = "depth 3", build: str = "new") -> Job:
        return Job("pima", split, size, contender, None, None, build, 60.0)

    def known(of: Job, **found) -> dict:
        return {of.key: {"build": of.build if of.ours else "", "found": found}}

    assert not one_tree.is_known(job("contree"), {})
    assert one_tree.is_known(job("contree"), known(job("contree"), proven=True))
    # A solver that ran out of time in the first round would do so again.
    assert one_tree.is_known(job("contree"), known(job("contree", 0), proven=False))
    assert not one_tree.is_known(job("contree"), known(job("contree", 0), proven=True))
    assert not one_tree.is_known(job("cart"), known(job("cart", 0), proven=False))
    ours = job("swarm-tree")
    assert one_tree.is_known(ours, known(ours)) and not one_tree.is_known(
        ours, known(job("swarm-tree", build="old"))
    )
    assert not one_tree.is_known(job("cart", 101, "8 leaves"), known(job("cart", 100, "8 leaves")))


def board() -> tuple[np.ndarray, np.ndarray]:
    """The class is whether two numbers lie on the same side of their middle: no first split helps
    by itself."""
    x = np.array([[row % 8, row // 8 % 8] for row in range(128)], float)
    return x, ((x[:, 0] < 4) == (x[:, 1] < 4)).astype(np.int64)


@pytest.mark.parametrize(("name", "package"), [("contree", "pycontree"), ("streed", "pystreed")])
def test_solvers_prove_what_greed_misses(tmp_path, name, package):
    pytest.importorskip(package)
    x, y = board()
    np.savez(tmp_path / "rows.npz", x=x, y=y)
    job = {"depth": 2, "limit": 30.0, "rows": tmp_path / "rows.npz"}
    found = solver.solve(job | {"solver": name})
    assert found["accuracy"] == 1.0 and found["proven"] and found["cpu"] >= 0
    greedy = solver.solve(job | {"solver": "cart", "depth": 1})
    assert greedy["accuracy"] < 0.7 and not greedy["proven"]


def test_a_whole_run_with_a_stand_in_goes_on_where_it_was(tmp_path, data, binary, capsys):
    given = [
        "--data",
        data,
        "--binary",
        binary,
        "--cells",
        tmp_path / "cells.jsonl",
        "--out",
        tmp_path / "out",
    ]
    given = [
        str(word)
        for word in [*given, "--part", "splits", "--sets", "banknote,abalone,iris", "--splits", 2]
    ]
    assert one_tree.main(given) == 0
    trained = [call for call in calls(binary) if call.startswith("train")]
    # Two splits at 8 leaves for both sets, and at 16 for the one with classes.
    assert len(trained) == 6
    assert "--task regression --method swarm-tree --max-leaves 8 --threads 1 --seed 0" in " ".join(
        trained
    )
    assert "skip iris" in capsys.readouterr().err
    readme, raw = (
        (tmp_path / "out" / "README.md").read_text(),
        pd.read_csv(tmp_path / "out" / "raw.csv"),
    )
    assert str(tmp_path) not in readme and "stand-in 0.0.0" in readme
    ours = raw[(raw["contender"] == "swarm-tree") & (raw["quantity"] == "score")]
    assert len(ours) == 6 and (ours["value"] == 1.0).all()
    assert one_tree.main(given) == 0
    assert len([call for call in calls(binary) if call.startswith("train")]) == 6
    binary.write_text(STAND_IN + "# another binary\n")
    assert one_tree.main(given) == 0
    assert len([call for call in calls(binary) if call.startswith("train")]) == 12


def test_a_binary_that_fails_is_written_down(tmp_path, data, binary, capsys):
    binary.write_text("#!/bin/sh\necho 'error: no such method' >&2\nexit 2\n")
    given = [
        "--data",
        data,
        "--binary",
        binary,
        "--cells",
        tmp_path / "cells.jsonl",
        "--sizes",
        "8 leaves",
    ]
    given = [
        str(word)
        for word in [*given, "--sets", "banknote", "--splits", 1, "--contenders", "swarm-tree"]
    ]
    assert one_tree.main(given) == 1
    assert "exit code 2: error: no such method" in capsys.readouterr().err
    assert not cache.read(tmp_path / "cells.jsonl")


def test_the_time_of_ours_is_that_of_the_whole_process(tmp_path, data, binary):
    binary.write_text(STAND_IN + "sum(range(3_000_000))\n")
    job = Job("banknote", 0, "depth 3", "swarm-tree, 1 descent", data, binary, "b", 1.0)
    found = measure.measure(job)["found"]
    assert found["cpu"] > 0.02 and found["train"] == 0.2 and found["accuracy"] == 0.75
    assert "--depth 3 --criterion accuracy --min-leaf 1 --budget 1 " in calls(binary)[-1]
    limited = Job("wine_class", 0, "depth 4", "swarm-tree", data, binary, "b", 1.0)
    measure.measure(limited)
    assert "--time-limit 20 --threads 2" in calls(binary)[-1]


def line(name: str, size: str, contender: str, split: int, **found) -> dict:
    return {
        "set": name,
        "split": split,
        "size": size,
        "contender": contender,
        "build": "",
        "found": found,
    }


def test_gains_are_paired_and_judged():
    lines = []
    for name, gain in (("banknote", 0.03), ("iris", -0.01)):
        for split, base in ((100, 0.80), (101, 0.90)):
            lines.append(line(name, "8 leaves", "cart", split, score=base, leaves=8))
            lines.append(
                line(
                    name,
                    "8 leaves",
                    "swarm-tree",
                    split,
                    score=base + gain,
                    leaves=8,
                    searched=True,
                )
            )
    text = tables.summary(lines)
    assert "+3.00 ± 0.00 (2-0)" in text and "-1.00 ± 0.00 (0-2)" in text
    mean, worst = (row for row in text.splitlines() if row.startswith("| 8 leaves"))
    assert "(2 classification sets)" in mean and "1.00 |" in mean and "not met" not in mean
    assert "(iris)" in worst and "not met" in worst


def test_time_is_compared_with_the_proof_and_unfinished_solvers_are_marked():
    lines = []
    for turn, cpu in enumerate((0.04, 0.03)):
        lines.append(
            line("parkinsons", "depth 3", "swarm-tree, 1 descent", turn, accuracy=0.98, cpu=cpu)
        )
        lines.append(
            line(
                "parkinsons", "depth 3", "contree", turn, accuracy=0.99, cpu=0.1 + cpu, proven=True
            )
        )
        lines.append(
            line("eeg_eye_state", "depth 3", "swarm-tree, 1 descent", turn, accuracy=0.71, cpu=1.0)
        )
    lines.append(
        line("eeg_eye_state", "depth 3", "contree", 0, accuracy=0.70, cpu=60.0, proven=False)
    )
    text = tables.summary(lines)
    asked = [row for row in text.splitlines() if row.startswith("| depth 3")]
    assert (
        "(parkinsons; 1 sets proven)" in asked[0] and "-1.00" in asked[0] and "not met" in asked[0]
    )
    assert (
        "parkinsons, processor time" in asked[1] and "0.231" in asked[1] and "not met" in asked[1]
    )
    assert "unfinished" in asked[2] and "not met" not in asked[2]
    assert "70.000* (60.000 s)" in text and "99.000 (0.130 s)" in text


def test_at_depth_4_everybody_else_must_be_behind():
    lines = [
        line("wine_class", "depth 4", "cart", 0, accuracy=0.75, cpu=0.01, proven=False),
        line("wine_class", "depth 4", "streed", 0, accuracy=0.81, cpu=20.0, proven=False),
        line("wine_class", "depth 4", "swarm-tree", 0, accuracy=0.80, cpu=40.0),
    ]
    row = next(row for row in tables.summary(lines).splitlines() if row.startswith("| depth 4"))
    assert "(STreeD, 20 cuts)" in row and "-1.00" in row and "not met" in row


def test_every_size_names_known_sets():
    assert all(set(size.sets) <= set(sets.SETS) for size in SIZES.values())
    assert tables.summary([]) == "# One tree\n"


def test_changed_predictions_of_rules_are_counted(tmp_path):
    """The stand-in's model says 1 for all rows, its rules 0 for those with a missing or small x."""
    binary = tmp_path / "rules"
    binary.write_text("""#!/usr/bin/env python3
import pathlib, sys
if sys.argv[1] == "rules":
    print("def predict(row):\\n    return '1' if (row.get('x') or 0) > 2 else '0'")
else:
    pathlib.Path(sys.argv[-1]).write_text("prediction\\n" + "1\\n" * 4)
""")
    binary.chmod(0o755)
    (tmp_path / "whole.csv").write_text("x,target\n1,1\n2.5,1\n,1\n3,1\n")
    assert rules_size.changed(binary, tmp_path / "model.json", tmp_path / "whole.csv") == (2, 4)
    assert [rules_size.value(text) for text in ("", "2.5", "a")] == [None, 2.5, "a"]
