"""At an equal number of leaves in all, who predicts best?

64, 192 and 512 leaves; every library may divide them into trees as it likes. XGBoost (depth-wise
and leaf-wise), LightGBM and CatBoost choose shape, learning rate and lambda on an inner division of
the training rows; ours is one run of the default method. The same splits for all. With several
classes the leaves are those of one class, for all libraries.
"""

import itertools
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec

import child
import metrics
from equal.cell import Cell, cell
from equal.contenders import LAMBDAS, PEERS, RATES
from equal.measure import LAMBDA, choose, raw_scores
from equal.sets import SETS
from evidence.request import Job, Request, say
from peers import PEERS as LIBRARIES
from shape import Shape

OURS = "swarmwood"
SIZES = ("192", "64", "512")
MAIN = "192"
# Sets that constants of the search were chosen on, and sets that no choice has looked at.
DEVELOPMENT = (
    *("insurance", "abalone", "wine_quality", "kc_house", "diabetes"),
    *("banknote", "breast_cancer", "pima", "transfusion", "wine_good", "eeg_eye_state"),
    *("mozilla4", "higgs", "covtype_2", "wine_7", "covtype_7"),
)
CONFIRMATION = (
    *("wine_red", "friedman_1", "friedman_6", "friedman_impedance", "friedman_phase", "linear"),
    *("parkinsons", "wine_class", "digits_odd", "moons", "quantiles", "clusters"),
    *("noisy_clusters", "many_clusters", "hastie", "digits"),
)
TINY = tuple(name for name, known in SETS.items() if known.training)
QUICK_SETS = ("diabetes", "breast_cancer")
# Splits of a set with few and with many rows, of a tiny one, and at the sizes beside the main one.
FEW, MANY, OF_TINY, BESIDE = 10, 3, 20, 3
LEAVES = (2, 4, 8, 16, 32, 64)
LIBRARY = {
    "xgboost": ("xgboost", "depth"),
    "xgboost-leaf": ("xgboost", "leaf"),
    "lightgbm": ("lightgbm", "leaf"),
    "catboost": ("catboost", "oblivious"),
}
CONTENDERS = (OURS, *PEERS)


@dataclass(frozen=True)
class Setting:
    """What a peer chooses: the leaves of a tree, of which there are as many as the size allows, the
    learning rate and lambda."""

    leaves: int
    rate: float
    l2: float


def splits_of(name: str, size: str) -> int:
    """How many splits of a set are measured at a size."""
    if SETS[name].training:
        return OF_TINY if size == MAIN else 0
    return min(MANY if SETS[name].rows >= 10_000 else FEW, FEW if size == MAIN else BESIDE)


def plan(request: Request) -> Iterator[Job]:
    """All cells asked for, the main size first."""
    names = request.sets or (QUICK_SETS if request.quick else (*DEVELOPMENT, *CONFIRMATION, *TINY))
    there = [name for name in names if request.has(name, SETS[name].file)]
    for size in request.sizes or ((MAIN,) if request.quick else SIZES):
        for name in there:
            splits = splits_of(name, size)
            for split in range(min(request.repeats or (2 if request.quick else splits), splits)):
                for who in CONTENDERS:
                    if request.wants("contenders", who) and is_there(who):
                        yield Job(name, split, size, who, request, measure, who == OURS)


@lru_cache
def is_there(contender: str) -> bool:
    """Whether the library of a contender is installed."""
    if contender == OURS or find_spec(LIBRARY[contender][0]) is not None:
        return True
    say(f"skip {contender}: {LIBRARY[contender][0]} is not installed")
    return False


def asked_for(line: dict, request: Request) -> bool:
    """Whether a line of the cache belongs on the page."""
    return line["size"] in SIZES and line["contender"] in CONTENDERS


def measure(job: Job) -> dict:
    """The metrics on the test rows, and for a peer those on its inner validation rows."""
    rows = cell(job.name, job.split, job.request.folder, job.request.scratch, job.request.rows)
    if job.contender == OURS:
        return of_ours(job, rows)
    return of_peer(job, rows)


def of_ours(job: Job, rows: Cell) -> dict:
    """One run of the real binary."""
    binary = job.request.binary
    model = rows.folder / f"total-{os.getpid()}.json"
    command = [binary, "train", rows.csv("train"), "--target", "target"]
    command += ["--task", "regression" if rows.task == "regression" else "classification"]
    command += ["--positive", "1"] if rows.task == "binary" else []
    command += ["--total-leaves", job.size, "--seed", 0, "--threads", 1]
    try:
        told = child.run([*command, "--quiet", "--json", "--out", model], 1, limit=4 * 3600.0)
        found = metrics.score(rows.task, raw_scores(binary, model, rows), rows.y("test"))
        trees = json.loads(model.read_text()).get("trees", [])
    finally:
        model.unlink(missing_ok=True)
    shape = {"trees": len(trees), "leaves": sum(len(tree["leaf"]) for tree in trees)}
    return named("test", found) | shape | {"seconds": told["seconds"]["train"]}


def of_peer(job: Job, rows: Cell) -> dict:
    """A peer that is tuned on the inner division and then trained on all training rows.

    Accuracy is that of the setting with the highest accuracy on the validation rows, log loss and
    AUC those of the setting with the lowest log loss.
    """
    fits = PeerFits(job.contender, int(job.size), rows)
    settings = settings_of(job.contender, int(job.size))
    inner = [fits.score("fit", setting, "valid") for setting in settings]
    by_metric, by_loss = choose(rows.task, inner)
    found = fits.score("train", settings[by_metric], "test")
    leaves, chosen = fits.leaves, inner[by_metric]
    if by_loss != by_metric:
        found = fits.score("train", settings[by_loss], "test") | {"accuracy": found["accuracy"]}
        chosen = inner[by_loss] | {"accuracy": chosen["accuracy"]}
    setting = settings[by_loss]
    parameters = {"leaves": setting.leaves, "learning_rate": setting.rate, "lambda": setting.l2}
    line = named("test", found) | named("inner", chosen)
    return line | {"leaves": leaves, "parameters": parameters}


def named(part: str, found: dict[str, float]) -> dict[str, float]:
    """Metrics under the name of the rows that they are of."""
    return {f"{part}_{metric}": value for metric, value in found.items()}


def settings_of(contender: str, total: int) -> list[Setting]:
    """Every shape with at most so many leaves in all, times learning rate, times lambda."""
    shapes = [leaves for leaves in LEAVES if leaves <= total]
    return [Setting(*each) for each in itertools.product(shapes, RATES, LAMBDAS)]


class PeerFits:
    """The fits of a peer on one cell; the rows of a part are binned once."""

    def __init__(self, contender: str, total: int, rows: Cell):
        self.library, self.growth = LIBRARY[contender]
        self.total, self.rows, self.binned, self.leaves = total, rows, {}, 0

    def score(self, part: str, setting: Setting, judged: str) -> dict[str, float]:
        """The metrics on the rows of `judged` of a model of the rows of `part`."""
        peer = self.fitted(part, setting)
        if judged == "test":
            self.leaves = sum(peer.leaves())
        prepare, raw = peer.ways(self.rows.x(judged))["array"]
        return metrics.score(self.rows.task, raw(prepare()), self.rows.y(judged))

    def model(self, part: str, setting: Setting):
        """The library's own model of the rows of `part`."""
        return self.fitted(part, setting).model

    def fitted(self, part: str, setting: Setting):
        """A peer that is trained on the rows of `part`."""
        by_leaves = self.growth == "leaf"
        shape = Shape(
            task=self.rows.task,
            classes=self.rows.table.classes,
            trees=self.total // setting.leaves,
            learning_rate=setting.rate,
            growth=self.growth,
            depth=0 if by_leaves else setting.leaves.bit_length() - 1,
            leaves=setting.leaves if by_leaves else 0,
            threads=1,
            equal=False,
        )
        peer = LIBRARIES[self.library](shape)
        peer.params[LAMBDA[self.library]] = setting.l2
        if part not in self.binned:
            peer.bin(self.rows.x(part), self.rows.y(part))
            self.binned[part] = peer.data
        peer.data = self.binned[part]
        peer.train()
        return peer
