"""Every number of a page as CSV, one a line, and the cells again from there.

A page follows from its raw.csv: nobody needs the file of cells that it was made of to check a
table, or to add to it.
"""

import math
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from equal import cache

PLACE = ["set", "split", "size", "contender", "build"]
COLUMNS = [*PLACE, "quantity", "value"]
# What a cell says of itself besides figures.
OTHER = ("split", "limit", "rows")
SPACE, CHOSEN, AFTER = "space.", "chosen.", "after "


class NotAPage(ValueError):
    """A file without the cells of a page."""


def figures_of(line: dict) -> dict[str, float | str]:
    """The figures of a cell: those of its metrics, and what else was found; a curve as its
    steps."""
    if "metrics" in line:
        timed = {"nanoseconds": line["nanoseconds"]} if "nanoseconds" in line else {}
        found = dict(cache.quantities(line)) | timed
    else:
        found = {
            name: value
            for name, value in line.items()
            if isinstance(value, int | float) and name not in OTHER
        }
    found |= {SPACE + name: value for name, value in line.get("space", {}).items()}
    found |= {
        CHOSEN + name: value
        for name, value in line.get("parameters", {}).items()
        if value is not None
    }
    return found | {f"{AFTER}{step}": value for step, value in line.get("curve", [])}


def text_of(lines: Iterable[dict], is_busy: bool) -> str:
    """The file of some cells, with all digits.

    Seconds of a busy machine are left out; prediction is only ever timed on an idle one.
    """
    rows = []
    for line in lines:
        place = [line[name] for name in PLACE]
        told = figures_of(line) | ({"limit": line["limit"]} if line.get("limit") else {})
        for quantity, value in told.items():
            if not (is_busy and quantity == "seconds"):
                rows.append([*place, quantity, text(value)])
    return pd.DataFrame(rows, columns=COLUMNS).to_csv(index=False)


def text(value: float | str) -> str:
    """A word as it is, a number so that `value_of` finds just the same."""
    return value if isinstance(value, str) else str(value_of(repr(float(value))))


def read(path: Path) -> dict[tuple, dict]:
    """The cells of a page by their keys, as `cache.read` has them."""
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
        told: dict[tuple, dict[str, str]] = {}
        for *place, quantity, value in table[COLUMNS].itertuples(index=False):
            told.setdefault(tuple(place), {})[quantity] = value
        lines = [
            cell(dict(zip(PLACE, place, strict=True)), values) for place, values in told.items()
        ]
    except (OSError, ValueError, KeyError) as error:
        raise NotAPage(f"{path}: not the raw.csv of a page ({error})") from error
    return {cache.key(line): line for line in lines}


def cell(place: dict[str, str], told: dict[str, str]) -> dict:
    """A cell as it was measured, but for what no page tells."""
    values = {quantity: value_of(value) for quantity, value in told.items()}
    line = place | {"split": int(place["split"]), "limit": values.pop("limit", None)}
    of_metrics = {name: values.pop(name) for name in cache.METRICS if name in values}
    if of_metrics:
        taken = values.pop("seconds", None)
        line |= {"metrics": of_metrics, "seconds": {} if taken is None else {"total": taken}}
    for start, name in ((SPACE, "space"), (CHOSEN, "parameters")):
        inside = {
            quantity.removeprefix(start): values.pop(quantity)
            for quantity in told
            if quantity.startswith(start)
        }
        line |= {name: inside} if inside else {}
    steps = [quantity for quantity in told if quantity.startswith(AFTER)]
    if steps:
        line["curve"] = [(int(step.removeprefix(AFTER)), values.pop(step)) for step in steps]
    return line | values


def value_of(told: str) -> float | int | str:
    """A number, whole if it is one, else the word itself."""
    try:
        value = float(told)
    except ValueError:
        return told
    return (
        int(value) if math.isfinite(value) and value.is_integer() and abs(value) < 2**53 else value
    )
