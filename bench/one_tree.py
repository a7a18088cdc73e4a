"""One small tree: ours beside CART, ConTree and STreeD.

bench/.venv/bin/python bench/one_tree.py --data DIR --binary PATH --cells FILE [--part splits]
[--out DIR]

- `optimum`: training accuracy and processor time at depth 2 and 3, one thread, beside solvers that
  prove their tree;
- `limit`: training accuracy at depth 4 after 20 s on two threads, on three quarters of the rows;
- `splits`: accuracy and R² on unseen rows at 8 and 16 leaves, against CART of the same size, over
  20 random splits.

`FILE` keeps one line a cell, outside the repository; a run that was stopped goes on where it was,
and cells of ours are measured again when the binary has changed. `--tables` measures nothing. With
`--out` the record of the run is written.
"""

import argparse
import datetime
import hashlib
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd

from child import ChildError
from equal import cache
from provenance import ROOT, installed, machine, said
from record import write
from single.measure import PARTS, SIZES, Job, measure, planned
from single.sets import SETS
from single.tables import summary

PACKAGES = ("scikit-learn", "pycontree", "pystreed", "numpy")


def arguments(given: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, metavar="DIR")
    parser.add_argument(
        "--binary", type=Path, default=ROOT / "target" / "release" / "swarmwood", metavar="PATH"
    )
    parser.add_argument(
        "--cells", type=Path, required=True, metavar="FILE", help="one line a cell, to be continued"
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="where README.md, summary.md and raw.csv go"
    )
    parser.add_argument(
        "--part", action="append", choices=PARTS, help="may be repeated (default: all)"
    )
    for flag, known in (("sizes", SIZES), ("sets", SETS)):
        parser.add_argument(
            f"--{flag}", default=",".join(known), metavar="NAMES", help=f"of {', '.join(known)}"
        )
    parser.add_argument(
        "--contenders", metavar="NAMES", help="measure these only, separated by semicolons"
    )
    parser.add_argument("--rounds", type=int, default=3, help="of what is timed (default: 3)")
    parser.add_argument(
        "--splits", type=int, default=20, help="into training and unseen rows (default: 20)"
    )
    parser.add_argument(
        "--limit",
        type=float,
        default=60.0,
        help="seconds of a solver at depth 2 and 3 (default: 60)",
    )
    parser.add_argument(
        "--workers", type=int, default=1, help="cells at a time; 1 for what is timed (default: 1)"
    )
    parser.add_argument(
        "--rows", type=int, help="use at most so many rows: a trial of the harness, not a result"
    )
    parser.add_argument("--tables", action="store_true", help="measure nothing, print the tables")
    options = parser.parse_args(given)
    for flag, known in (("sizes", SIZES), ("sets", SETS)):
        names = getattr(options, flag).split(",")
        unknown = [name for name in names if name not in known]
        if unknown:
            parser.error(f"--{flag}: unknown {', '.join(unknown)}; known are {', '.join(known)}")
        setattr(options, flag, names)
    options.sizes = [size for size in options.sizes if SIZES[size].part in (options.part or PARTS)]
    if not options.tables and not options.binary.is_file():
        parser.error(
            f"--binary {options.binary}: no such file; build it with `cargo build --release`"
        )
    return options


def jobs(options: argparse.Namespace) -> list[Job]:
    """The cells that are asked for, of the sets that are there."""
    there = [name for name in options.sets if (options.data / SETS[name].file).is_file()]
    for name in set(options.sets) - set(there):
        print(f"skip {name}: no {SETS[name].file} in the data directory", file=sys.stderr)
    build = hashlib.sha256(options.binary.read_bytes()).hexdigest()[:12]
    given = {"data": options.data, "binary": options.binary, "build": build, "limit": options.limit}
    found = planned(
        options.sizes, there, options.rounds, options.splits, **given, rows=options.rows
    )
    wanted = options.contenders.split(";") if options.contenders else None
    return [job for job in found if wanted is None or job.contender in wanted]


def is_known(job: Job, known: dict[tuple, dict]) -> bool:
    """Whether there is nothing to measure: the cell is there, or a solver ran out of time in the
    first round."""
    line = known.get(job.key)
    if job.ours or SIZES[job.size].part == "splits":
        return line is not None and (not job.ours or line["build"] == job.build)
    first = known.get((job.name, 0, *job.key[2:]))
    ran_out = first is not None and job.contender != "cart" and not first["found"]["proven"]
    return line is not None or ran_out


def run(options: argparse.Namespace) -> int:
    """Measures what is missing; how many cells failed."""
    failed = 0

    def cell(job: Job) -> bool:
        # Asked only now: what the rounds before said decides whether a solver is worth another one.
        if is_known(job, cache.read(options.cells)):
            return True
        label = f"{job.name} {job.size} {job.split} {job.contender}"
        try:
            line = measure(job)
        except (ChildError, OSError, KeyError, ValueError) as error:
            print(f"FAILED {label}: {error}", file=sys.stderr, flush=True)
            return False
        cache.add(options.cells, line)
        shown = " ".join(f"{name}={value:.5g}" for name, value in line["found"].items())
        print(f"{label}: {shown}", file=sys.stderr, flush=True)
        return True

    with ThreadPoolExecutor(options.workers) as pool:
        failed = sum(not done for done in pool.map(cell, jobs(options)))
    return failed


def provenance(given: list[str], options: argparse.Namespace, build: str) -> str:
    """README of a run. Paths are shortened to their last part, so that no machine's layout is
    kept."""
    command = " ".join(
        Path(word).name if "/" in word else f"'{word}'" if " " in word else word for word in given
    )
    facts = {
        "command": f"`bench/one_tree.py {command}`",
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": said(["git", "-C", ROOT, "rev-parse", "--short=12", "HEAD"]),
        "processor": machine(),
        "swarmwood": f"{said([options.binary, '--version'])}, build {build}",
        **{package: installed(package) for package in PACKAGES},
    }
    lines = "".join(f"- {name}: {value}\n" for name, value in facts.items())
    return f"# A benchmark run\n\n`summary.md` has the tables, `raw.csv` all numbers.\n\n{lines}"


def main(given: list[str]) -> int:
    options = arguments(given)
    failed = 0 if options.tables else run(options)
    lines = [line for line in cache.read(options.cells).values() if line["limit"] == options.rows]
    lines = [
        line for line in lines if line["size"] in options.sizes and line["set"] in options.sets
    ]
    text = summary(lines, trial=options.rows is not None)
    print(text)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        place = ("set", "split", "size", "contender", "build")
        raw = [
            [*(line[key] for key in place), name, float(f"{value:.7g}")]
            for line in lines
            for name, value in line["found"].items()
        ]
        write(
            pd.DataFrame(raw, columns=[*place, "quantity", "value"]).to_csv(index=False),
            options.out / "raw.csv",
        )
        builds = sorted({line["build"] for line in lines if line["build"]})
        write(provenance(given, options, ", ".join(builds)), options.out / "README.md")
        write(text, options.out / "summary.md")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
