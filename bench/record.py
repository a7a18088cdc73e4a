"""What was measured, one number a line, and the few statistics the tables are made of."""

import math
import os
from pathlib import Path

import pandas as pd

COLUMNS = ["experiment", "dataset", "contender", "threads", "round", "quantity", "value"]


def wide(frame: pd.DataFrame, how: str) -> pd.DataFrame:
    """Contenders down, quantities across, each cell the `how` (min, median, mean) of its
    measurements."""
    return frame.pivot_table(
        index="contender", columns="quantity", values="value", aggfunc=how, sort=False
    )


def at(table: pd.DataFrame, contender: str, quantity: str) -> float:
    """A cell of `wide`; not a number when it was not measured."""
    known = contender in table.index and quantity in table.columns
    return float(table.at[contender, quantity]) if known else math.nan


def spread(values: pd.Series) -> tuple[float, float]:
    """Mean and its standard error over splits or rounds; of a single one the error is not a
    number."""
    return float(values.mean()), float(values.sem()) if len(values) > 1 else math.nan


def ratio(ours: float, theirs: float) -> float:
    """Ours over theirs; not a number when either is missing or theirs is zero."""
    return ours / theirs if theirs else math.nan


def rotate(items: list, by: int) -> list:
    """The same items, starting later: over the rounds every contender runs after every other
    one."""
    by %= max(1, len(items))
    return items[by:] + items[:by]


def write(text: str, path: Path) -> None:
    """Write to the side and rename, so that a reader never meets half a file."""
    aside = path.with_suffix(".part")
    aside.write_text(text)
    os.replace(aside, path)
