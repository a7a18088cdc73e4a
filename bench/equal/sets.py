"""The sets of the equal-size experiment: the seven of Rao 2022, those of Makino and Kita 2024, and
two that are drawn.

Every contender gets the same columns. Text columns are spread into 0/1 columns for all of them,
ours included: one column a level, or a single one where there are two levels. Values are rounded to
single precision first, because that is what XGBoost and CatBoost keep.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

import datasets

MANY_ROWS = 10_000  # above it a split costs more and says more, so there are fewer of them
SPLITS, SPLITS_OF_MANY = 10, 5
DRAWN_WITH = 2022


@dataclass(frozen=True)
class Set:
    """A question with its number of rows; either a file with the column `target`, or a function
    that draws the rows.

    `positive` makes one class 1 and the others 0, `at_least` does so with a threshold. An `extra`
    set is shown and guarded like the others, but does not count in means: its rows are those of
    another set. A `packaged` set comes with scikit-learn; it is there for trials of the harness and
    in no list of results.
    """

    name: str
    task: str
    rows: int
    file: str = ""
    draw: Callable[[int], tuple[np.ndarray, np.ndarray]] | None = None
    positive: int | None = None
    at_least: int | None = None
    extra: bool = False
    packaged: bool = False

    @property
    def splits(self) -> int:
        """How many random divisions into training and test rows are measured."""
        return SPLITS_OF_MANY if self.rows > MANY_ROWS else SPLITS


@dataclass(frozen=True)
class Table:
    """Features in single precision and the target as numbers: values, 0/1, or class codes."""

    x: pd.DataFrame
    y: np.ndarray
    classes: int


def friedman(noise: float) -> Callable[[int], tuple[np.ndarray, np.ndarray]]:
    """Friedman 1991, section 4.3: ten uniform features, of which five matter, and Gaussian
    noise."""

    def draw(rows: int) -> tuple[np.ndarray, np.ndarray]:
        random = np.random.default_rng(DRAWN_WITH)
        x = random.random((rows, 10))
        signal = (
            10 * np.sin(np.pi * x[:, 0] * x[:, 1])
            + 20 * (x[:, 2] - 0.5) ** 2
            + 10 * x[:, 3]
            + 5 * x[:, 4]
        )
        return x, signal + noise * random.standard_normal(rows)

    return draw


def hastie(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Hastie, Tibshirani and Friedman 2009, equation 10.2: does a Gaussian point lie far from the
    centre?"""
    x = np.random.default_rng(DRAWN_WITH).standard_normal((rows, 10))
    return x, (np.sum(x**2, axis=1) > 9.34).astype(np.int64)


def packaged(name: str) -> Callable[[int], tuple[np.ndarray, np.ndarray]]:
    """The first rows of a set that comes with scikit-learn."""

    def read(rows: int) -> tuple[np.ndarray, np.ndarray]:
        from sklearn import datasets as library

        x, y = getattr(library, f"load_{name}")(return_X_y=True)
        return x[:rows], y[:rows]

    return read


SETS = {
    known.name: known
    for known in [
        Set("insurance", "regression", 1338, "insurance.csv"),
        Set("wine_red", "regression", 1599, "wine_red.csv"),
        Set("abalone", "regression", 4177, "abalone.csv"),
        Set("wine_quality", "regression", 6497, "wine_quality.csv"),
        Set("friedman_1", "regression", 20_000, draw=friedman(1.0)),
        Set("friedman_3", "regression", 20_000, draw=friedman(3.0)),
        Set("friedman_6", "regression", 20_000, draw=friedman(6.0)),
        Set("kc_house", "regression", 21_613, "kc_house.csv"),
        Set("banknote", "binary", 1372, "banknote.csv"),
        Set("wine_class", "binary", 1599, "wine_red.csv", at_least=6),
        Set("hastie", "binary", 12_000, draw=hastie),
        Set("eeg_eye_state", "binary", 14_980, "eeg_eye_state.csv"),
        Set("mozilla4", "binary", 15_545, "mozilla4.csv"),
        Set("higgs", "binary", 55_800, "higgs.csv.gz"),
        Set("covtype_2", "binary", 58_101, "covtype.csv.gz", positive=2),
        Set("covtype_7", "multiclass", 58_101, "covtype.csv.gz", extra=True),
        Set("diabetes", "regression", 442, draw=packaged("diabetes"), extra=True, packaged=True),
        Set(
            "breast_cancer",
            "binary",
            569,
            draw=packaged("breast_cancer"),
            extra=True,
            packaged=True,
        ),
    ]
}


def spread(features: pd.DataFrame) -> pd.DataFrame:
    """Numbers as they are, text as 0/1 columns, all in single precision."""
    columns = {}
    for name, column in features.items():
        if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
            columns[name] = column.to_numpy(np.float32)
            continue
        levels = sorted(column.unique())
        for level in levels[1:] if len(levels) == 2 else levels:
            columns[f"{name}={level}"] = (column == level).to_numpy(np.float32)
    return pd.DataFrame(columns)


@lru_cache(maxsize=2)
def load(name: str, folder: Path, limit: int | None) -> Table:
    """The rows of a set, at most `limit` of them."""
    asked = SETS[name]
    if asked.draw:
        x, y = asked.draw(min(asked.rows, limit or asked.rows))
        features = pd.DataFrame(x, columns=[f"x{column}" for column in range(x.shape[1])])
    else:
        frame = datasets.read(folder / asked.file)
        frame = frame.iloc[datasets.sample(len(frame), min(asked.rows, limit or asked.rows))]
        features, y = frame.drop(columns="target"), frame["target"].to_numpy()
    if asked.task == "regression":
        return Table(spread(features), y.astype(np.float64), 1)
    if asked.positive is not None:
        y = y == asked.positive
    elif asked.at_least is not None:
        y = y >= asked.at_least
    levels, y = np.unique(y, return_inverse=True)
    return Table(spread(features), y.astype(np.int64), len(levels))
