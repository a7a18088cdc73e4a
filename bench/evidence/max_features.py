"""With few features in a model, who predicts best?

At most 3, 5 or 8 columns and 192 leaves in all. Ours is one run with `--max-features`. LightGBM has
no such limit; what people do is to fit it to all columns, keep those of greatest gain, and fit it
again to these. It chooses shape, learning rate and lambda on an inner division of the training
rows, for the fit to all columns and again for the fit to the few. Beside them our search on the
columns that LightGBM kept, which shows how much of the difference the choice of columns makes. The
same splits for all; text columns are spread into 0/1 columns, each of which counts.
"""

import json
import os
import statistics
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

import child
import metrics
from equal.cell import Cell, cell
from equal.measure import choose, raw_scores
from equal.sets import SETS, Table
from evidence.page import Page
from evidence.request import Job, Request
from evidence.total_leaves import PeerFits, named, settings_of
from table import render

OURS, LIGHTGBM, OURS_ON_THEIRS = "swarmwood", "lightgbm, top by gain", "swarmwood, same columns"
CONTENDERS = (OURS, LIGHTGBM, OURS_ON_THEIRS)
SIZES = ("3", "5", "8")
LEAVES, FEW, MANY, OF_TINY, TINY_ROWS = 192, 5, 3, 20, 700
# Sets that constants of the selection were chosen on, and sets that no choice has looked at.
DEVELOPMENT = (
    *("insurance", "wine_red", "abalone", "diabetes", "kc_house"),
    *("pima", "parkinsons", "wine_class", "clusters"),
)
CONFIRMATION = (
    *("wine_quality", "friedman_6", "linear", "wine_good", "eeg_eye_state", "breast_cancer"),
    *("digits_odd", "noisy_clusters", "eeg_300", "higgs_600", "covtype_600", "higgs", "covtype_2"),
    "wine_7",
)
QUICK_SETS = ("diabetes", "breast_cancer")
TITLE = "Few features"
SEEDS = "split k is drawn with numpy's `default_rng(k)`; all fits have seed 0"


def plan(request: Request) -> Iterator[Job]:
    """Every contender on every split."""
    names = request.sets or (QUICK_SETS if request.quick else (*DEVELOPMENT, *CONFIRMATION))
    there = [name for name in names if request.has(name, SETS[name].file)]
    for name in there:
        splits = splits_of(name)
        for split in range(min(request.repeats or (2 if request.quick else splits), splits)):
            for size in request.sizes or SIZES:
                for who in CONTENDERS:
                    if request.wants("contenders", who):
                        yield Job(name, split, size, who, request, measure, who != LIGHTGBM)


def splits_of(name: str) -> int:
    """How many splits of a set are measured: the fewer test or training rows, the more."""
    known = SETS[name]
    if (known.training or known.rows) < TINY_ROWS:
        return OF_TINY
    return MANY if known.rows >= 10_000 else FEW


def asked_for(line: dict, request: Request) -> bool:
    """Whether a line of the cache belongs on the page."""
    return line["size"] in SIZES and line["contender"] in CONTENDERS


def measure(job: Job) -> dict:
    """The metrics on the test rows, and the columns of the model."""
    rows = cell(job.name, job.split, job.request.folder, job.request.scratch, job.request.rows)
    if len(rows.table.x.columns) <= int(job.size):
        return {}
    if job.contender == OURS:
        return of_ours(job, rows, ["--max-features", job.size])
    kept = columns_by_gain(rows)[: int(job.size)]
    fewer = on_columns(rows, kept)
    if job.contender == OURS_ON_THEIRS:
        return of_ours(job, fewer, [])
    return of_lightgbm(fewer) | {"columns": kept}


def of_ours(job: Job, rows: Cell, flags: list[str]) -> dict:
    """One run of the real binary."""
    binary = job.request.binary
    model = rows.folder / f"features-{os.getpid()}.json"
    command = [binary, "train", rows.csv("train"), "--target", "target"]
    command += ["--task", "regression" if rows.task == "regression" else "classification"]
    command += ["--positive", "1"] if rows.task == "binary" else []
    command += ["--total-leaves", LEAVES, "--seed", 0, "--threads", 1, *flags]
    try:
        told = child.run([*command, "--quiet", "--json", "--out", model], 1, limit=4 * 3600.0)
        found = metrics.score(rows.task, raw_scores(binary, model, rows), rows.y("test"))
        written = json.loads(model.read_text())
    finally:
        model.unlink(missing_ok=True)
    used = {at for tree in written.get("trees", []) for at in tree.get("feature", [])}
    names = [feature["name"] for feature in written["features"]]
    columns = sorted(names[at] for at in used)
    if len(columns) > int(job.size):
        raise ValueError(f"{job.name}: {len(columns)} columns are used, {job.size} are allowed")
    return named("test", found) | {"columns": columns, "seconds": told["seconds"]["train"]}


@lru_cache(maxsize=2)
def columns_by_gain(rows: Cell) -> list[str]:
    """The columns of LightGBM fitted to all of them, those of greatest gain first."""
    fits = PeerFits("lightgbm", LEAVES, rows)
    settings = settings_of("lightgbm", LEAVES)
    inner = [fits.score("fit", setting, "valid") for setting in settings]
    booster = fits.model("train", settings[choose(rows.task, inner)[1]])
    gains = booster.feature_importance("gain")
    order = sorted(range(len(gains)), key=lambda at: -gains[at])
    return [rows.table.x.columns[at] for at in order]


def on_columns(rows: Cell, kept: list[str]) -> Cell:
    """The same rows with some of the columns."""
    table = Table(rows.table.x[sorted(kept)], rows.table.y, rows.table.classes)
    return replace(rows, table=table, folder=rows.folder / "-".join([str(len(kept)), "columns"]))


def of_lightgbm(rows: Cell) -> dict:
    """LightGBM, tuned on the inner division and then trained on all training rows."""
    fits = PeerFits("lightgbm", LEAVES, rows)
    settings = settings_of("lightgbm", LEAVES)
    inner = [fits.score("fit", setting, "valid") for setting in settings]
    by_metric, by_loss = choose(rows.task, inner)
    found = fits.score("train", settings[by_metric], "test")
    if by_loss != by_metric:
        found = fits.score("train", settings[by_loss], "test") | {"accuracy": found["accuracy"]}
    return named("test", found)


def loss_of(line: dict) -> float | None:
    """RMSE of numbers, log loss of classes."""
    return line.get("test_rmse", line.get("test_logloss"))


def mean_of(lines: list[dict], name: str, size: str, who: str) -> float | None:
    """The mean loss of a contender over the splits that all contenders have."""
    own = [line for line in lines if (line["set"], line["size"]) == (name, size)]
    splits = {
        contender: {line["split"]: loss_of(line) for line in own if line["contender"] == contender}
        for contender in CONTENDERS
    }
    common = set.intersection(*(set(known) for known in splits.values()))
    losses = [splits[who][split] for split in common if splits[who][split] is not None]
    return statistics.fmean(losses) if losses else None


def table_of(lines: list[dict], names: tuple[str, ...], size: str) -> tuple[str, list[float]]:
    """Every set, and the ratios of our loss to LightGBM's."""
    rows, ratios = [], []
    for name in names:
        losses = [mean_of(lines, name, size, who) for who in CONTENDERS]
        if None in losses:
            continue
        ratios.append(losses[0] / losses[1])
        rows.append([name, *(f"{loss:.5g}" for loss in losses), f"{100 * (ratios[-1] - 1):+.1f} %"])
    if not rows:
        return "", []
    mean = statistics.geometric_mean(ratios)
    rows.append(["mean", "-", "-", "-", f"{100 * (mean - 1):+.1f} %"])
    return render(["set", *CONTENDERS, "ours to LightGBM's"], rows), ratios


def tell(lines: list[dict], request: Request) -> Page:
    """One table per number of columns and group of sets."""
    page = Page(TITLE, SEEDS)
    note = """RMSE of numbers, log loss of classes, on test rows; mean over the splits. The last
line is the geometric mean of the ratios. Constants of the selection were chosen on the sets for
development alone."""
    page.section("Losses", note)
    for size in SIZES:
        for title, names in (("development", DEVELOPMENT), ("confirmation", CONFIRMATION)):
            table, ratios = table_of(lines, names, size)
            if table:
                better = sum(ratio < 1 for ratio in ratios)
                text = f"Ours is better on {better} of {len(ratios)} sets."
                page.section(f"{size} columns, sets for {title}", text, table)
    return page
