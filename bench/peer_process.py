"""The child process of one peer: a job as JSON on stdin, one JSON object as the last line of
stdout.

A process of its own per measurement keeps peak memory, thread pools and warm caches of one peer
away from the next.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np

import metrics
from peers import PEERS, best_pass
from shape import Shape


def memory(field: str) -> int:
    """Bytes of a /proc/self/status field: VmRSS now, VmHWM at the peak (unlike ru_maxrss, not
    inherited on fork)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    return 0


def train(job: dict) -> dict:
    """Bin and train on an array that is already in memory; score it afterwards, outside the
    measured part."""
    peer = PEERS[job["peer"]](Shape(**job["shape"]))
    imported = memory("VmRSS")
    with np.load(job["train"]) as stored:
        x, y = stored["x"], stored["y"]
    started, cpu = time.perf_counter(), time.process_time()
    peer.bin(x, y)
    binned = time.perf_counter()
    peer.train()
    ended, cpu = time.perf_counter(), time.process_time() - cpu
    peak = memory("VmHWM")
    peer.save(Path(job["model"]))
    result = {
        "seconds.bin": binned - started,
        "seconds.train": ended - binned,
        "seconds.total": ended - started,
        "seconds.cpu": cpu,
        "peak_bytes": peak,
        "added_bytes": peak - imported,
    }
    if job.get("score"):
        with np.load(job["score"]) as stored:
            x, y = stored["x"], stored["y"]
        raw = peer.ways(x)["array"][1](x)
        result |= metrics.score(job["shape"]["task"], raw, y)
        if job.get("raw"):
            np.save(job["raw"], raw)
    return result


def predict(job: dict) -> dict:
    """The best of PASSES passes over the rows, for each way the peer has; the model is already
    loaded."""
    peer = PEERS[job["peer"]](Shape(**job["shape"]))
    peer.load(Path(job["model"]))
    with np.load(job["rows"]) as stored:
        x = stored["x"]
    result = {}
    for way, (build, call) in peer.ways(x).items():
        result[f"seconds.{way}"] = best_pass(build, call)
    return result


if __name__ == "__main__":
    request = json.load(sys.stdin)
    answer = {"train": train, "predict": predict}[request["action"]](request)
    print("\n" + json.dumps(answer))
