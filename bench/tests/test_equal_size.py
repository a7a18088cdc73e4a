"""The equal-size experiment: rows, choices and tables on planted answers, and the sizes of real peers' models."""

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import datasets
import run
from equal import bar, cache, sets
from equal.cell import Cell, cell
from equal.compare import Gap, Results
from equal.contenders import CONTENDERS, PEERS, SIZES, variant
from equal.measure import Job, PeerFits, choose
from equal.sets import SETS, load
from experiments import equal_size
from record import COLUMNS

STAND_IN = Path(__file__).with_name("stand_in.py")


def test_sets_above_ten_thousand_rows_have_five_splits():
    assert {name: known.splits for name, known in SETS.items() if known.splits == 10}.keys() == {
        "insurance",
        "wine_red",
        "abalone",
        "wine_quality",
        "banknote",
        "wine_class",
    }
    assert len(SETS) == 16 and all(known.splits in (5, 10) for known in SETS.values())


def test_drawn_sets_are_what_their_definitions_say():
    x, quiet = SETS["friedman_1"].draw(5000)
    assert x.shape == (5000, 10) and x.min() >= 0 and x.max() < 1
    signal = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    loud = SETS["friedman_6"].draw(5000)[1]
    assert np.std(quiet - signal) == pytest.approx(1.0, rel=0.05)
    assert (loud - signal) == pytest.approx(6 * (quiet - signal))
    x, far = SETS["hastie"].draw(5000)
    assert np.array_equal(far, (x**2).sum(axis=1) > 9.34)
    assert far.mean() == pytest.approx(0.5, abs=0.03)  # 9.34 is the median of chi-squared with ten degrees


def test_text_is_spread_and_classes_are_made(tmp_path, monkeypatch):
    table = pd.DataFrame({"sex": ["f", "m", "f"], "region": ["n", "s", "w"], "age": [1, 2, 3], "target": [5, 6, 7]})
    table.to_csv(tmp_path / "few.csv", index=False)
    monkeypatch.setitem(SETS, "few", sets.Set("few", "binary", 3, "few.csv", at_least=6))
    found = load("few", tmp_path, None)
    assert list(found.x) == ["sex=m", "region=n", "region=s", "region=w", "age"]
    assert found.x.to_numpy().tolist() == [[0, 1, 0, 0, 1], [1, 0, 1, 0, 2], [0, 0, 0, 1, 3]]
    assert found.y.tolist() == [0, 1, 1] and found.classes == 2


def drawn(name: str, split: int, folder: Path, limit: int) -> Cell:
    return cell(name, split, folder, folder, limit)


def test_a_cell_never_tunes_on_its_test_rows(tmp_path):
    rows = drawn("friedman_1", 3, tmp_path, 500)
    parts = {name: set(part) for name, part in rows.parts.items()}
    assert parts["train"] | parts["test"] == set(range(500)) and not parts["train"] & parts["test"]
    assert parts["fit"] | parts["valid"] == parts["train"] and not parts["fit"] & parts["valid"]
    assert [len(parts[name]) for name in ("train", "test", "fit", "valid")] == [400, 100, 320, 80]
    assert parts["test"] == set(datasets.split(500, 3)[1])
    written = pd.read_csv(rows.csv("valid"))
    assert np.array_equal(written["target"], rows.y("valid"))
    assert np.array_equal(written.drop(columns="target").to_numpy(np.float32), rows.x("valid"))


def test_the_grid_and_the_command_lines():
    assert len(CONTENDERS["xgboost"].grid(SIZES["6"])) == 12
    assert {each["learning_rate"] for each in CONTENDERS["greedy"].grid(SIZES["64"])} == {0.5, 0.3, 0.15, 0.08}
    assert CONTENDERS["swarm"].grid(SIZES["6"]) == [{}]
    greedy = CONTENDERS["greedy"].words(SIZES["16"], "binary", {"learning_rate": 0.5, "lambda": 10.0})
    expected = "--method greedy --growth leaf --depth 0 --trees 16 --max-leaves 64 --learning-rate 0.5 --lambda 10.0"
    assert " ".join(greedy) == expected
    swarm = CONTENDERS["swarm"]
    assert " ".join(swarm.words(SIZES["6"], "binary", {})) == "--method swarm --trees 6 --max-leaves 32"
    assert " ".join(swarm.words(SIZES["192"], "regression", {})) == "--method swarm --total-leaves 192"
    words = " ".join(CONTENDERS["sgbdt-bins"].words(SIZES["6"], "regression", {}))
    assert words == "--method sgbdt-bins --trees 6 --depth 5 --learning-rate 1 --population 200 --max-bin 100"
    assert variant("short=--budget 9").words(SIZES["6"], "binary", {})[-2:] == ["--budget", "9"]
    for taken in ("greedy=--x", "none", "=--x"):
        with pytest.raises(ValueError, match="not taken"):
            variant(taken)


def test_the_best_setting_is_chosen_and_ties_are_parted_by_log_loss():
    assert choose("regression", [{"rmse": 3.0}, {"rmse": 1.0}, {"rmse": 1.0}]) == (1, 1)
    found = [(0.8, 0.5), (0.9, 0.6), (0.9, 0.4), (0.7, 0.3)]
    assert choose("binary", [{"accuracy": right, "logloss": loss} for right, loss in found]) == (2, 3)


def job(contender: str, folder: Path, size: str = "6") -> Job:
    return Job("friedman_1", 0, size, CONTENDERS[contender], folder, folder, 2000)


def leaves(contender: str, model) -> list[int]:
    """The number of leaves of each tree, as the library itself tells it."""
    if contender == "lightgbm":
        return [tree["num_leaves"] for tree in model.dump_model()["tree_info"]]
    if contender == "catboost":
        return [int(count) for count in model.get_tree_leaf_counts()]
    table = model.trees_to_dataframe()
    return table[table["Feature"] == "Leaf"].groupby("Tree").size().tolist()


@pytest.mark.parametrize("contender", PEERS)
def test_a_peer_keeps_to_the_size_and_shared_bins_change_nothing(contender, tmp_path):
    rows = drawn("friedman_1", 0, tmp_path, 2000)
    fits, setting = PeerFits(job(contender, tmp_path), rows), {"learning_rate": 0.5, "lambda": 1.0}
    grown = leaves(contender, fits.model("train", setting).model)
    assert len(grown) == 6 and max(grown) == 32
    fits.score("fit", {"learning_rate": 1.0, "lambda": 50.0}, "valid")
    second = fits.score("fit", setting, "valid")
    assert second == PeerFits(job(contender, tmp_path), rows).score("fit", setting, "valid")
    assert second["rmse"] < 0.6 * np.std(rows.y("valid"))


def test_the_newest_line_of_the_cache_counts_and_half_a_line_is_passed_over(tmp_path):
    path = tmp_path / "deep" / "cache.jsonl"
    line = {"set": "hastie", "split": 0, "size": "6", "contender": "swarm", "limit": None, "build": "old"}
    cache.add(path, line)
    with path.open("a") as file:
        file.write('{"set": "hast')
    cache.add(path, line | {"build": "new"})
    found = cache.read(path)
    assert [each["build"] for each in found.values()] == ["new"]
    ours = Job("hastie", 0, "6", CONTENDERS["swarm"], tmp_path, tmp_path, build="new")
    assert not equal_size.stale(found[ours.key], ours)
    assert equal_size.stale(found[ours.key] | {"build": "old"}, ours) and equal_size.stale(None, ours)
    peer = Job("hastie", 0, "6", CONTENDERS["catboost"], tmp_path, tmp_path)
    assert not equal_size.stale({"build": "1.0"}, peer)


def test_log_loss_is_that_of_the_setting_chosen_by_log_loss():
    by_accuracy = {"accuracy": 0.9, "logloss": 0.5, "auc": 0.8}
    by_loss = {"accuracy": 0.8, "logloss": 0.4, "auc": 0.85}
    line = {"metrics": by_accuracy, "by_loss": by_loss, "seconds": {"tune": 1.0, "fit": 0.5}}
    assert dict(cache.quantities(line)) == {"accuracy": 0.9, "logloss": 0.4, "auc": 0.85, "seconds": 1.5}


def record(**values: dict[str, list[float]]) -> pd.DataFrame:
    """Rows of the record from `set_size = {contender: values of the main metric, one a split}`."""
    rows = []
    for place, contenders in values.items():
        name, _, size = place.rpartition("_")
        metric = "rmse" if SETS[name].task == "regression" else "accuracy"
        for contender, found in contenders.items():
            for split, value in enumerate(found):
                rows.append(("equal-size", f"{name}/{size}", contender, 1, split, metric, value))
    return pd.DataFrame(rows, columns=COLUMNS)


def test_gaps_are_percent_of_errors_and_points_of_shares_on_common_splits():
    frame = record(
        kc_house_6={"swarm": [90.0, 80.0], "xgboost": [100.0, 100.0, 7.0], "lightgbm": [50.0]},
        hastie_6={"swarm": [0.9, 0.92], "catboost": [0.89, 0.93], "xgboost": [0.8, 0.8]},
    )
    found = Results.of(frame, "6")
    gap = found.gap("kc_house", "swarm", "xgboost", "rmse")
    assert gap.each == pytest.approx([10.0, 20.0]) and gap.mean == pytest.approx(15.0)
    assert gap.error == pytest.approx(5.0) and str(gap) == "+15.00 ± 5.00 (2-0)"
    assert str(found.gap("hastie", "swarm", "catboost", "accuracy")) == "+0.00 ± 1.00 (1-1)"
    # LightGBM is better where it was measured, but it was not measured on every split.
    assert found.best_peer("kc_house", "rmse") == "xgboost" and found.best_peer("hastie", "accuracy") == "catboost"
    assert found.best_peer("abalone", "rmse") == ""
    assert str(Gap(np.array([]))) == "-" and math.isnan(found.gap("abalone", "swarm", "xgboost", "rmse").mean)


def test_the_bar_finds_the_worst_set_and_says_what_it_covers():
    frame = record(
        kc_house_6={"swarm": [87.5], "greedy": [100.0], "xgboost": [100.0]},
        abalone_6={"swarm": [101.0], "greedy": [100.0], "xgboost": [100.5]},
        insurance_6={"swarm": [200.0], "greedy": [100.0], "xgboost": [100.0]},  # too few rows to count
        hastie_6={"swarm": [0.75], "greedy": [0.6875], "xgboost": [0.5], "catboost": [0.625]},
        covtype_7_6={"swarm": [0.70], "greedy": [0.80], "xgboost": [0.80]},
    )
    lines = {line[0]: line[1:] for line in bar.demands(Results.of(frame, "6"), "6", "swarm")}
    assert lines["6 trees: kc_house against the best peer, % (1 of 5 splits)"] == ["12.5", ">= 8", "holds"]
    assert lines["6 trees: hastie against the best peer, points (1 of 5 splits)"][-1] == "holds"
    assert lines["6 trees: friedman_1 against the best peer, % (0 of 5 splits)"][-1] == "not measured"
    worst = "6 trees: worst regression set against tuned greedy, % (abalone; 2 of 40 splits)"
    assert lines[worst] == ["-1.00", ">= -0.2", "MISSED"]
    assert lines["6 trees: worst regression set against best peer, % (abalone; 2 of 40 splits)"][-1] == "holds"
    worst = "6 trees: worst classification set against tuned greedy, points (covtype_7; 2 of 30 splits)"
    assert lines[worst][0] == "-10.0"
    # The seven classes of Covertype are guarded, but do not count in the mean.
    mean = "6 trees: mean over classification sets against greedy, points (1 of 45 splits)"
    assert lines[mean] == ["6.25", ">= 0.2", "holds"]
    frame = record(kc_house_192={"swarm": [99.0], "rgf": [100.0]}, abalone_192={"swarm": [1.02], "rgf": [1.0]})
    level, worst = bar.demands(Results.of(frame, "192"), "192", "swarm")
    assert level[1:] == ["-0.500", ">= 0", "MISSED"] and worst[-1] == "MISSED"


def test_the_tables_hold_every_contender_and_the_figures_of_the_paper():
    frame = record(
        kc_house_6={"swarm": [90.0], "greedy": [95.0], "xgboost": [100.0], "psgbdt": [110.0], "short": [91.0]},
        kc_house_64={"swarm": [80.0]},
    )
    text, demands = equal_size.tell(frame)
    assert "6 trees of at most 32 leaves" in text and "64 trees of at most 64 leaves" in text
    header = next(line for line in text.splitlines() if line.startswith("| set"))
    assert [cell.strip() for cell in header.split("|")[3:7]] == ["swarm", "greedy", "xgboost", "short"]
    assert "| kc_house |    1/1 |" in text and "110.0 (176000)" in text and "+10.00 (1-0)" in text
    assert ["64 trees: kc_house against the best peer, % (1 of 5 splits)", "-", ">= 4", "not measured"] in demands


def test_a_whole_run_skips_what_the_binary_does_not_know_and_measures_nothing_twice(tmp_path, capsys):
    kept = tmp_path / "cache.jsonl"
    given = ["--data", tmp_path, "--only", "equal-size", "--cache", kept, "--scratch", tmp_path / "scratch"]
    given += ["--binary", STAND_IN, "--sets", "friedman_1,abalone", "--sizes", "6", "--splits", "2", "--rows", "300"]
    given += ["--workers", "0", "--only-contenders", "swarm,greedy,lightgbm"]
    words = [str(word) for word in given]
    assert run.main([*words, "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().err
    assert "skip swarm at size 6: the binary refuses it (exit code 2: error: method: is 'swarm'" in said
    assert "skip abalone: no abalone.csv" in said and "4 cells to measure" in said
    lines = [json.loads(line) for line in kept.read_text().splitlines()]
    assert {(line["contender"], line["split"]) for line in lines} == {
        (name, split) for name in ("greedy", "lightgbm") for split in (0, 1)
    }
    rows = drawn("friedman_1", 0, tmp_path / "other", 300)
    ours = next(line for line in lines if line["contender"] == "greedy" and line["split"] == 0)
    constant = np.sqrt(np.mean((rows.y("test") - rows.y("train").mean()) ** 2))
    assert ours["metrics"]["rmse"] == pytest.approx(constant) and ours["chosen"]["learning_rate"] == 1.0
    summary = (tmp_path / "out" / "summary.md").read_text()
    assert "friedman_1" in summary and "not a result" in summary and "Failures" not in summary

    assert run.main([*words, "--out", str(tmp_path / "again")]) == 0
    assert "0 cells to measure" in capsys.readouterr().err
    assert run.main([*words, "--tables"]) == 0
    assert "| friedman_1 |" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the mean of no test rows
def test_a_failing_contender_is_written_down_and_not_kept(tmp_path):
    words = ["--data", str(tmp_path), "--only", "equal-size", "--cache", str(tmp_path / "cache.jsonl")]
    words += ["--scratch", str(tmp_path / "scratch"), "--sets", "banknote", "--sizes", "6", "--workers", "0"]
    (tmp_path / "banknote.csv").write_text("a,target\n1,0\n")
    words += ["--splits", "1", "--only-contenders", "lightgbm", "--out", str(tmp_path / "out")]
    assert run.main(words) == 1
    assert "banknote split 0 size 6 lightgbm" in (tmp_path / "out" / "summary.md").read_text()
    assert not (tmp_path / "cache.jsonl").exists()


def test_bad_names_end_with_code_two(tmp_path, capsys):
    usual = ["--data", str(tmp_path), "--only", "equal-size", "--cache", str(tmp_path / "cache.jsonl")]
    for given, words in [
        ([*usual, "--sets", "abalon"], "--sets: unknown abalon"),
        ([*usual, "--sizes", "7"], "--sizes: unknown 7"),
        ([*usual, "--only-contenders", "xgb"], "--only-contenders: unknown xgb"),
        ([*usual, "--variant", "greedy=--x 1"], "not taken"),
        ([*usual, "--binary", "none"], "cargo build --release"),
        (usual[:4], "--cache: name the file"),
    ]:
        with pytest.raises(SystemExit) as ended:
            run.main(given)
        assert ended.value.code == 2
        assert words in capsys.readouterr().err
