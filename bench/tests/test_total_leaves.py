"""The experiment `total-leaves`: shapes, choices and tables on planted answers."""

from pathlib import Path

import numpy as np
import pytest

import reproduce
from equal.cell import Cell
from equal.contenders import PEERS
from equal.sets import SETS, TESTED, Table, load
from evidence import total_leaves, total_leaves_tables
from evidence.total_leaves import CONFIRMATION, DEVELOPMENT, OURS, TINY, PeerFits, Setting
from evidence.total_leaves_tables import gap, hindsight, picked, values_of

STAND_IN = Path(__file__).with_name("stand_in.py")


def line(name: str, split: int, contender: str, **figures: float) -> dict:
    place = {"set": name, "split": split, "size": "192", "contender": contender, "build": ""}
    return place | {"limit": None} | figures


def test_groups_of_sets_do_not_overlap():
    groups = [*DEVELOPMENT, *CONFIRMATION, *TINY]
    assert len(groups) == len(set(groups)) and set(groups) <= set(SETS)
    assert len(TINY) == 8 and all(200 <= SETS[name].training <= 600 for name in TINY)


def test_settings_divide_the_leaves_into_trees():
    settings = total_leaves.settings_of("lightgbm", 64)
    assert {setting.leaves for setting in settings} == {2, 4, 8, 16, 32, 64}
    assert len(settings) == 6 * 4 * 3
    assert {each.leaves for each in total_leaves.settings_of("lightgbm", 16)} == {2, 4, 8, 16}


def test_tiny_sets_train_on_few_rows_and_test_on_others(tmp_path):
    rows = 6000
    table = Table(load("hastie", tmp_path, rows).x, np.arange(rows) % 2, 2)
    parts = Cell("hastie_500", 3, table, tmp_path).parts
    assert len(parts["train"]) == 500 and len(parts["test"]) == TESTED
    assert not set(parts["train"]) & set(parts["test"])
    assert len(parts["fit"]) == 400 and set(parts["fit"]) | set(parts["valid"]) == set(
        parts["train"]
    )


@pytest.mark.parametrize("contender", PEERS)
def test_peers_keep_to_the_number_of_leaves(contender, tmp_path):
    pytest.importorskip(total_leaves.LIBRARY[contender][0])
    rows = Cell("hastie", 0, load("hastie", tmp_path, 400), tmp_path)
    fits = PeerFits(contender, 64, rows)
    found = fits.score("train", Setting(8, 0.3, 1.0), "test")
    assert 0 < fits.leaves <= 64 and 0.5 < found["accuracy"] <= 1


def test_the_picked_peer_is_the_best_on_inner_rows_and_hindsight_the_best_on_test_rows():
    lines = [line("pima", split, OURS, test_logloss=0.5) for split in (0, 1)]
    for peer, inner, tested in (
        ("xgboost", (0.40, 0.50), (0.60, 0.40)),
        ("xgboost-leaf", (0.45, 0.45), (0.55, 0.55)),
        ("lightgbm", (0.50, 0.60), (0.44, 0.46)),
        ("catboost", (0.60, 0.60), (0.70, 0.70)),
    ):
        for split in (0, 1):
            figures = {"inner_logloss": inner[split], "test_logloss": tested[split]}
            lines.append(line("pima", split, peer, **figures))
    values = values_of(lines, "192")
    assert picked(values, "pima", "logloss") == {0: 0.60, 1: 0.55}
    assert hindsight(values, "pima", "logloss") == ("lightgbm", {0: 0.44, 1: 0.46})
    against = gap(values, "pima", "logloss", picked(values, "pima", "logloss"))
    assert against.each == pytest.approx([100 * (1 - 0.5 / 0.6), 100 * (1 - 0.5 / 0.55)])


def test_a_page_of_nothing_says_so():
    page = total_leaves_tables.tell([], None)
    assert "No cell has been measured yet." in page.sections[0]


def test_a_trial_of_the_harness_writes_a_page(tmp_path):
    words = ["total-leaves", "--quick", "--out", str(tmp_path), "--workers", "0", "--repeats", "1"]
    words += ["--binary", str(STAND_IN), "--sets", "diabetes", "--contenders", "lightgbm"]
    pytest.importorskip("lightgbm")
    assert reproduce.main(words) == 0
    raw = (tmp_path / "raw.csv").read_text()
    assert "inner_rmse" in raw and "test_rmse" in raw
    assert "## 192 leaves" in (tmp_path / "summary.md").read_text()
