"""One split of one set: the rows that every contender trains, tunes and is judged on, as arrays and
as CSV files."""

import os
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np

import datasets
from equal.sets import SETS, TESTED, Table, load

INNER_SEED = 1000  # keeps the inner divisions apart from the outer ones


@dataclass(frozen=True)
class Cell:
    """Training and test rows (80/20), and the training rows divided again (80/20) into `fit` and
    `valid`."""

    name: str
    split: int
    table: Table
    folder: Path

    @property
    def task(self) -> str:
        return SETS[self.name].task

    @cached_property
    def parts(self) -> dict[str, np.ndarray]:
        """The row numbers of each part; they depend on the number of rows and the split alone."""
        train, test = self.divided()
        fit, valid = datasets.split(len(train), INNER_SEED + self.split)
        return {"train": train, "test": test, "fit": train[fit], "valid": train[valid]}

    def divided(self) -> tuple[np.ndarray, np.ndarray]:
        """Training and test rows."""
        training, rows = SETS[self.name].training, len(self.table.y)
        if training is None or training >= rows:
            return datasets.split(rows, self.split)
        test, train = datasets.split(rows, self.split, training / rows)
        return train, test[datasets.sample(len(test), TESTED)]

    def x(self, part: str) -> np.ndarray:
        return np.ascontiguousarray(self.table.x.to_numpy()[self.parts[part]])

    def y(self, part: str) -> np.ndarray:
        return self.table.y[self.parts[part]]

    @lru_cache(maxsize=8)  # noqa: B019  a process works on few cells at a time
    def csv(self, part: str) -> Path:
        """The part as a file, written once by each process: to the side and renamed, as others may
        be reading it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{part}{self.split}.csv"
        aside = path.with_suffix(f".{os.getpid()}.part")
        rows = self.parts[part]
        self.table.x.iloc[rows].assign(target=self.table.y[rows]).to_csv(aside, index=False)
        os.replace(aside, path)
        return path

    def __hash__(self) -> int:
        return hash((self.name, self.split, self.folder))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cell) and self.table is other.table and self.split == other.split


@lru_cache(maxsize=2)
def cell(name: str, split: int, data: Path, scratch: Path, limit: int | None) -> Cell:
    """The cell; the last ones stay in memory because one contender after the other asks for
    them."""
    folder = scratch / "equal" / (name if limit is None else f"{name}-{limit}")
    return Cell(name, split, load(name, data, limit), folder)
