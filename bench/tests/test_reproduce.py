"""The front of the evidence: statistics, pages, figures, and runs that are killed, with a stand-in
for the binary."""

import itertools
import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import reproduce
from equal import cache
from equal.sets import SETS
from evidence import boosting, boosting_tables, page, raw
from evidence.boosting import SIZE
from evidence.figures import COLOURS, DASHES, Panel, draw, steps, style_of
from evidence.request import SOURCES, Request
from paired import Gap, mean_and_deviation

STAND_IN = Path(__file__).with_name("stand_in.py")
RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results"


def by_all_signs(values: np.ndarray) -> float:
    """The p-value of the signed-rank test by definition: the share of all signs whose sum is as far
    from the middle."""
    ranks = stats.rankdata(np.abs(values))
    middle = ranks.sum() / 2
    sums = np.array(
        [np.dot(signs, ranks) for signs in itertools.product((0, 1), repeat=len(values))]
    )
    far = abs(ranks[values > 0].sum() - middle)
    return float(np.mean(np.abs(sums - middle) >= far - 1e-9))


def test_the_p_value_is_that_of_all_signs_and_of_scipy():
    random = np.random.default_rng(3)
    for count in (3, 5, 8, 10):
        values = random.normal(0.5, 1.0, count)
        assert Gap(values).p_value == pytest.approx(by_all_signs(values))
        assert Gap(values).p_value == pytest.approx(stats.wilcoxon(values, method="exact").pvalue)
    tied = np.array([1.0, 1.0, -1.0, 2.0, 2.0, 3.0])
    assert Gap(tied).p_value == pytest.approx(by_all_signs(tied))
    many = random.normal(0.2, 1.0, 50)
    assert Gap(many).p_value == pytest.approx(stats.wilcoxon(many, method="exact").pvalue)
    many = random.integers(-3, 5, 15).astype(float)
    assert Gap(many).p_value == pytest.approx(by_all_signs(many[many != 0]))
    # Equal splits are left out, and a difference in the last bit is no difference.
    assert Gap(np.array([0.0, 1e-12, *tied])).p_value == Gap(tied).p_value
    assert Gap(100 * (np.array([0.91, 0.95]) - np.array([0.9, 0.94]))).p_value == 0.5
    assert Gap(np.zeros(4)).p_value == 1.0 and math.isnan(Gap(np.array([])).p_value)


def test_wins_ties_and_losses():
    gap = Gap(np.array([1.0, 0.0, -2.0, 3.0, 1e-12]))
    assert gap.counts == (2, 2, 1) and gap.record() == "2-2-1" and not gap.is_clear
    assert Gap(np.array([1.0, 1.1, 0.9])).is_clear and not Gap(np.array([1.0])).is_clear
    assert gap.told() == "+0.40 ± 0.81 (2-2-1; 0.750)" and Gap(np.array([])).told() == "-"
    assert Gap(np.linspace(1, 2, 40)).chance() == "<.001"
    assert mean_and_deviation([1.0, 3.0]) == (2.0, pytest.approx(2**0.5))
    assert mean_and_deviation([1.0])[0] == 1.0 and math.isnan(mean_and_deviation([1.0])[1])


def test_figures_are_the_same_bytes_and_keep_their_words():
    panel = Panel(
        "one", "x", "y", {"a": ([1, 2], [3, 4]), "b": ([1, 2], [4, 3])}, {"a": ([2, 3], [4, 5])}
    )
    (alt, svg), (_, again) = draw([panel], "What"), draw([panel], "What")
    assert alt == "What: one; curves: a, b" and svg == again
    assert svg.startswith("<?xml") and ">one</text>" in svg and ">b</text>" in svg


def test_a_curve_keeps_its_last_value():
    assert steps([(1, 5.0), (3, 7.0)], 5).tolist()[1:] == [5.0, 5.0, 7.0, 7.0]
    assert math.isnan(steps([(1, 5.0)], 3)[0])


def flown(name: str, method: str, score: float, split: int) -> dict:
    line = {
        "set": name,
        "split": split,
        "size": SIZE,
        "contender": method,
        "build": "1",
        "score": score,
    }
    space = {"n": 61, "log10 counted": 40.57, "log10 drawn": 50.0}
    flight = {
        "curve": [(0, 0.5), (7, 0.9)],
        "iterations": 50,
        "evaluations": 30,
        "repeats": 10,
        "space": space,
    }
    return line | (flight if "sgbdt" in method else {})


def test_curves_of_a_figure_differ_in_colour_or_dash():
    count = len(COLOURS) * len(DASHES)
    assert len({style_of(number) for number in range(count)}) == count


def test_the_papers_figures_stand_beside_ours(tmp_path):
    lines = []
    for split in range(6):
        lines += [
            flown("banknote", "psgbdt", 0.97 + split / 1000, split),
            flown("banknote", "catboost", 0.96, split),
        ]
        lines += [
            flown("kc_house", "psgbdt", 2e5, split),
            flown("kc_house", "catboost", 1.5e5 + split, split),
        ]
    request = Request("boosting", tmp_path, tmp_path, tmp_path, tmp_path)
    told = boosting_tables.tell(lines, request)
    text = "\n".join(told.sections)
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in text.splitlines()
        if line.startswith("|")
    ]
    expected = [
        "banknote (6)",
        "PSGBDT",
        "99.00 ± 1.00",
        "97.25 ± 0.19",
        "6-0-0",
        "0.031",
        "-",
        "-",
    ]
    assert expected in rows
    claim = next(row for row in rows if row[0].startswith("PSGBDT outperforms CatBoost"))
    # The paper has it better on all sets; here the loss is larger than the gain, not more frequent.
    published = ["7 of 7", "6 x 2", "1 of 2"]
    assert claim[1:4] == published and claim[6:] == ["banknote", "kc_house", "not confirmed"]
    sizes = next(row for row in rows if row[0] == "banknote" and row[-1] == "40.6")
    assert sizes[9:13] == ["61", "61", "40.6", "40.6"]
    assert ["banknote", "PSGBDT", "7", "7", "50", "25 %"] in rows
    assert set(told.figures) == {"figure-8.svg", "figure-9.svg"}
    assert ["kc_house", "PSGBDT", "176000 ± 18300", "-", "200000 ± 0", "-"] in rows
    four = [flown("kc_house", "psgbdt, four levels", 1e5, split) for split in range(6)]
    text = "\n".join(boosting_tables.tell([*lines, *four], request).sections)
    row = next(line for line in text.splitlines() if "100000 ± 0" in line and "200000" in line)
    assert "+50.00 ± 0.00 (6-0-0; 0.031)" in row


def test_every_file_of_a_set_has_a_source():
    assert {known.file for known in SETS.values() if known.file} <= set(SOURCES)
    assert all(
        f"{name}.csv" in SOURCES for name in ("parkinsons", "pima", "transfusion", "abalone")
    )


def asked(folder: Path, *more: str) -> list[str]:
    words = [
        "boosting",
        "--quick",
        "--out",
        folder,
        "--scratch",
        folder / "scratch",
        "--binary",
        STAND_IN,
    ]
    words += ["--workers", "0", "--sets", "diabetes", "--contenders", "cart;xgboost;sgbdt;psgbdt"]
    return [str(word) for word in words] + list(more)


def pages(folder: Path) -> dict[str, str]:
    """Everything that a run writes but how and when it was made."""
    names = ("summary.md", "raw.csv")
    return {
        path.name: path.read_text()
        for path in folder.iterdir()
        if path.suffix == ".svg" or path.name in names
    }


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A run that nobody disturbed."""
    folder = tmp_path_factory.mktemp("whole")
    assert reproduce.main(asked(folder)) == 0
    return folder


def test_a_run_that_was_killed_ends_with_the_same_page(whole, tmp_path):
    undisturbed = pages(whole)
    assert set(undisturbed) == {"summary.md", "raw.csv", "figure-9.svg"}
    assert "| diabetes (2) |" in undisturbed["summary.md"]
    # Each cell of ours calls twice: the fourth call is within the second cell.
    told = os.environ | {"STAND_IN_KILLS": f"{tmp_path / 'calls'}:4"}
    script = Path(reproduce.__file__)
    done = subprocess.run(
        [sys.executable, script, *asked(tmp_path)], env=told, capture_output=True, check=False
    )
    assert done.returncode == -9 and not (tmp_path / "summary.md").exists()
    assert 0 < len(cache.read(tmp_path / "cells.jsonl")) < 8
    with (tmp_path / "cells.jsonl").open("a") as file:
        file.write('{"set": "diab')
    assert reproduce.main(asked(tmp_path)) == 0
    assert pages(tmp_path) == undisturbed


def test_what_was_measured_in_another_order_gives_the_same_page(whole, tmp_path):
    lines = (whole / "cells.jsonl").read_text().splitlines()
    (tmp_path / "cells.jsonl").write_text("\n".join(reversed(lines)) + "\n")
    assert (
        reproduce.main(asked(tmp_path, "--tables", "--note", "cells of the first build are older"))
        == 0
    )
    assert pages(tmp_path) == pages(whole)
    # How it was made tells the notes and keeps no path.
    text = (tmp_path / "README.md").read_text()
    assert str(tmp_path) not in text and "- cells of the first build are older" in text
    assert (
        "`bench/reproduce.py boosting --quick" in text
        and "stand-in 0.0.0" in text
        and "xgboost-cpu" in text
    )
    assert (
        page.shortened(["--out", "/deep/in/there", "--note", "told below", "a b"])
        == "--out there 'a b'"
    )


def test_a_page_follows_from_its_raw_numbers(whole, tmp_path):
    told = ["--tables", "--known", str(whole / "raw.csv")]
    assert reproduce.main(asked(tmp_path, *told)) == 0
    assert pages(tmp_path) == pages(whole)
    # The machine and the notes of the measurements are kept, through several rewritings.
    measured = (whole / "README.md").read_text().splitlines()
    kept = [line for line in measured if line.startswith(("- processor", "- versions"))]
    (tmp_path / "README.md").write_text(
        "\n".join(measured).replace("- processor: ", "- processor: other, ") + "\n- one worker\n"
    )
    again = [*told[:2], str(tmp_path / "raw.csv"), "--note", "one worker"]
    assert reproduce.main(asked(tmp_path, *again)) == 0
    text = (tmp_path / "README.md").read_text()
    assert kept[0].replace("processor: ", "processor: other, ") in text and kept[1] in text
    assert text.count("- one worker") == 1 and "- measured: `bench/reproduce.py boosting" in text
    # What a page knows is not measured again, and what was measured since then counts.
    assert reproduce.main(asked(tmp_path / "more", "--known", str(whole / "raw.csv"))) == 0
    assert not (tmp_path / "more" / "cells.jsonl").exists() and pages(tmp_path / "more") == pages(
        whole
    )
    newer = next(iter(raw.read(whole / "raw.csv").values())) | {"score": 123.0}
    cache.add(tmp_path / "cells.jsonl", newer)
    assert reproduce.main(asked(tmp_path, *told)) == 0
    assert ",score,123\n" in (tmp_path / "raw.csv").read_text()


def test_cells_survive_the_way_through_a_page(tmp_path):
    place = {
        "set": "diabetes",
        "split": 3,
        "size": "6",
        "contender": "a, b",
        "build": "",
        "limit": None,
    }
    shares = {
        "metrics": {"accuracy": 1 / 3, "logloss": 0.1 + 0.2},
        "leaves": 7,
        "nanoseconds": 12.5,
    }
    chosen = {
        "tuned": 0.5,
        "parameters": {"depth": 3, "booster": "dart"},
        "curve": [(1, 0.25), (9, 1e-300)],
    }
    flown = {
        "score": 2.0**60,
        "space": {"n": 61, "log10 drawn": 50.0},
        "iterations": 100,
        "proven": True,
    }
    for found in (shares | {"seconds": {"total": 1.5}}, shares | {"seconds": {}}, chosen, flown):
        line = place | found
        path = tmp_path / "raw.csv"
        path.write_text(raw.text_of([line], is_busy=False))
        assert list(raw.read(path).values()) == [line]
    trial = place | chosen | {"limit": 600, "seconds": 9.0}
    path.write_text(raw.text_of([trial], is_busy=True))
    del trial["seconds"]  # of a busy machine it is not told
    assert raw.read(path) == {cache.key(trial): trial}


@pytest.mark.parametrize(
    "experiment", [name for name in reproduce.EXPERIMENTS if (RESULTS / name).is_dir()]
)
def test_the_committed_pages_are_what_their_numbers_say(experiment, tmp_path):
    kept = RESULTS / experiment
    words = [
        experiment,
        "--tables",
        "--busy",
        "--known",
        str(kept / "raw.csv"),
        "--out",
        str(tmp_path),
    ]
    assert reproduce.main(words) == 0
    for name in ("summary.md", "raw.csv"):
        assert (tmp_path / name).read_text() == (kept / name).read_text()


def test_a_file_that_is_no_page_is_refused(tmp_path, capsys):
    bad = tmp_path / "bad.csv"
    for text in (
        "a,b\n1,2\n",
        "",
        "set,split,size,contender,build,quantity,value\nabalone,x,6,swarm,,rmse,1\n",
    ):
        bad.write_text(text)
        assert reproduce.main(asked(tmp_path, "--known", str(bad))) == 2
        assert "bad.csv: not the raw.csv of a page" in capsys.readouterr().err
    assert reproduce.main(asked(tmp_path, "--known", str(tmp_path / "none.csv"))) == 2
    assert (
        "none.csv: not the raw.csv" in capsys.readouterr().err
        and not (tmp_path / "summary.md").exists()
    )


def test_cells_of_another_binary_are_measured_again(whole, tmp_path):
    request = reproduce.request_of(reproduce.arguments(asked(whole)), "boosting")
    known = cache.read(whole / "cells.jsonl")
    planned = list(boosting.plan(request))
    assert len(planned) == 8 and all(job.is_known(known) for job in planned)
    newer = boosting.plan(replace(request, build="newer"))
    assert [job.contender for job in newer if not job.is_known(known)] == ["sgbdt", "psgbdt"] * 2


def test_bad_arguments_end_with_code_two(tmp_path, capsys):
    usual = [
        "small-models",
        "--data",
        str(tmp_path),
        "--out",
        str(tmp_path),
        "--binary",
        str(STAND_IN),
    ]
    for given, words in [
        ([*usual, "--sets", "abalon"], "--sets: unknown abalon"),
        ([*usual, "--sizes", "7"], "--sizes: unknown 7"),
        ([*usual, "--contenders", "xgb"], "--contenders: unknown xgb"),
        ([*usual, "--variant", "greedy=--x 1"], "not taken"),
        ([*usual, "--binary", "none"], "cargo build --release"),
        ([*usual, "--repeats", "0"], "--repeats must be at least 1"),
        (["tree", "--out", str(tmp_path)], "--data: name the directory"),
        (
            ["all", "--quick", "--out", str(tmp_path), "--sets", "hastie"],
            "belongs to one experiment",
        ),
        (
            ["all", "--quick", "--out", str(tmp_path), "--known", "raw.csv"],
            "--known belongs to one experiment",
        ),
    ]:
        with pytest.raises(SystemExit) as ended:
            reproduce.main(given)
        assert ended.value.code == 2
        assert words in capsys.readouterr().err
