"""Results that were measured once: a file with one JSON object a line, to which lines are only ever
added.

The newest line of a key counts. Several runs may add to one file at a time, since a line is one
write.
"""

import json
import os
from collections.abc import Iterable
from pathlib import Path

METRICS = ("rmse", "accuracy", "logloss", "auc")


def key(line: dict) -> tuple:
    """What a line is the result of; `limit` keeps trials on fewer rows apart from results."""
    return (line["set"], line["split"], line["size"], line["contender"], line.get("limit"))


def read(path: Path) -> dict[tuple, dict]:
    """The newest line of every key. A last line that was cut off when a run was killed is passed
    over."""
    found = {}
    for text in path.read_text().splitlines() if path.is_file() else []:
        try:
            line = json.loads(text)
            found[key(line)] = line
        except (json.JSONDecodeError, KeyError, TypeError):
            continue
    return found


def add(path: Path, line: dict) -> None:
    """Append a line. It begins on a fresh line even if a killed run left half of one behind."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        length = os.fstat(file).st_size
        cut_off = length > 0 and os.pread(file, 1, length - 1) != b"\n"
        os.write(file, (("\n" if cut_off else "") + json.dumps(line) + "\n").encode())
    finally:
        os.close(file)


def quantities(line: dict) -> Iterable[tuple[str, float]]:
    """The metrics (log loss and AUC of the setting chosen by log loss), leaves and time where they
    are known."""
    shown = line["metrics"] | {
        name: value for name, value in line.get("by_loss", {}).items() if name != "accuracy"
    }
    for name in METRICS:
        if name in shown:
            yield name, shown[name]
    if "leaves" in line:
        yield "leaves", line["leaves"]
    if line["seconds"]:
        yield "seconds", sum(line["seconds"].values())
