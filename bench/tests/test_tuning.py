"""The page of the comparison of engines, on cells whose figures are known, and configurations of
other tuners."""

import json
import math

import pytest

from equal import cache
from evidence import tuning, tuning_tables
from evidence.request import Request


def line(engine: str, seed: int, tuned: float, search: str = "a", **more) -> dict:
    """A cell: a search that found something after 10 and the best after 70 trials."""
    place = {
        "set": "abalone",
        "split": seed,
        "size": f"{search}/100x100x1000",
        "contender": engine,
        "build": "1",
    }
    found = {"tuned": tuned, "untouched": tuned - 0.05, "curve": [[10, tuned - 0.1], [70, tuned]]}
    return {**place, **found, "trials": 100, "seconds": 1.0, **more}


def request(folder, **more) -> Request:
    return Request("tuning", folder, folder / "cells.jsonl", folder, folder, **more)


def kept(folder, cells: list[dict], torn: str = "") -> list[dict]:
    path = folder / "cells.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in cells) + torn)
    return list(cache.read(path).values())


def test_differences_are_paired_by_seed(tmp_path):
    cells = [line("optuna", seed, 0.5 + seed / 10) for seed in range(4)]
    cells += [line("forest", seed, 0.51 + seed / 10) for seed in range(3)]
    known = tuning_tables.cells_of(kept(tmp_path, cells), request(tmp_path))
    gap = tuning_tables.gap(known, ("abalone", "a"), "forest", "optuna", "tuned")
    assert gap.mean == pytest.approx(10.0) and gap.error < 1e-9 and gap.counts == (3, 0, 0)


def test_the_page_tells_every_engine_and_skips_other_budgets(tmp_path):
    cells = [
        line(name, seed, 0.5 + 0.1 * seed)
        for name in ("optuna", "random", "tpe")
        for seed in range(3)
    ]
    cells.append(line("schemata", 0, 0.9, size="a/15x10x1000"))
    page = tuning_tables.tell(kept(tmp_path, cells, torn='{"set": "abalo'), request(tmp_path))
    text = "\n".join(page.sections)
    assert "| tpe " in text and "| schemata" not in text and "+0.0 (0-3-0; 1.000)" in text
    assert "figure-4.svg" in page.figures and "figure-3.svg" not in page.figures
    assert "time of a search" in text
    busy = tuning_tables.tell(kept(tmp_path, cells), request(tmp_path, busy=True))
    assert "time of a search" not in "\n".join(busy.sections)


def test_shares_of_the_way_need_random_search(tmp_path):
    cells = [
        line(name, seed, tuned)
        for name, tuned in (("tpe", 0.8), ("random", 0.6))
        for seed in range(2)
    ]

    def shares(cells: list[dict]) -> list[str]:
        known = tuning_tables.cells_of(kept(tmp_path, cells), request(tmp_path))
        engines = sorted({key[3] for key in known})
        row = tuning_tables.marks_table(known, [("abalone", "a")], engines).splitlines()[-1]
        return [cell.strip() for cell in row.split("|")[1:-1]]

    # Random search has 0.5 after 20 trials, the best 0.8 in the end; `tpe` has 0.7 after 20 and 50.
    assert shares(cells) == ["tpe", "0.667", "0.667", "1.00"]
    assert shares(cells[:2]) == ["tpe", "-", "-", "-"]


def test_a_claim_is_judged_by_the_seeds_of_all_its_tasks(tmp_path):
    cells = [line("sse", seed, 0.6 + seed / 100, search) for seed in range(8) for search in "ab"]
    cells += [line("random", seed, 0.5 + seed / 90, search) for seed in range(8) for search in "ab"]
    known = tuning_tables.cells_of(kept(tmp_path, cells), request(tmp_path))
    rows = tuning_tables.claims_table(known, [("abalone", "a"), ("abalone", "b")]).splitlines()
    row = [cell.strip() for cell in rows[2].split("|")[1:-1]]
    told = ["8 x 2", "+96.1", "<.001", "2/0", "confirmed"]
    assert row[:6] == ["SSEopt is better than random search", *told]
    assert [cell.strip() for cell in rows[3].split("|")[1:-1]][5] == "not measured"


def test_the_default_engine_is_compared_task_by_task(tmp_path):
    shifts = {"optuna": 0.0, "random": -0.01, "tpe": 0.004, "sse": -0.02}
    jitter = [0.001 * (seed % 3) for seed in range(10)]
    cells = [
        line(engine, seed, 0.5 + shift + (jitter[seed] if engine == "optuna" else 0), search)
        for engine, shift in shifts.items()
        for seed in range(10)
        for search in "ab"
    ]
    tasks = [("abalone", "a"), ("abalone", "b")]

    def compared(cells: list[dict]) -> dict[str, str]:
        known = tuning_tables.cells_of(kept(tmp_path, cells), request(tmp_path))
        rows = tuning_tables.engines_table(known, tasks, [*shifts]).splitlines()[2:]
        told = [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows]
        return {row[0].split("TPE, ")[-1]: row[1] for row in told}

    told = compared(cells)
    for seeds in ("all seeds", "seeds from 7, not used to select the default"):
        assert told[seeds].startswith("+") and "worse on 0 with p < .05" in told[seeds]
    assert told["tpe against random search"].startswith("+14.0")
    assert told["sse against random search"].startswith("-10.0")
    # A task that is far better does not hide one that is worse.
    moved = {"a": 0.05, "b": -0.03}
    worse = [
        one | {"tuned": one["tuned"] + moved[one["size"][0]]} if one["contender"] == "tpe" else one
        for one in cells
    ]
    assert "of 2 tasks better on 1 and worse on 1 with p" in compared(worse)["all seeds"]


def test_chosen_parameters_stand_beside_the_papers(tmp_path):
    chosen = {"learning_rate": 0.1, "depth": 5, "booster": "dart"}
    cells = [
        line("sse", seed, 0.6, parameters=chosen, curve=[[1, 0.2], [40, 0.6]]) for seed in range(2)
    ]
    known = tuning_tables.cells_of(kept(tmp_path, cells), request(tmp_path))
    row = tuning_tables.chosen_table(known, [("abalone", "a")], ["sse"]).splitlines()[2]
    assert "0.100 ± 0 (0.088 ± 0.039)" in row and "5.00 ± 0 (4.8 ± 1.2)" in row
    assert "100 % dart |" in row  # range A has no shares in the paper
    ranged = [line("sse", seed, 0.6, "b", parameters=chosen) for seed in range(2)]
    known = tuning_tables.cells_of(kept(tmp_path, ranged), request(tmp_path))
    row = tuning_tables.chosen_table(known, [("abalone", "b")], ["sse"]).splitlines()[2]
    assert "100 % dart (60 % gbtree, 40 % dart)" in row and "(100 % squared)" in row


def test_marks_take_the_best_known_by_then():
    curve = [(3, 0.1), (30, 0.4), (99, 0.6)]
    assert tuning_tables.at_marks(curve, 100) == {20: 0.1, 50: 0.4, 100: 0.6}
    assert tuning_tables.at_marks(curve, 40) == {20: 0.1, 40: 0.4}
    assert math.isnan(tuning_tables.at_marks([(30, 0.4)], 100)[20])


def test_points_of_others_are_configurations_of_the_ranges():
    ends = tuning.configuration([15, 20, 1, 6, 20], "a")
    assert ends == {
        "learning_rate": 0.3,
        "depth": 20,
        "min_child_weight": 1,
        "subsample": 0.3,
        "colsample_bytree": 1.0,
    }
    linear = tuning.configuration([1, 5, 5, 10, 10, "gblinear", "squared-log"], "b")
    assert linear == {"learning_rate": 0.02, "booster": "gblinear", "objective": "squared-log"}
