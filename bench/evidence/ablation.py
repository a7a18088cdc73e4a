"""Rao 2022, section 8: what each change of the published swarm is worth, with equal budgets of
evaluations.

The paper names early convergence as a limitation, and unconstrained trees, adaptive alpha and beta,
a single tree from pre-trained splits and deep reinforcement learning as future work. Each variant
changes one thing of PSGBDT or SGBDT as published; the rules of PSGBDT come from our own greedy
booster, so that nothing but our binary is measured. Two readings of the text are variants, too: the
first particles of PSGBDT (uniform over the table, or a feature first as in algorithm 4), and "depth
5" (five levels of rules, or four as in its search-space figures).

Every variant may evaluate as many sequences: 100 iterations of the published population. A swarm
that has converged evaluates fewer; what is left is then used by the local search of its variant.
"""

import os
from collections.abc import Iterator

import child
from equal.cell import cell
from equal.contenders import POPULATION
from equal.measure import raw_scores
from equal.sets import SETS
from evidence.boosting import ITERATIONS, PAPER_SETS, QUICK_SETS, RATE, TREES, judged
from evidence.request import Job, Request

SIZE, REPEATS = "ablation", 10
SHAPE = ("--trees", str(TREES), "--learning-rate", f"{RATE:g}")
PSGBDT = ("--method", "psgbdt", *SHAPE)
SGBDT = ("--method", "sgbdt", *SHAPE)
POLICY = ("--method", "policy-gradient", *SHAPE)
# The variant, what it is compared with, and its flags.
VARIANTS = {
    "psgbdt": ("psgbdt", PSGBDT),
    "psgbdt, feature first": ("psgbdt", (*PSGBDT, "--initial", "feature-first")),
    "psgbdt, four levels": ("psgbdt", (*PSGBDT, "--depth", "4")),
    "psgbdt, adaptive": ("psgbdt", (*PSGBDT, "--adaptive")),
    "psgbdt, mutation": ("psgbdt", (*PSGBDT, "--mutation", "0.02")),
    "psgbdt, unconstrained trees": ("psgbdt", (*PSGBDT, "--growth", "depth")),
    "psgbdt, local search": ("psgbdt", (*PSGBDT, "--local-search")),
    "policy gradient, pretrained rules": ("psgbdt", POLICY),
    "split-tree": ("psgbdt", ("--method", "split-tree", *SHAPE, "--depth", "5")),
    "sgbdt": ("sgbdt", SGBDT),
    "sgbdt, four levels": ("sgbdt", (*SGBDT, "--depth", "4")),
    "sgbdt, adaptive": ("sgbdt", (*SGBDT, "--adaptive")),
    "sgbdt, mutation": ("sgbdt", (*SGBDT, "--mutation", "0.02")),
    "sgbdt, unconstrained trees": ("sgbdt", (*SGBDT, "--growth", "depth")),
    "sgbdt, local search": ("sgbdt", (*SGBDT, "--local-search")),
    "policy gradient, distinct values": ("sgbdt", (*POLICY, "--rule-table", "distinct")),
}


def plan(request: Request) -> Iterator[Job]:
    """Every variant on every split of every set, sets outermost."""
    for name in request.sets or (QUICK_SETS if request.quick else PAPER_SETS):
        if request.has(name, SETS[name].file):
            for split in range(request.repeats or (2 if request.quick else REPEATS)):
                for variant in (one for one in VARIANTS if request.wants("contenders", one)):
                    yield Job(name, split, SIZE, variant, request, measure, ours=True)


def asked_for(line: dict, request: Request) -> bool:
    """Whether a line of the cache belongs on the page."""
    return line["size"] == SIZE and line["contender"] in VARIANTS


def measure(job: Job) -> dict:
    """The main metric on the test rows, the fitness on the training rows, and what the search
    took."""
    request = job.request
    rows = cell(job.name, job.split, request.folder, request.scratch, request.rows)
    iterations = 10 if request.quick else ITERATIONS
    population = POPULATION[rows.task]
    flags = [*VARIANTS[job.contender][1], "--population", population, "--iterations", iterations]
    if "split-tree" not in flags:
        flags += ["--budget", population * iterations]
    flags += ["--task", "regression" if rows.task == "regression" else "classification"]
    flags += ["--positive", "1"] if rows.task == "binary" else []
    model = rows.folder / f"ablation-{os.getpid()}.json"
    command = [request.binary, "train", rows.csv("train"), "--target", "target", *flags]
    command += ["--seed", job.split, "--threads", 1, "--quiet", "--json", "--out", model]
    try:
        told = child.run(command, 1, limit=4 * 3600.0)
        score = judged(rows, raw_scores(request.binary, model, rows))
    finally:
        model.unlink(missing_ok=True)
    search = told["search"]
    search = search.get("swarm") or search
    return {
        "score": score,
        "fitness": search["best"],
        "evaluations": search["evaluations"],
        "iterations": search["iterations"],
        "seconds": told["seconds"]["train"],
        "rows": len(rows.table.y),
    }
