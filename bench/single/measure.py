"""The measurement of one cell: one contender, one size, one set, one split (or, where time counts,
one round).

Ours is the real binary; the processor's seconds are those of the whole process, start and reading
included.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import child
from single.sets import SETS, divide, load, numbers

HERE = Path(__file__).resolve().parent
LIMIT_AT_DEPTH_4, THREADS_AT_DEPTH_4 = 20.0, 2
FIRST_SPLIT = 100  # splits below were looked at while the method was settled
EXACT = ["--criterion", "accuracy", "--min-leaf", "1"]


@dataclass(frozen=True)
class Size:
    """How large the tree may be, who is asked for it, and on which sets."""

    part: str
    depth: int = 0
    leaves: int = 0
    contenders: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()


SMALL = ("banknote", "parkinsons", "pima", "transfusion", "wine_class", "eeg_eye_state")
CLASSES = tuple(name for name, known in SETS.items() if known.task == "classification")
SOLVERS = ("cart", "contree", "streed")
SIZES = {
    "depth 2": Size(
        "optimum", 2, contenders=(*SOLVERS, "swarm-tree, 1 descent", "swarm-tree"), sets=SMALL
    ),
    "depth 3": Size(
        "optimum", 3, contenders=(*SOLVERS, "swarm-tree, 1 descent", "swarm-tree"), sets=SMALL
    ),
    "depth 4": Size(
        "limit", 4, contenders=(*SOLVERS, "swarm-tree"), sets=("eeg_eye_state", "wine_class")
    ),
    "8 leaves": Size("splits", leaves=8, contenders=("cart", "swarm-tree"), sets=tuple(SETS)),
    "16 leaves": Size("splits", leaves=16, contenders=("cart", "swarm-tree"), sets=CLASSES),
}
PARTS = tuple(dict.fromkeys(size.part for size in SIZES.values()))


@dataclass(frozen=True)
class Job:
    """One cell."""

    name: str
    split: int
    size: str
    contender: str
    data: Path
    binary: Path
    build: str
    limit: float
    rows: int | None = None

    @property
    def key(self) -> tuple:
        return (self.name, self.split, self.size, self.contender, self.rows)

    @property
    def ours(self) -> bool:
        return self.contender.startswith("swarm-tree")


def planned(sizes: list[str], sets: list[str], rounds: int, splits: int, **given) -> Iterator[Job]:
    """All cells, sizes outermost; contenders of a round follow each other, so that they meet the
    same machine."""
    for size in sizes:
        asked = SIZES[size]
        first, count = {"optimum": (0, rounds), "limit": (0, 1), "splits": (FIRST_SPLIT, splits)}[
            asked.part
        ]
        for name in (name for name in asked.sets if name in sets):
            for split in range(first, first + count):
                for contender in asked.contenders:
                    yield Job(name, split, size, contender, **given)


def measure(job: Job) -> dict:
    """The line of the file of results for this cell."""
    part = {"optimum": at_depth, "limit": at_depth, "splits": on_unseen_rows}[SIZES[job.size].part]
    with tempfile.TemporaryDirectory(prefix="one-tree-") as folder:
        found = part(job, Path(folder))
    line = {
        "set": job.name,
        "split": job.split,
        "size": job.size,
        "contender": job.contender,
        "limit": job.rows,
    }
    return line | {"build": job.build if job.ours else "", "found": found}


def at_depth(job: Job, folder: Path) -> dict:
    """A tree of limited depth: how well it fits the rows it was found on, and the seconds that
    took."""
    frame, limit, threads = load(job.name, job.data, job.rows), job.limit, 1
    size = SIZES[job.size]
    if size.part == "limit":
        frame, limit, threads = (
            divide(frame, "classification", 0, 0.25)[0],
            LIMIT_AT_DEPTH_4,
            THREADS_AT_DEPTH_4,
        )
    if not job.ours:
        np.savez(folder / "rows.npz", x=numbers(frame)[0], y=frame["target"].to_numpy())
        asked = {
            "solver": job.contender,
            "depth": size.depth,
            "limit": limit,
            "rows": str(folder / "rows.npz"),
        }
        found = child.run(
            [sys.executable, HERE / "solver.py"], threads, json.dumps(asked), 10 * limit + 120
        )
        return found | {"allowed": limit}
    flags = ["--depth", str(size.depth), *EXACT]
    if size.part == "limit":
        flags += ["--budget", "1000000000", "--time-limit", f"{limit:g}"]
    elif job.contender.endswith("1 descent"):
        flags += ["--budget", "1"]
    frame.to_csv(folder / "train.csv", index=False)
    said, cpu = train(job, folder, flags, threads)
    seconds = said["seconds"]
    found = {
        "accuracy": said["metrics"]["train"]["accuracy"],
        "cpu": cpu,
        "descents": said["search"]["descents"],
    }
    return found | {"wall": sum(seconds.values()), "train": seconds["train"]}


def on_unseen_rows(job: Job, folder: Path) -> dict:
    """Accuracy or R² on the third of the rows that the tree was not fitted to."""
    task, leaves = SETS[job.name].task, SIZES[job.size].leaves
    parts = divide(load(job.name, job.data, job.rows), task, job.split, 1 / 3)
    if not job.ours:
        from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

        kind = DecisionTreeClassifier if task == "classification" else DecisionTreeRegressor
        (x, unseen), (y, truth) = numbers(*parts), (part["target"] for part in parts)
        tree = kind(max_leaf_nodes=leaves, min_samples_leaf=5, random_state=0).fit(x, y)
        return {"score": tree.score(unseen, truth), "leaves": int(tree.get_n_leaves())}
    for part, name in zip(parts, ("train.csv", "test.csv"), strict=True):
        part.to_csv(folder / name, index=False)
    said, cpu = train(job, folder, ["--max-leaves", str(leaves)], 1)
    judged = child.run(
        [job.binary, "evaluate", folder / "model.json", folder / "test.csv", "--json", "--quiet"], 1
    )
    score = judged["accuracy" if task == "classification" else "r2"]
    return {
        "score": score,
        "leaves": said["search"]["leaves"],
        "searched": said["search"]["selected_by_search"],
        "cpu": cpu,
    }


def train(job: Job, folder: Path, flags: list[str], threads: int) -> tuple[dict, float]:
    """What a run of our binary says, and the processor's seconds of the whole process."""
    command = [
        job.binary,
        "train",
        folder / "train.csv",
        "--target",
        "target",
        "--task",
        SETS[job.name].task,
    ]
    command += [
        "--method",
        "swarm-tree",
        *flags,
        "--threads",
        threads,
        "--seed",
        0,
        "--quiet",
        "--json",
    ]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as talk:
        words = [str(word) for word in [*command, "--out", folder / "model.json"]]
        process = subprocess.Popen(words, stdout=out, stderr=talk)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0), talk.seek(0)
        if process.returncode:
            raise child.ChildError(f"exit code {process.returncode}: {talk.read().strip()[-500:]}")
        return json.load(out), usage.ru_utime + usage.ru_stime
