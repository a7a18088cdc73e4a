"""The sets that one tree is asked about, and how their rows are divided.

Files are those of the data directory, with the column `target`. Two large ones are a fixed random
choice of 8000 rows: one small tree says no more of the others, and every split would take minutes.
"""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

import datasets

SAMPLE = 8000


@dataclass(frozen=True)
class Set:
    """A question. `positive` makes one class 1 and the others 0, `at_least` does so with a
    threshold."""

    name: str
    file: str
    task: str = "classification"
    positive: int | None = None
    at_least: int | None = None
    rows: int | None = None


SETS = {
    known.name: known
    for known in [
        Set("banknote", "banknote.csv"),
        Set("parkinsons", "parkinsons.csv"),
        Set("pima", "pima.csv"),
        Set("transfusion", "transfusion.csv"),
        Set("wine_class", "wine_red.csv", at_least=6),
        Set("iris", "iris.csv"),
        Set("mozilla4", "mozilla4.csv"),
        Set("eeg_eye_state", "eeg_eye_state.csv"),
        Set("covtype_2", "covtype.csv.gz", positive=2, rows=SAMPLE),
        Set("higgs", "higgs.csv.gz", rows=SAMPLE),
        Set("abalone", "abalone.csv", "regression"),
        Set("insurance", "insurance.csv", "regression"),
        Set("wine_quality", "wine_quality.csv", "regression"),
        Set("kc_house", "kc_house.csv", "regression"),
    ]
}


@lru_cache(maxsize=2)
def load(name: str, folder: Path, limit: int | None = None) -> pd.DataFrame:
    """The rows of a set; classes are numbered from 0 in their order. `limit` is for trials of the
    harness."""
    asked = SETS[name]
    frame = datasets.read(folder / asked.file)
    most = min((rows for rows in (asked.rows, limit) if rows), default=None)
    frame = frame.iloc[datasets.sample(len(frame), most)].reset_index(drop=True)
    if asked.positive is not None:
        return frame.assign(target=(frame["target"] == asked.positive).astype(int))
    if asked.at_least is not None:
        return frame.assign(target=(frame["target"] >= asked.at_least).astype(int))
    if asked.task == "classification":
        return frame.assign(target=np.unique(frame["target"], return_inverse=True)[1])
    return frame


def divide(
    frame: pd.DataFrame, task: str, split: int, test_share: float
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Training and test rows; every class in equal shares."""
    from sklearn.model_selection import train_test_split

    classes = frame["target"] if task == "classification" else None
    return train_test_split(frame, test_size=test_share, random_state=split, stratify=classes)


def numbers(*parts: pd.DataFrame) -> list[np.ndarray]:
    """The features as arrays; text as a 0/1 column for every level, the same columns for all
    parts."""
    together = pd.get_dummies(pd.concat([part.drop(columns="target") for part in parts])).to_numpy(
        np.float64
    )
    return np.split(together, np.cumsum([len(part) for part in parts])[:-1])
