"""The pure parts of the harness on cases with a known answer, and one whole run against a stand-in
for the binary."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics as reference

import child
import datasets
import metrics
import run
from experiments import parity, planted, predict, speed
from record import COLUMNS, at, ratio, rotate, wide
from shape import Shape
from table import demand, number, render

STAND_IN = Path(__file__).with_name("stand_in.py")


def test_a_split_is_a_partition_that_only_depends_on_its_seed():
    kept, tested = datasets.split(1001, seed=3)
    assert sorted([*kept, *tested]) == list(range(1001))
    assert len(tested) == 200
    assert np.array_equal(datasets.split(1001, seed=3)[1], tested)
    assert not np.array_equal(datasets.split(1001, seed=4)[1], tested)


def test_a_sample_is_distinct_rows_in_file_order():
    chosen = datasets.sample(500, 50)
    assert len(chosen) == 50 and np.all(np.diff(chosen) > 0)
    assert np.array_equal(datasets.sample(5, 10), np.arange(5))


def test_both_forms_hold_the_same_rows(tmp_path):
    frame = pd.DataFrame(
        {"a": range(10), "b": np.arange(10) / 7, "target": [1, 2, 2, 7, 1, 2, 7, 7, 2, 1]}
    )
    frame.to_csv(tmp_path / "few.csv", index=False)
    few = datasets.Dataset("few", "few.csv", "multiclass")
    train, test = datasets.prepare(few, tmp_path, tmp_path, None, seed=0, test_rows=5)
    assert (train.rows, test.rows, train.features, train.classes) == (8, 6, 2, 3)
    for part in (train, test):
        table, stored = pd.read_csv(part.csv), np.load(part.npz)
        assert np.array_equal(table["target"], stored["y"])
        assert np.array_equal(table[["a", "b"]].to_numpy(np.float32), stored["x"])
    binary = datasets.Dataset("two", "few.csv", "binary", positive=2)
    assert datasets.load(binary, tmp_path, None)[1].tolist() == [0, 1, 1, 0, 0, 1, 0, 0, 1, 0]


def test_text_columns_are_refused_by_name(tmp_path):
    (tmp_path / "text.csv").write_text("colour,target\nred,1\nblue,2\n")
    with pytest.raises(ValueError, match="'colour' holds text"):
        datasets.load(datasets.Dataset("text", "text.csv", "regression"), tmp_path, None)


def test_metrics_agree_with_scikit_learn():
    random = np.random.default_rng(1)
    truth, raw = random.integers(0, 2, 300), np.round(random.normal(size=300), 1)
    chance = 1 / (1 + np.exp(-raw))
    found = metrics.score("binary", raw, truth)
    assert found["auc"] == pytest.approx(reference.roc_auc_score(truth, raw))
    assert found["logloss"] == pytest.approx(reference.log_loss(truth, chance))
    assert found["accuracy"] == pytest.approx(reference.accuracy_score(truth, raw > 0))
    classes, logits = random.integers(0, 3, 300), random.normal(size=(300, 3))
    found = metrics.score("multiclass", logits, classes)
    soft = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert found["logloss"] == pytest.approx(reference.log_loss(classes, soft))
    assert metrics.score("regression", np.array([1.0, 3.0]), np.array([1.0, 1.0]))[
        "rmse"
    ] == pytest.approx(2**0.5)
    assert math.isnan(metrics.auc(np.ones(3), np.arange(3)))


def test_ratios_and_the_turn_of_the_contenders():
    assert ratio(1.0, 4.0) == 0.25
    assert (
        math.isnan(ratio(1.0, 0.0))
        and math.isnan(ratio(math.nan, 1.0))
        and math.isnan(ratio(1.0, math.nan))
    )
    turns = [rotate(["a", "b", "c"], turn) for turn in range(4)]
    assert turns == [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"], ["a", "b", "c"]]
    assert rotate([], 2) == []


def test_tables_are_rendered_with_the_digits_they_deserve():
    assert [number(value) for value in (math.nan, 0.0, 0.12345, 12.345, 12345.6)] == [
        "-",
        "0",
        "0.123",
        "12.3",
        "12346",
    ]
    assert number(1.23e-7, 2) == "1.2e-07"
    assert render(["who", "x"], [["a", "1.5"], ["bcde", "-"]]).splitlines() == [
        "| who  |   x |",
        "| ---- | --: |",
        "| a    | 1.5 |",
        "| bcde |   - |",
    ]
    assert demand("time", 0.5, "<=", 0.6) == ["time", "0.500", "<= 0.6", "met"]
    assert demand("scale", 1.5, ">=", 1.7)[-1] == "not met"
    assert demand("scale", math.nan, ">=", 1.7)[-1] == "not measured"


def frame(*rows: tuple) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=COLUMNS)


def test_speed_takes_the_minimum_and_compares_with_lightgbm():
    rows = []
    for threads, ours in ((1, (1.0, 1.4, 1.2)), (2, (0.5, 0.7, 0.6))):
        for turn in range(3):
            rows.append(("speed", "set", "swarmwood", threads, turn, "seconds.total", ours[turn]))
            rows.append(("speed", "set", "lightgbm", threads, turn, "seconds.total", 2.0 + turn))
            rows.append(("speed", "set", "swarmwood", threads, turn, "peak_bytes", 50.0))
            rows.append(("speed", "set", "lightgbm", threads, turn, "added_bytes", 40.0))
            rows.append(("speed", "set", "swarmwood", threads, turn, "model_crc32", float(threads)))
    text, demands = speed.tell(frame(*rows))
    found = {line[0]: line[1:] for line in demands}
    assert found["set, 1 thread(s): time / LightGBM"] == ["0.500", "<= 0.6", "met"]
    assert found["set, 2 thread(s): time / LightGBM"][0] == "0.250"
    assert found["set, 2 thread(s): peak memory / LightGBM less its imports"] == [
        "1.25",
        "<= 1",
        "not met",
    ]
    assert found["set, 1 thread(s): training loss / LightGBM"][-1] == "not measured"
    assert found["set: 2 threads over 1"] == ["2.00", ">= 1.7", "met"]
    assert found["set: different model files of ours"] == ["2", "<= 1", "not met"]
    assert "| swarmwood |" in text


def test_prediction_is_compared_with_the_fastest_way_of_the_fastest_peer():
    at_one = ("predict", "set", 1)
    rows = [
        ("swarmwood", "array", 0.01),
        ("a", "array", 0.05),
        ("a", "prepared", 0.03),
        ("b", "array", 0.04),
    ]
    measured = [
        (at_one[0], at_one[1], name, 1, 0, f"seconds.{way}", value) for name, way, value in rows
    ]
    measured += [
        (at_one[0], at_one[1], name, 1, 0, "rows", 1000.0) for name in ("swarmwood", "a", "b")
    ]
    text, demands = predict.tell(frame(*measured))
    assert demands[0][1:] == ["3.00", ">= 2", "met"]
    assert "a prepared" in text and "1000 rows" in text


def test_parity_is_measured_against_the_mean_of_all_three_peers():
    values = {
        "xgboost": 1.0,
        "lightgbm": 2.0,
        "catboost": 3.0,
        "swarmwood depth": 2.02,
        "sklearn": 9.0,
    }
    measured = [("parity", "set", name, 2, 0, "rmse", value) for name, value in values.items()]
    assert parity.tell(frame(*measured))[1] == [
        ["set: rmse, swarmwood depth / peers", "1.010", "<= 1.005", "not met"]
    ]
    assert parity.tell(frame(*measured[1:]))[1][0][-1] == "not measured"


def test_parity_tells_standard_errors_and_compares_split_by_split():
    # The second split is harder for all: the ratio knows nothing of it.
    splits = {
        "xgboost": (1.0, 3.0),
        "lightgbm": (1.0, 3.0),
        "catboost": (1.0, 3.0),
        "swarmwood depth": (1.5, 4.5),
    }
    measured = [
        ("parity", "set", name, 2, seed, "rmse", values[seed])
        for name, values in splits.items()
        for seed in (0, 1)
    ]
    text, demands = parity.tell(frame(*measured))
    assert demands[0][1] == "1.500"
    assert "| xgboost         | 2.0000 ± 1.0 | 1.000 |" in text
    assert "| rmse / lightgbm |       1.500 ± 0 |" in text
    assert "split by split" not in parity.tell(frame(*measured[::2]))[0]


def test_a_missing_cell_is_not_a_number():
    table = wide(
        frame(("speed", "set", "a", 1, 0, "x", 1.0), ("speed", "set", "a", 1, 1, "x", 3.0)),
        "median",
    )
    assert at(table, "a", "x") == 2.0
    assert math.isnan(at(table, "b", "x")) and math.isnan(at(table, "a", "y"))


def test_planted_steps_are_the_best_splits_there_are():
    for case in planted.cases():
        if case.shape.depth > 1 or np.isnan(case.x).any():
            continue
        residual, found = case.y - case.y.mean(), []
        hessian = case.y.mean() * (1 - case.y.mean()) if case.shape.task == "binary" else 1.0
        for column in range(case.x.shape[1]):
            for threshold in range(1, 240):
                left = case.x[:, column] < threshold
                weights = hessian * np.array([left.sum(), (~left).sum()])
                if weights.min() >= case.shape.min_child_weight:
                    sums = np.array([residual[left].sum(), residual[~left].sum()])
                    found.append(
                        (float(np.sum(sums**2 / (weights + case.shape.l2))), column, threshold)
                    )
        best, second = sorted(found)[-1:-3:-1]
        assert best[1:] == (1, 90), case.name
        assert best[0] > second[0], case.name


def test_the_command_line_of_ours():
    shape = Shape(task="binary", classes=2, growth="leaf", depth=0, leaves=63, threads=1)
    words = " ".join(map(str, child.train_arguments(shape, Path("d.csv"), Path("m.json"))))
    assert words.startswith(
        "train d.csv --target target --method greedy --growth leaf --task classification"
    )
    assert "--trees 100 --depth 0 --learning-rate 0.1 --max-leaves 63" in words
    assert "--lambda 1.0 --min-child-weight 1.0 --max-bin 255" in words
    assert words.endswith("--threads 1 --quiet --json --out m.json")
    assert "--lambda" not in child.train_arguments(
        Shape(task="binary", equal=False), Path("d"), Path("m")
    )


def test_a_child_that_fails_says_why():
    with pytest.raises(child.ChildError, match="exit code 3: broken"):
        child.run(["sh", "-c", "echo broken >&2; exit 3"], 1)
    with pytest.raises(child.ChildError, match="no JSON"):
        child.run(["echo", "hello"], 1)
    assert child.run(["sh", "-c", "echo talk; echo '{\"threads\": '$OMP_NUM_THREADS'}'"], 2) == {
        "threads": 2
    }


def test_a_whole_run_with_a_stand_in_for_the_binary(tmp_path):
    random = np.random.default_rng(5)
    table = pd.DataFrame(random.normal(size=(120, 3)), columns=["a", "b", "c"])
    table.assign(price=table["a"] * 2 + 1).to_csv(tmp_path / "houses.csv", index=False)
    given = [
        "--csv",
        tmp_path / "houses.csv",
        "--target",
        "price",
        "--task",
        "regression",
        "--out",
        tmp_path / "out",
    ]
    given += [
        "--scratch",
        tmp_path / "scratch",
        "--swarmwood",
        STAND_IN,
        "--contenders",
        "swarmwood,sklearn",
    ]
    given += ["--only", "speed", "--only", "predict", "--rounds", 1, "--trees", 5, "--rows", 100]
    assert run.main([str(word) for word in given]) == 0
    summary = (tmp_path / "out" / "summary.md").read_text()
    assert (
        "houses: 2 threads over 1" in summary
        and "not a result" in summary
        and "Failures" not in summary
    )
    raw = pd.read_csv(tmp_path / "out" / "raw.csv")
    ours = raw[
        (raw["contender"] == "swarmwood")
        & (raw["quantity"] == "seconds.total")
        & (raw["experiment"] == "speed")
    ]
    assert ours.set_index("threads")["value"].to_dict() == {1: 1.25, 2: 0.75}
    readme = (tmp_path / "out" / "README.md").read_text()
    assert str(tmp_path) not in readme and "stand-in 0.0.0" in readme


def test_bad_arguments_end_with_code_two(tmp_path, capsys):
    for given, words in [
        (["--data", str(tmp_path / "none")], "name the directory"),
        (["--data", str(tmp_path), "--contenders", "xgbost"], "unknown xgbost"),
        (["--data", str(tmp_path), "--swarmwood", "none"], "cargo build --release"),
        (["--data", str(tmp_path), "--sets", "kc_hose"], "unknown kc_hose; known are wine_quality"),
        (["--csv", str(STAND_IN)], "--csv needs --task"),
        (["--data", str(tmp_path), "--threads", "two"], "give numbers"),
    ]:
        with pytest.raises(SystemExit) as ended:
            run.main(given)
        assert ended.value.code == 2
        assert words in capsys.readouterr().err
