"""The tables of the comparison of engines, on cells whose figures are known."""

import argparse
import json
import math

import engines


def cell(engine: str, seed: int, tuned: float, search: str = "a", **more) -> dict:
    marks = {"20": tuned - 0.1, "100": tuned}
    base = {"set": "abalone", "range": search, "seed": seed, "engine": engine, "budget": "100x100x1000"}
    return {**base, "tuned": tuned, "untouched": tuned - 0.05, "marks": marks, "trials": 100, "seconds": 1.0, **more}


def options(cache) -> argparse.Namespace:
    return argparse.Namespace(cache=cache, trials=100, trees=100, rows=1000)


def test_differences_are_paired_by_seed():
    cells = [cell("optuna", seed, 0.5 + seed / 10) for seed in range(4)]
    cells += [cell("forest", seed, 0.51 + seed / 10) for seed in range(3)]
    known = {engines.key_of(one)[:4]: one for one in cells}
    mean, error, count = engines.paired(known, ("abalone", "a"), "forest", "optuna", "tuned")
    assert math.isclose(mean, 0.01, abs_tol=1e-12)
    assert error < 1e-12
    assert count == 3


def test_tables_tell_every_engine_and_skip_other_budgets(tmp_path):
    cache = tmp_path / "cells.jsonl"
    cells = [cell(name, seed, 0.5 + 0.1 * seed) for name in ("optuna", "random", "tpe") for seed in range(3)]
    cells.append(cell("forest", 0, 0.9, budget="15x10x1000"))
    torn = '{"set": "abalo'
    cache.write_text("".join(json.dumps(one) + "\n" for one in cells) + torn)
    text = engines.tables(options(cache))
    assert "tpe" in text
    assert "forest" not in text
    assert "+0.0 (0.0)" in text


def test_marks_take_the_best_known_by_then():
    steps = [{"score": 0.1, "trials_ended": 3}, {"score": 0.4, "trials_ended": 30}, {"score": 0.6, "trials_ended": 99}]
    assert engines.at_marks(steps, 100) == {"20": 0.1, "50": 0.4, "100": 0.6}
    assert engines.at_marks(steps, 40) == {"20": 0.1, "40": 0.4}
