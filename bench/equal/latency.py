"""How long a row takes to be predicted, in nanoseconds: a batch on one thread, the best of a few
passes.

A peer scores an array in memory; ours is the time that the binary reports for prediction alone,
without reading.
"""

import os
from pathlib import Path

import numpy as np

import child
import datasets
from equal.cell import Cell
from peers import best_pass
from shape import Shape

BATCH = 50_000


def of_peer(peer, rows: Cell) -> float:
    """A peer that is already trained."""
    x = rows.x("test")
    x = np.ascontiguousarray(np.tile(x, (repeats(rows), 1)))
    return 1e9 * best_pass(*peer.ways(x)["array"]) / len(x)


def of_ours(binary: Path, model: Path, rows: Cell) -> float:
    """A model file of ours."""
    tested = rows.parts["test"]
    stem = rows.folder / f"batch-{os.getpid()}"
    features, target = rows.table.x.iloc[tested], rows.table.y[tested]
    batch = datasets.write(features, target, stem, rows.table.classes, repeats(rows))
    try:
        found = child.predict_ours(binary, Shape(task=rows.task, threads=1), batch, model)
    finally:
        batch.csv.unlink(missing_ok=True)
        batch.npz.unlink(missing_ok=True)
    return 1e9 * found["seconds.array"] / batch.rows


def repeats(rows: Cell) -> int:
    """How often the test rows are repeated to make a batch."""
    return max(1, -(-BATCH // max(1, len(rows.parts["test"]))))
