"""How closely does a small model follow a large one?

The teacher is LightGBM with 500 trees of 31 leaves, learning rate .05, trained on the training
rows. Students have 192 or 1,024 leaves in all. The student of `swarmwood compress` is fitted to the
scores of the training rows and of rows that are made of them; beside it the same search without
extra rows, the same search on the labels instead of the scores, greedy boosting on the same rows
and scores, and the first trees of the teacher itself. Everything is measured on test rows that
neither teacher nor students have seen.

Greedy students are the best of eighteen in hindsight: three shapes with three learning rates, with
and without extra rows, by R² on the test rows, which favours them.
"""

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import child
import datasets
from equal.sets import SETS, load
from evidence.page import Page
from evidence.request import Job, Request
from table import render

NUMBERS = ("kc_house", "insurance", "abalone")
CLASSES = ("eeg_eye_state", "mozilla4", "covtype_2")
QUICK = ("diabetes", "breast_cancer")
SIZES = ("192", "1024")
REPEATS, MOST_ROWS, TREES, LEAVES, RATE = 3, 25_000, 500, 31, 0.05
STUDENT, PLAIN, LABELS, GREEDY, TRUNCATED = (
    "compress",
    "compress, no extra rows",
    "search on labels",
    "greedy student",
    "truncated teacher",
)
CONTENDERS = (STUDENT, PLAIN, LABELS, GREEDY, TRUNCATED)
# Trees and leaves of greedy students with so many leaves in all.
SHAPES = {"192": ((6, 32), (12, 16), (24, 8)), "1024": ((16, 64), (32, 32), (64, 16))}
RATES, SWAPS = (0.2, 0.4, 0.8), (0, 6)
TITLE = "Compression of a large model"
SEEDS = "split k is drawn with numpy's `default_rng(k)`; teacher and students have seed 0"
NOTE = f"""R² of the raw scores (logits for classes) to those of the teacher on test rows, mean ±
standard error over the splits if there are several. 1 is equal, 0 is as good as the mean. Rows: at
most {MOST_ROWS:,} of each set, a fifth of them for the test. `{GREEDY}` is the best of eighteen in
hindsight. Means are those of contenders that were measured on all sets of the group."""
LABELS_NOTE = """RMSE, or log loss, on the labels of the same test rows. A student that follows its
teacher closely need not predict labels as well as a small model that is trained on them:
compression keeps the behaviour of a model, training on labels is for the best small model."""


def plan(request: Request) -> Iterator[Job]:
    """Every contender on every split, the small size first."""
    names = request.sets or (QUICK if request.quick else (*NUMBERS, *CLASSES))
    there = [name for name in names if request.has(name, SETS[name].file)]
    for size in request.sizes or SIZES:
        for name in there:
            for split in range(request.repeats or (1 if request.quick else REPEATS)):
                for contender in CONTENDERS:
                    if request.wants("contenders", contender):
                        ours = contender != TRUNCATED
                        yield Job(name, split, size, contender, request, measure, ours)


def asked_for(line: dict, request: Request) -> bool:
    """Whether a line of the cache belongs on the page."""
    return line["contender"] in CONTENDERS and request.wants("sizes", line["size"])


def measure(job: Job) -> dict:
    """R² to the teacher and the metric of labels, of one contender."""
    table = load(job.name, job.request.folder, job.request.rows or MOST_ROWS)
    kept, tested = datasets.split(len(table.y), job.split)
    columns = {name: f"f{at}" for at, name in enumerate(table.x.columns)}
    features = table.x.rename(columns=columns).astype(np.float64)
    train = features.iloc[kept].assign(target=table.y[kept])
    test = features.iloc[tested].assign(target=table.y[tested])
    booster = teacher(train, is_classes=table.classes == 2)
    wanted = booster.predict(test.drop(columns="target"), raw_score=True, num_threads=1)
    with tempfile.TemporaryDirectory(prefix="compress-") as folder:
        files = {name: Path(folder) / name for name in ("train.csv", "test.csv", "teacher.txt")}
        train.to_csv(files["train.csv"], index=False)
        test.to_csv(files["test.csv"], index=False)
        booster.save_model(files["teacher.txt"])
        if job.contender == TRUNCATED:
            trees = max(1, int(job.size) // LEAVES)
            data = test.drop(columns="target")
            found = booster.predict(data, raw_score=True, num_iteration=trees, num_threads=1)
            students = [(found, trees * LEAVES)]
        else:
            students = list(fitted(job, Path(folder), files))
    told = [
        figures(wanted, found, test["target"].to_numpy(), table.classes) for found, _ in students
    ]
    best = max(range(len(told)), key=lambda at: told[at]["r2"])
    return told[best] | {"leaves": students[best][1]}


def teacher(train, is_classes: bool):
    """LightGBM with many trees."""
    import lightgbm

    parameters = {
        "objective": "binary" if is_classes else "regression",
        "learning_rate": RATE,
        "num_leaves": LEAVES,
        "num_threads": 1,
        "seed": 0,
        "deterministic": True,
        "verbose": -1,
    }
    data = lightgbm.Dataset(train.drop(columns="target"), train["target"])
    return lightgbm.train(parameters, data, TREES)


def fitted(job: Job, folder: Path, files: dict[str, Path]) -> Iterator[tuple[np.ndarray, int]]:
    """Raw scores and leaves of one student, or of each greedy one."""
    total = ["--total-leaves", job.size]
    words = {
        STUDENT: [["compress", *total, "--swaps", 4]],
        PLAIN: [["compress", *total, "--swaps", 0]],
        LABELS: [["train", *total]],
        GREEDY: [
            ["compress", *greedy(shape, rate), "--swaps", swaps]
            for shape in SHAPES[job.size]
            for rate in RATES
            for swaps in SWAPS
        ],
    }
    for command, *flags in words[job.contender]:
        model = folder / "student.json"
        data, test = files["train.csv"], files["test.csv"]
        rest = ["--out", model, "--threads", 1, "--json", "--quiet", *flags]
        if command == "compress":
            given = [command, files["teacher.txt"], data, "--valid", test]
        else:
            given = [command, data, "--target", "target"]
            given += ["--task", "auto"]
        told = child.run([job.request.binary, *given, *rest], 1)
        leaves = told["small_model"]["leaves"] if command == "compress" else int(job.size)
        yield scores(job.request.binary, model, test, folder), leaves


def greedy(shape: tuple[int, int], rate: float) -> list:
    """Flags of greedy boosting with so many trees and leaves."""
    trees, leaves = shape
    sizes = ["--trees", trees, "--max-leaves", leaves, "--depth", 0, "--growth", "leaf"]
    return ["--method", "greedy", "--learning-rate", rate, *sizes]


def scores(binary: Path, model: Path, test: Path, folder: Path) -> np.ndarray:
    """The raw scores of a model on the test rows."""
    out = folder / "scores.csv"
    child.run([binary, "predict", model, test, "--raw", "--out", out, "--json", "--quiet"], 1)
    return np.loadtxt(out, delimiter=",", skiprows=1, ndmin=2)[:, -1]


def figures(wanted: np.ndarray, found: np.ndarray, target: np.ndarray, classes: int) -> dict:
    """Fidelity, and the metric of the labels for student and teacher."""
    residual = float(np.sum((wanted - found) ** 2))
    told = {"r2": 1 - residual / float(np.sum((wanted - wanted.mean()) ** 2))}
    if classes == 2:
        told["agreement"] = float(np.mean((wanted > 0) == (found > 0)))
    for name, raw in (("label_loss", found), ("teacher_label_loss", wanted)):
        if classes == 2:
            told[name] = float(np.mean(np.logaddexp(0, np.where(target == 1, -raw, raw))))
        else:
            told[name] = float(np.sqrt(np.mean((target - raw) ** 2)))
    return told


def of(lines: list[dict], name: str, size: str, contender: str, figure: str) -> list[float]:
    """A figure of a contender, split by split."""
    wanted = {"set": name, "size": size, "contender": contender}
    return [
        line[figure]
        for line in lines
        if figure in line and all(line[key] == value for key, value in wanted.items())
    ]


def shown(values: list[float], digits: int) -> str:
    """Mean ± standard error."""
    if not values:
        return "-"
    mean = f"{statistics.fmean(values):.{digits}f}"
    if len(values) == 1:
        return mean
    return f"{mean} ± {statistics.stdev(values) / len(values) ** 0.5:.{digits}f}"


def fidelity_table(lines: list[dict], size: str) -> str:
    """Sets by contenders; means of numbers and of classes below."""
    names = [name for name in (*NUMBERS, *CLASSES, *QUICK) if of(lines, name, size, STUDENT, "r2")]
    rows = []
    for name in names:
        values = [of(lines, name, size, contender, "r2") for contender in CONTENDERS]
        agreement = of(lines, name, size, STUDENT, "agreement")
        same = f"{100 * statistics.fmean(agreement):.1f} %" if agreement else "-"
        rows.append([name, *(shown(each, 3) for each in values), same])
    for what, group in (("mean, numbers", NUMBERS), ("mean, classes", CLASSES)):
        group = [name for name in group if name in names]
        if not group:
            continue
        means = []
        for contender in CONTENDERS:
            values = [of(lines, name, size, contender, "r2") for name in group]
            is_complete = all(values)
            mean = statistics.fmean(map(statistics.fmean, values)) if is_complete else 0.0
            means.append(f"{mean:.3f}" if is_complete else "-")
        rows.append([what, *means, "-"])
    header = ["set", *CONTENDERS, "same class"]
    return render(header, rows) if rows else ""


def label_table(lines: list[dict], size: str) -> str:
    """The metric of labels, the teacher's beside the students'."""
    rows = []
    for name in (*NUMBERS, *CLASSES, *QUICK):
        if not of(lines, name, size, STUDENT, "label_loss"):
            continue
        digits = 4 if SETS[name].task == "binary" or name == "abalone" else 0
        who = (STUDENT, LABELS, GREEDY, TRUNCATED)
        values = [of(lines, name, size, STUDENT, "teacher_label_loss")]
        values += [of(lines, name, size, contender, "label_loss") for contender in who]
        rows.append([name, *(shown(each, digits) for each in values)])
    return render(["set", "teacher", STUDENT, LABELS, GREEDY, TRUNCATED], rows) if rows else ""


def tell(lines: list[dict], request: Request) -> Page:
    """Fidelity first, then the labels."""
    page = Page(TITLE, SEEDS)
    for size in SIZES:
        fidelity, labels = fidelity_table(lines, size), label_table(lines, size)
        if fidelity:
            page.section(f"Fidelity with {int(size):,} leaves", NOTE, fidelity)
            page.section(f"Labels with {int(size):,} leaves", LABELS_NOTE, labels)
    return page
