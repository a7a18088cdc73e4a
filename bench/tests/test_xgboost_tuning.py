"""The experiment of Makino and Kita as published: fits of XGBoost, engines, the selection of
settings, runs that are stopped, and pages of few cells."""

import json
import math
import random
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import reproduce
from equal import cache
from evidence import xgboost_claims, xgboost_tables
from evidence import xgboost_tuning as tuning
from evidence.makino_kita import ALGORITHMS, SECONDS, SELECTED
from evidence.request import Request
from paired import Gap

PLAIN = {
    "learning_rate": 0.3,
    "max_depth": 3,
    "min_child_weight": 1,
    "subsample": 1.0,
    "colsample_bytree": 1.0,
}


class StandIn:
    """As much of `swarmwood.Tuner` as the harness uses: random points of the space."""

    def __init__(self, space, *, engine, seed, maximize, engine_options=None):
        assert maximize and (engine != "sse" or {"mutation", "rate"} <= set(engine_options))
        self.space, self.draws, self.told = space, random.Random(seed), []

    def ask(self):
        params = {name: self.draws.choice(values) for name, values in self.space.items()}
        return SimpleNamespace(params=params)

    def tell(self, trial, value):
        self.told.append((trial, value))


@pytest.fixture
def package(monkeypatch, tmp_path):
    """A package swarmwood without a compiled part."""
    module = SimpleNamespace(Tuner=StandIn, __file__=str(tmp_path / "__init__.py"))
    monkeypatch.setitem(sys.modules, "swarmwood", module)
    found = tuning.find_spec
    monkeypatch.setattr(
        tuning, "find_spec", lambda name: module if name == "swarmwood" else found(name)
    )
    for kept in (tuning.is_able, tuning.build_of, tuning.fits_of):
        kept.cache_clear()
    yield
    for kept in (tuning.is_able, tuning.build_of, tuning.fits_of):
        kept.cache_clear()


def fits(folder: Path, task: str = "regression") -> tuning.Fits:
    draws = np.random.default_rng(1)
    x = draws.normal(size=(200, 4)).astype(np.float32)
    y = x[:, 0] * x[:, 1] + 0.1 * draws.normal(size=200)
    y = (y > 0).astype(float) if task == "classification" else y + 5.0
    return tuning.Fits(x, y, task, 0, 30, folder / "fits.jsonl")


def request(folder: Path, **more) -> Request:
    return Request("tuning-xgboost", folder, folder / "cells.jsonl", folder, folder, **more)


def line(contender: str, seed: int, tuned: float, task=("abalone", "a"), **more) -> dict:
    name, search = task
    place = {"set": name, "split": seed, "size": f"{search}/100x100", "contender": contender}
    categories = {"booster": "dart", "objective": "reg:squarederror"} if search == "b" else {}
    found = {
        "tuned": tuned,
        "curve": [[1, tuned - 0.1], [40, tuned]],
        "parameters": PLAIN | categories,
        "trials": 100,
        "distinct": 90,
        "fit_seconds": 10.0,
        "engine_seconds": 1.0,
    }
    return place | {"build": "1", "limit": None} | found | more


def test_the_ranges_are_those_of_tables_3_and_4():
    sizes = {
        name: math.prod(len(values) for values in space.values())
        for name, space in tuning.SPACES.items()
    }
    assert sizes == {"a": 15 * 20 * 20 * 15 * 15, "b": 6 * 15 * 20 * 20 * 15 * 15}
    assert tuning.NUMBERS["learning_rate"][0::14] == [0.02, 0.3]
    assert tuning.NUMBERS["subsample"][0::14] == [0.3, 1.0]
    assert len(SELECTED) == 24 and len(SECONDS) == 8
    assert SELECTED["wine_quality", "b", "GBRT"].boosters == (60, 0, 40)
    assert SELECTED["abalone", "a", "TPE"].numbers[0] == (0.064, 0.008)


def test_a_configuration_is_fitted_once_and_kept(tmp_path, monkeypatch):
    first = fits(tmp_path)
    found = first.fit(PLAIN)
    assert found.score > 0 and found.seconds > 0
    with first.file.open("a") as file:
        file.write('{"parameters": "cut o')
    again = fits(tmp_path)
    again.refresh()
    monkeypatch.setattr(again, "compute", lambda parameters: pytest.fail("fitted twice"))
    assert again.fit(PLAIN) == found and again.fit(dict(reversed(PLAIN.items()))) == found


def test_xgboost_gets_what_table_4_says(tmp_path):
    known = fits(tmp_path)
    linear = PLAIN | {"booster": "gblinear", "objective": "reg:squarederror"}
    assert known.parameters(linear) == known.parameters(linear | {"max_depth": 9})
    assert known.parameters(PLAIN)["objective"] == "reg:squarederror"
    dart = known.parameters(PLAIN | {"booster": "dart", "objective": "reg:squaredlogerror"})
    assert dart["tree_method"] == "hist" and "rate_drop" not in dart
    # Without sampling a DART that drops nothing is a plain booster.
    assert known.fit(PLAIN | {"booster": "dart"}).score == known.fit(PLAIN).score
    assert known.fit(linear).score < known.fit(PLAIN).score
    classes = fits(tmp_path / "classes", "classification")
    assert classes.parameters(PLAIN)["objective"] == "binary:logistic"
    share = classes.fit(PLAIN | {"objective": "reg:squaredlogerror"}).score
    assert 0.5 < share <= 1.0 and (40 * share) == pytest.approx(round(40 * share))


@pytest.mark.parametrize("name", tuning.TUNERS)
@pytest.mark.parametrize("search", tuning.RANGES)
def test_every_tuner_stays_within_the_space(name, search, package):
    tuner, space = tuning.TUNERS[name], tuning.SPACES[search]

    def run(seed: int) -> list[dict]:
        seen = []

        def score(configuration: dict) -> float:
            seen.append(configuration)
            return -configuration["max_depth"]

        tuning.drive(tuner, next(iter(tuner.settings)), space, seed, 8, score)
        return seen

    seen = run(3)
    assert len(seen) == 8 and run(3) == seen and run(4) != seen
    for one in seen:
        assert list(one) == list(space) and all(one[key] in space[key] for key in space)


def test_settings_are_selected_when_all_are_measured(tmp_path, package):
    settings = list(tuning.TUNERS["optuna-tpe"].settings)
    lines = [
        line(f"optuna-tpe@{setting}", seed, 0.5 + 0.01 * (setting == "0.05"))
        for setting in settings
        for seed in range(2)
    ]
    asked = request(tmp_path, data=tmp_path, sets=("abalone",), sizes=("a",))
    (tmp_path / "abalone.csv").write_text("x,target\n1,2\n")

    def planned() -> set[tuple[int, str]]:
        return {(job.split, job.contender) for job in tuning.plan_final(asked)}

    for one in lines[:-1]:
        cache.add(asked.cells, one)
    others = {"random", "optuna-cmaes", "tpe", "cmaes", "gbrt"}
    assert planned() == {(seed, name) for seed in range(2, 7) for name in others}
    cache.add(asked.cells, lines[-1])
    assert (2, "optuna-tpe@0.05") in planned() and (2, "optuna-tpe@0.10") not in planned()
    selection = [job.contender for job in tuning.plan_selection(asked)]
    assert len(selection) == 2 * (3 + 4 + 3 + 5) and "random" not in selection
    narrowed = replace(asked, contenders=("random",))
    assert {job.contender for job in tuning.plan_final(narrowed)} == {"random"}


def asked(folder: Path, *more: str) -> list[str]:
    words = ["tuning-xgboost", "--quick", "--out", folder, "--scratch", folder / "scratch"]
    words += ["--workers", "0", "--sets", "diabetes", "--contenders", "sse-rank;optuna-tpe;random"]
    return [str(word) for word in words] + list(more)


def test_a_run_that_is_stopped_goes_on(tmp_path, package, monkeypatch):
    monkeypatch.setattr(tuning, "QUICK_BUDGET", (3, 2))
    clock = time.time()
    # The time is over after a few trials, in the middle of a cell.
    calls = iter(range(10**9))
    monkeypatch.setattr(
        "evidence.request.time", SimpleNamespace(time=lambda: clock + 10 * next(calls))
    )
    assert reproduce.main(asked(tmp_path, "--seconds", "100")) == 0
    begun = cache.read(tmp_path / "cells.jsonl")
    assert 0 < len(begun) < 16
    text = (tmp_path / "summary.md").read_text()
    assert "of 4 cells" in text and "Figure 4" not in text and "| confirmed" not in text
    monkeypatch.undo()

    monkeypatch.setattr(tuning, "QUICK_BUDGET", (3, 2))
    monkeypatch.setitem(sys.modules, "swarmwood", SimpleNamespace(Tuner=StandIn, __file__="x"))
    monkeypatch.setattr(tuning, "find_spec", lambda name: name)
    assert reproduce.main(asked(tmp_path)) == 0
    cells = cache.read(tmp_path / "cells.jsonl")
    # Two settings of two tuners on two seeds and ranges, then three tuners on one seed.
    assert len(cells) == 16 + 6 and all(cells[key] == begun[key] for key in begun)
    assert all(one["trials"] == 3 and one["fit_seconds"] > 0 for one in cells.values())
    text = (tmp_path / "summary.md").read_text()
    assert "Figure 4" in text and "diabetes/A 1, diabetes/B 1" in text
    # The page follows from its raw numbers.
    known = ["--tables", "--known", str(tmp_path / "raw.csv")]
    again = tmp_path / "again"
    assert reproduce.main([*asked(again), *known]) == 0
    assert (again / "summary.md").read_text() == text


def told(folder: Path, lines: list[dict]) -> list[list[str]]:
    """The rows of all tables of a page."""
    page = xgboost_tables.tell(lines, request(folder))
    rows = [row for row in "\n".join(page.sections).splitlines() if row.startswith("|")]
    return [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows]


def measured(tuner: str, shift: float, seeds: int, tasks) -> list[dict]:
    """All cells of a tuner: the second setting is selected."""
    lines = []
    for task in tasks:
        settings = list(tuning.TUNERS[tuner].settings)
        chosen = settings[1:2] or settings
        for seed in range(2) if len(settings) > 1 else ():
            lines += [
                line(f"{tuner}@{setting}", seed, 0.5 + 0.1 * (setting in chosen), task)
                for setting in settings
            ]
        contender = tuning.contender_of(tuner, chosen[0])
        lines += [
            line(contender, seed, 0.6 + shift + 0.001 * seed, task) for seed in range(2, 2 + seeds)
        ]
    return lines


def test_no_claim_is_confirmed_with_fewer_than_five_seeds(tmp_path):
    tasks = xgboost_claims.select("regression", "b")
    text = "regression, range B: SSEopt_nor is better than GBRT"
    for seeds, words in ((4, "fewer than 5 seeds"), (5, "confirmed")):
        lines = measured("sse-normal", 0.01, seeds, tasks)
        lines += measured("skopt-gbrt", 0.0, seeds, tasks)
        rows = {row[0]: row for row in told(tmp_path, lines)}
        assert rows[text][1:5] == [f"{seeds} x 2", "+10.00", rows[text][3], words]
        assert rows[text][8] == "not measured"
        assert rows["SSEopt_nor is better than Random"][4] == "not measured"
    # One task without enough seeds is enough to say nothing.
    lines = [one for one in lines if one["set"] != "abalone" or one["split"] < 6]
    rows = {row[0]: row for row in told(tmp_path, lines)}
    assert rows[text][1] == "4-5 x 2" and rows[text][4] == "fewer than 5 seeds"
    lines = measured("sse-normal", -0.01, 5, tasks) + measured("skopt-gbrt", 0.0, 5, tasks)
    assert {row[0]: row for row in told(tmp_path, lines)}[text][4] == "contradicted"


def test_verdicts():
    up, mixed = Gap(np.linspace(1, 2, 6)), Gap(np.array([1.0, -1.1, 1.2, -1.3, 1.4, -1.5]))
    assert xgboost_claims.judged([up], False)[1] == "confirmed"
    assert xgboost_claims.judged([up], True)[1] == "contradicted"
    assert xgboost_claims.judged([mixed], False)[1] == "not confirmed"
    assert xgboost_claims.judged([mixed], True)[1] == "no clear difference"
    # Five seeds of one task cannot have p < .05, those of two can.
    five = Gap(np.linspace(1, 2, 5))
    assert xgboost_claims.judged([five], False)[1] == "not confirmed"
    assert xgboost_claims.judged([five, five], False)[1] == "confirmed"
    assert xgboost_claims.judged([], False)[1] == "not measured"


def test_published_values_stand_beside_ours(tmp_path):
    task = ("abalone", "b")
    lines = measured("sse-normal", 0.0, 2, [task]) + measured("random", 0.0, 3, [task])
    rows = told(tmp_path, lines)
    row = next(row for row in rows if row[0] == "abalone/B SSEopt_nor (ours)" and len(row) == 9)
    assert row[1:4] == ["2", "0.300 ± 0 (0.11 ± 0.059)", "3.00 ± 0 (4.6 ± 1.5)"]
    assert row[7:] == ["0/0/100 (60/0/40)", "100/0 (100/0)"]
    # Means are those of the seeds that both have.
    row = next(row for row in rows if row[0] == "Random (ours)")
    assert row[1] == "0.6025 ± 7.1e-04"
    assert ["abalone/B published", "", *map(str, SECONDS[task]), ""] in rows
    row = next(row for row in rows if row[0] == "abalone/B libraries of the paper")
    assert row[1:4] == ["2", "11.0 ± 0", "-"] and row[7] == "11.0 ± 0"


def test_the_order_of_times_is_compared(tmp_path):
    task, lines = ("wine_quality", "a"), []
    for name, seconds in zip(ALGORITHMS, SECONDS[task], strict=True):
        tuner = xgboost_claims.LIBRARIES[name]
        cells = measured(tuner, 0.0, 1, [task])
        lines += [one | {"fit_seconds": seconds / 3} for one in cells]
    row = next(row for row in told(tmp_path, lines) if "libraries of the paper" in row[0])
    assert row[-1] == "+1.00"
    assert "wine_quality/A" in json.dumps(told(tmp_path, lines))
