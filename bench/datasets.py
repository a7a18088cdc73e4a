"""The data sets, their splits, and the two forms of the same rows: CSV for ours, float32 arrays for
the peers."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Dataset:
    """A CSV file and the question asked of it. With `positive`, that class is 1 and every other
    class 0."""

    name: str
    file: str
    task: str
    positive: int | None = None
    target: str = "target"


KNOWN = {
    known.name: known
    for known in [
        Dataset("wine_quality", "wine_quality.csv", "regression"),
        Dataset("kc_house", "kc_house.csv", "regression"),
        Dataset("higgs", "higgs.csv.gz", "binary"),
        Dataset("covtype_2", "covtype.csv.gz", "binary", positive=2),
        Dataset("covtype_7", "covtype.csv.gz", "multiclass"),
    ]
}


@dataclass(frozen=True)
class Prepared:
    """The files of one part (train or test) of one split."""

    csv: Path
    npz: Path
    rows: int
    features: int
    classes: int


def split(rows: int, seed: int, test_share: float = 0.2) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the training and the test rows: a partition of all rows that depends on nothing
    but the arguments."""
    order = np.random.default_rng(seed).permutation(rows)
    tested = round(rows * test_share)
    return np.sort(order[tested:]), np.sort(order[:tested])


def sample(rows: int, at_most: int | None) -> np.ndarray:
    """All rows, or a fixed random choice of `at_most` of them, in file order."""
    if at_most is None or at_most >= rows:
        return np.arange(rows)
    return np.sort(np.random.default_rng(20_000).permutation(rows)[:at_most])


@lru_cache(maxsize=1)
def read(path: Path) -> pd.DataFrame:
    """The file as it is; the last one stays in memory because experiments ask for the same one
    again and again."""
    return pd.read_csv(path)


def load(dataset: Dataset, folder: Path, at_most: int | None) -> tuple[pd.DataFrame, np.ndarray]:
    """Features as read, and the target as numbers: values, 0/1, or class codes 0..k-1."""
    frame = read(folder / dataset.file)
    if dataset.target not in frame:
        raise ValueError(
            f"{dataset.file}: no column '{dataset.target}'; name the target with --target"
        )
    frame = frame.iloc[sample(len(frame), at_most)]
    features, target = frame.drop(columns=dataset.target), frame[dataset.target]
    text = features.select_dtypes(exclude=["number", "bool"]).columns
    if len(text):
        raise ValueError(
            f"{dataset.file}: column '{text[0]}' holds text; only numeric columns are compared"
        )
    if dataset.task == "regression":
        return features, target.to_numpy(np.float64)
    if dataset.positive is not None:
        return features, (target == dataset.positive).to_numpy(np.int64)
    return features, np.unique(target.to_numpy(), return_inverse=True)[1]


def write(
    features: pd.DataFrame, target: np.ndarray, stem: Path, classes: int, repeat: int = 1
) -> Prepared:
    """Store the rows in both forms, `repeat` times over."""
    index = np.tile(np.arange(len(features)), repeat)
    features, target = features.iloc[index], target[index]
    csv, npz = stem.with_suffix(".csv"), stem.with_suffix(".npz")
    stem.parent.mkdir(parents=True, exist_ok=True)
    features.assign(target=target).to_csv(csv, index=False)
    np.savez(npz, x=np.ascontiguousarray(features.to_numpy(np.float32)), y=target)
    return Prepared(csv, npz, len(features), features.shape[1], classes)


def prepare(
    dataset: Dataset,
    folder: Path,
    scratch: Path,
    at_most: int | None,
    seed: int | None,
    test_rows: int = 0,
) -> tuple[Prepared, Prepared]:
    """Training and test files of one split; without a seed there is no split and both are the whole
    set.

    Test rows are repeated until there are at least `test_rows`, so that a fast prediction can be
    timed.
    """
    features, target = load(dataset, folder, at_most)
    classes = 1 if dataset.task == "regression" else int(target.max()) + 1
    stem = scratch / dataset.name
    if seed is None:
        whole = write(features, target, stem / "whole", classes)
        return whole, whole
    kept, tested = split(len(features), seed)
    train = write(features.iloc[kept], target[kept], stem / f"train{seed}", classes)
    repeat = max(1, -(-test_rows // max(1, len(tested))))
    test = write(
        features.iloc[tested], target[tested], stem / f"test{seed}x{repeat}", classes, repeat
    )
    return train, test
