"""The sets of the equal-size experiment: the seven of Rao 2022, those of Makino and Kita 2024, and
two that are drawn.

Every contender gets the same columns. Text columns are spread into 0/1 columns for all of them,
ours included: one column a level, or a single one where there are two levels. Values are rounded to
single precision first, because that is what XGBoost and CatBoost keep.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

import datasets

MANY_ROWS = 10_000  # above it a split costs more and says more, so there are fewer of them
SPLITS, SPLITS_OF_MANY = 10, 5
TESTED = 4000
DRAWN_WITH = 2022


@dataclass(frozen=True)
class Set:
    """A question with its number of rows; either a file with the column `target`, or a function
    that draws the rows.

    `positive` makes one class 1 and the others 0, `at_least` does so with a threshold. An `extra`
    set is shown and guarded like the others, but does not count in means: its rows are those of
    another set. An `unlisted` set is not on the page of models of a given shape. With `training`
    there are so many training rows, drawn by the split, and at most `TESTED` of the other rows are
    the test rows.
    """

    name: str
    task: str
    rows: int
    file: str = ""
    draw: Callable[[int], tuple[np.ndarray, np.ndarray]] | None = None
    positive: int | None = None
    at_least: int | None = None
    extra: bool = False
    unlisted: bool = False
    training: int | None = None

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


def digits(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Is the handwritten digit odd?"""
    x, y = packaged("digits")(rows)
    return x, y % 2


def generated(name: str, seed: int, **options: object) -> Callable[[int], tuple]:
    """Rows that a generator of scikit-learn draws."""

    def draw(rows: int) -> tuple[np.ndarray, np.ndarray]:
        from sklearn import datasets as library

        return getattr(library, f"make_{name}")(n_samples=rows, random_state=seed, **options)

    return draw


# Sets of a page of its own, where a model may have so many leaves in all, and of trials.
UNLISTED = [
    Set("diabetes", "regression", 442, draw=packaged("diabetes")),
    Set("friedman_impedance", "regression", 2000, draw=generated("friedman2", 1, noise=50.0)),
    Set("friedman_phase", "regression", 3000, draw=generated("friedman3", 1, noise=0.1)),
    Set("linear", "regression", 1500, draw=generated("regression", 1, n_features=20, noise=30.0)),
    Set("breast_cancer", "binary", 569, draw=packaged("breast_cancer")),
    Set("parkinsons", "binary", 195, "parkinsons.csv"),
    Set("pima", "binary", 768, "pima.csv"),
    Set("transfusion", "binary", 748, "transfusion.csv"),
    Set("wine_good", "binary", 6497, "wine_quality.csv", at_least=6),
    Set("digits_odd", "binary", 1797, draw=digits),
    Set("moons", "binary", 1000, draw=generated("moons", 4, noise=0.35)),
    Set(
        "quantiles",
        "binary",
        5000,
        draw=generated("gaussian_quantiles", 4, n_features=6, n_classes=2),
    ),
    Set(
        "clusters",
        "binary",
        4000,
        draw=generated("classification", 1, n_features=20, n_informative=8, flip_y=0.1),
    ),
    Set(
        "noisy_clusters",
        "binary",
        1500,
        draw=generated(
            "classification", 2, n_features=30, n_informative=5, flip_y=0.2, class_sep=0.7
        ),
    ),
    Set(
        "many_clusters",
        "binary",
        10_000,
        draw=generated(
            "classification",
            3,
            n_features=15,
            n_informative=10,
            n_clusters_per_class=4,
            flip_y=0.02,
        ),
    ),
    Set("wine_7", "multiclass", 6497, "wine_quality.csv"),
    Set("digits", "multiclass", 1797, draw=packaged("digits")),
    Set("eeg_300", "binary", 14_980, "eeg_eye_state.csv", training=300),
    Set("mozilla4_300", "binary", 15_545, "mozilla4.csv", training=300),
    Set("higgs_600", "binary", 55_800, "higgs.csv.gz", training=600),
    Set("covtype_600", "binary", 58_101, "covtype.csv.gz", positive=2, training=600),
    Set("wine_good_400", "binary", 6497, "wine_quality.csv", at_least=6, training=400),
    Set("banknote_200", "binary", 1372, "banknote.csv", training=200),
    Set("hastie_500", "binary", 12_000, draw=hastie, training=500),
    Set("transfusion_400", "binary", 748, "transfusion.csv", training=400),
]
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
        *(replace(known, extra=True, unlisted=True) for known in UNLISTED),
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
