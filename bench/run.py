"""Measure Swarmwood beside XGBoost, LightGBM, CatBoost and scikit-learn, and write the ratios down.

    bench/.venv/bin/python bench/run.py --data DIR [--only speed] [--out bench/runs/DATE]

See bench/README.md for what each experiment answers and how to read its tables.
"""

import argparse
import datetime
import os
import sys
from pathlib import Path

from datasets import KNOWN, Dataset
from experiments import parity, planted, predict, speed
from peers import PACKAGES, PEERS
from provenance import ROOT, installed, machine, said
from record import write
from session import Session
from table import render

HERE = Path(__file__).resolve().parent
EXPERIMENTS = {"planted": planted, "parity": parity, "speed": speed, "predict": predict}


def arguments(given: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, metavar="DIR", help="directory with the data sets")
    parser.add_argument(
        "--csv", type=Path, metavar="FILE", help="measure this file instead of the known data sets"
    )
    parser.add_argument(
        "--target", default="target", help="target column of --csv (default: target)"
    )
    parser.add_argument(
        "--task", choices=["regression", "binary", "multiclass"], help="task of --csv"
    )
    parser.add_argument(
        "--only", action="append", choices=EXPERIMENTS, help="run this experiment (may be repeated)"
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="where the results go (default: bench/runs/<date>)"
    )
    parser.add_argument(
        "--scratch", type=Path, default=HERE / "runs" / "scratch", help="prepared data and models"
    )
    default = ROOT / "target" / "release" / "swarmwood"
    parser.add_argument(
        "--swarmwood", "--binary", type=Path, default=default, metavar="PATH", help="our binary"
    )
    parser.add_argument(
        "--contenders", default=",".join(["swarmwood", *PEERS]), help="comma-separated names"
    )
    parser.add_argument(
        "--threads", default="1,2", help="thread counts, comma-separated (default: 1,2)"
    )
    parser.add_argument(
        "--rounds", type=int, default=5, help="interleaved rounds of timed experiments (default: 5)"
    )
    parser.add_argument("--splits", type=int, default=5, help="train/test splits (default: 5)")
    parser.add_argument(
        "--sets", metavar="NAMES", help="measure these data sets only, comma-separated"
    )
    parser.add_argument(
        "--rows", type=int, help="use at most so many rows: a trial of the harness, not a result"
    )
    parser.add_argument(
        "--trees", type=int, help="train so many trees: a trial of the harness, not a result"
    )
    options = parser.parse_args(given)
    options.contenders = options.contenders.split(",")
    options.only = options.only or list(EXPERIMENTS)
    try:
        options.threads = [int(count) for count in options.threads.split(",")]
    except ValueError:
        parser.error(f"--threads '{options.threads}': give numbers such as 1,2")
    options.sets = options.sets.split(",") if options.sets else None
    unknown = set(options.sets or []) - set(KNOWN)
    if unknown:
        parser.error(f"--sets: unknown {', '.join(sorted(unknown))}; known are {', '.join(KNOWN)}")
    unknown = set(options.contenders) - {"swarmwood", *PEERS}
    if unknown:
        parser.error(
            f"--contenders: unknown {', '.join(sorted(unknown))}; "
            f"known are swarmwood, {', '.join(PEERS)}"
        )
    if min([options.rounds, options.splits, *options.threads]) < 1:
        parser.error("--rounds, --splits and --threads must be at least 1")
    if options.csv and not options.task:
        parser.error("--csv needs --task regression, binary or multiclass")
    if options.csv and not options.csv.is_file():
        parser.error(f"--csv {options.csv}: no such file")
    if (
        not options.csv
        and options.only != ["planted"]
        and not (options.data and options.data.is_dir())
    ):
        parser.error("--data: name the directory that holds the data sets, or one file with --csv")
    if "swarmwood" in options.contenders and not options.swarmwood.is_file():
        parser.error(
            f"--swarmwood {options.swarmwood}: no such file; build it with `cargo build --release`"
        )
    options.out = options.out or free_name(HERE / "runs" / datetime.date.today().isoformat())
    if options.out.exists() and any(options.out.iterdir()):
        parser.error(f"--out {options.out}: holds results already; name another directory")
    return options


def free_name(wanted: Path) -> Path:
    """The path itself, or the first of path-2, path-3, ... that is not there yet: results are never
    overwritten."""
    path, count = wanted, 1
    while path.exists():
        count += 1
        path = wanted.with_name(f"{wanted.name}-{count}")
    return path


def provenance(options: argparse.Namespace, given: list[str]) -> str:
    """README of a run: how it was made. Paths are shortened to their last part, so that no
    machine's layout is kept."""
    command = " ".join(Path(part).name if "/" in part else part for part in given)
    changed = (
        ""
        if said(["git", "-C", ROOT, "status", "--porcelain", "-uno"]) == "-"
        else ", with local changes"
    )
    facts = {
        "command": f"`bench/run.py {command}`",
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": said(["git", "-C", ROOT, "rev-parse", "--short=12", "HEAD"]) + changed,
        "processor": f"{machine()}; load before the run {os.getloadavg()[0]:.2f}",
        "rounds, splits, threads": f"{options.rounds}, {options.splits}, {options.threads}",
        "swarmwood": said([options.swarmwood, "--version"]),
        **{name: installed(package) for name, package in PACKAGES.items()},
        "python, numpy": f"{sys.version.split()[0]}, {installed('numpy')}",
    }
    lines = "".join(f"- {name}: {value}\n" for name, value in facts.items())
    return f"# A benchmark run\n\n`summary.md` has the tables, `raw.csv` all numbers.\n\n{lines}"


def summary(session: Session) -> str:
    """The demands of issue 2 with their verdicts, then every table."""
    frame, tables, demands = session.frame(), [], []
    for name, experiment in EXPERIMENTS.items():
        own = frame[frame["experiment"] == name]
        if len(own):
            text, asked = experiment.tell(own)
            tables.append(text)
            demands += asked
    parts = ["# Summary\n"]
    if session.rows or session.trees:
        parts.append("A trial of the harness on fewer rows or trees: **not a result**.\n")
    if session.failures:
        parts += ["## Failures\n", "\n".join(f"- {failure}" for failure in session.failures) + "\n"]
    if demands:
        parts += [
            "## Targets\n",
            render(["what", "measured", "target", "verdict"], demands),
        ]
    return "\n".join(parts + tables)


def main(given: list[str]) -> int:
    options = arguments(given)
    session = Session(
        data=options.csv.parent if options.csv else options.data,
        scratch=options.scratch,
        binary=options.swarmwood.resolve(),
        contenders=options.contenders,
        threads=options.threads,
        rounds=options.rounds,
        splits=options.splits,
        rows=options.rows,
        trees=options.trees,
        chosen=options.sets,
    )
    if options.csv:
        session.only_set = Dataset(
            options.csv.name.split(".")[0], options.csv.name, options.task, None, options.target
        )
    readme = provenance(options, given)
    if os.getloadavg()[0] > 0.5 and not options.trees:
        session.say(
            f"warning: the machine is busy (load {os.getloadavg()[0]:.2f}); times are unreliable"
        )
    options.out.mkdir(parents=True, exist_ok=True)
    try:
        for name in options.only:
            EXPERIMENTS[name].run(session)
    except KeyboardInterrupt:
        session.failures.append("interrupted: the tables hold what was measured until then")
    except ValueError as error:
        session.failures.append(str(error))
    write(session.frame().to_csv(index=False), options.out / "raw.csv")
    write(readme, options.out / "README.md")
    write(summary(session), options.out / "summary.md")
    session.say(f"wrote {options.out / 'summary.md'}")
    for failure in session.failures:
        session.say(f"failed: {failure}")
    return 1 if session.failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
