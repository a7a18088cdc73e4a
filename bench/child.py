"""Run one contender in a child process of its own, with its thread count pinned from outside as
well."""

import gzip
import json
import os
import subprocess
import sys
import time
import zlib
from dataclasses import asdict
from pathlib import Path

from datasets import Prepared
from metrics import OF_TASK
from peers import PASSES, PEERS
from shape import Shape

HERE = Path(__file__).resolve().parent
POOLS = ["OMP", "OPENBLAS", "MKL", "NUMEXPR", "VECLIB_MAXIMUM", "RAYON"]


class ChildError(Exception):
    """A contender that did not finish; the text is the tail of what it said."""


def run(command: list, threads: int, stdin: str = "", limit: float = 3600.0) -> dict:
    """The JSON object that the child printed: the whole of stdout, or its last line."""
    pinned = {f"{pool}_NUM_THREADS": str(threads) for pool in POOLS}
    try:
        done = subprocess.run(
            [str(part) for part in command],
            input=stdin,
            capture_output=True,
            text=True,
            env=os.environ | pinned,
            timeout=limit,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ChildError(str(error)) from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        told = [line for line in said if line.startswith("error: ")] or said[
            -3:
        ]  # ours marks what went wrong
        raise ChildError(f"exit code {done.returncode}: {' / '.join(told)}")
    for text in (done.stdout, (done.stdout.strip().splitlines() or [""])[-1]):
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            continue
    raise ChildError(f"no JSON object on stdout but '{done.stdout[:80]}'")


def sizes(model: Path) -> dict[str, float]:
    """Bytes of a model file, as it is and compressed (the formats differ in how wordy they are),
    and a check sum."""
    stored = model.read_bytes()
    packed = gzip.compress(stored, 6, mtime=0)
    return {
        "model_bytes": len(stored),
        "model_gzip_bytes": len(packed),
        "model_crc32": zlib.crc32(stored),
    }


def peer(action: str, name: str, shape: Shape, **files: Path | None) -> dict[str, float]:
    """One measured action of a peer."""
    job = {"action": action, "peer": name, "shape": asdict(shape)}
    job |= {key: str(path) for key, path in files.items() if path is not None}
    return run([sys.executable, HERE / "peer_process.py"], shape.threads, json.dumps(job))


def train_arguments(shape: Shape, data: Path, model: Path) -> list:
    """The command line of `swarmwood train` for a shape."""
    command = ["train", data, "--target", "target", "--method", "greedy", "--growth", shape.growth]
    command += ["--task", "regression" if shape.task == "regression" else "classification"]
    command += [
        "--trees",
        shape.trees,
        "--depth",
        shape.depth,
        "--learning-rate",
        shape.learning_rate,
    ]
    if shape.leaves:
        command += ["--max-leaves", shape.leaves]
    if shape.equal:
        command += [
            "--lambda",
            shape.l2,
            "--min-child-weight",
            shape.min_child_weight,
            "--max-bin",
            shape.bins,
        ]
    return [*command, "--seed", 0, "--threads", shape.threads, "--quiet", "--json", "--out", model]


def train_ours(
    binary: Path, shape: Shape, train: Prepared, score: Prepared | None, model: Path
) -> dict[str, float]:
    """Train with the real binary; binning and training time are what it reports, the wall clock is
    ours."""
    started = time.perf_counter()
    said = run([binary, *train_arguments(shape, train.csv, model)], shape.threads)
    wall = time.perf_counter() - started
    seconds = said["seconds"]
    result = {f"seconds.{step}": seconds[step] for step in ("read", "bin", "train")}
    result |= {"seconds.total": seconds["bin"] + seconds["train"], "seconds.wall": wall}
    if said.get("peak_memory_bytes"):
        result |= {
            "peak_bytes": said["peak_memory_bytes"],
            "added_bytes": said["peak_memory_bytes"],
        }
    if score:
        found = run(
            [binary, "evaluate", model, score.csv, "--threads", shape.threads, "--quiet", "--json"],
            shape.threads,
        )
        result |= {metric: found[metric] for metric in OF_TASK[shape.task]}
    return result | sizes(model)


def model_path(name: str, shape: Shape, folder: Path) -> Path:
    """Where a contender's model of this growth is kept."""
    suffix = ".json" if name == "swarmwood" else PEERS[name].suffix
    return folder / f"{name}-{shape.growth}{suffix}"


def predict_ours(binary: Path, shape: Shape, rows: Prepared, model: Path) -> dict[str, float]:
    """The best of PASSES runs of the real binary over a CSV file; the time is what it reports for
    prediction alone."""
    command = [binary, "predict", model, rows.csv, "--raw", "--threads", shape.threads]
    command += ["--quiet", "--json", "--out", model.parent / "predictions.csv"]
    passes = []
    for _ in range(PASSES):
        said = run(command, shape.threads)
        if said["rows"] != rows.rows:
            raise ChildError(f"predicted {said['rows']} rows of {rows.rows}")
        passes.append((said["seconds"]["predict"], said["seconds"]["read"]))
    return dict(zip(("seconds.array", "seconds.read"), min(passes), strict=True))
