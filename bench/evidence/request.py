"""What `reproduce.py` was asked for, one cell of it, and where the data sets come from."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from equal import cache

# The files of the data directory. Each has a line of names and the target as its last column,
# called `target`.
SOURCES = {
    "abalone.csv": "UCI Abalone, https://archive.ics.uci.edu/dataset/1",
    "banknote.csv": "UCI banknote authentication, https://archive.ics.uci.edu/dataset/267",
    "covtype.csv.gz": "UCI Covertype, https://archive.ics.uci.edu/dataset/31",
    "eeg_eye_state.csv": "OpenML EEG Eye State, https://www.openml.org/d/1471",
    "higgs.csv.gz": "the first rows of UCI HIGGS, https://archive.ics.uci.edu/dataset/280",
    "insurance.csv": "Medical Cost Personal Datasets, https://www.kaggle.com/datasets/mirichoi0218/insurance",
    "kc_house.csv": "House Sales in King County, https://www.kaggle.com/datasets/harlfoxem/housesalesprediction",
    "mozilla4.csv": "OpenML mozilla4, https://www.openml.org/d/1046",
    "parkinsons.csv": "UCI Parkinsons, https://archive.ics.uci.edu/dataset/174",
    "pima.csv": "Pima Indians diabetes, https://www.kaggle.com/datasets/uciml/pima-indians-diabetes-database",
    "transfusion.csv": "UCI Blood Transfusion Service Center, https://archive.ics.uci.edu/dataset/176",
    "wine_quality.csv": "UCI Wine Quality, red then white, https://archive.ics.uci.edu/dataset/186",
    "wine_red.csv": "UCI Wine Quality, red, https://archive.ics.uci.edu/dataset/186",
}


def say(text: str) -> None:
    """Talk goes to standard error."""
    print(text, file=sys.stderr, flush=True)


class Stopped(Exception):
    """The time of a run is over: a cell was not measured, and nothing went wrong."""


@dataclass(frozen=True)
class Request:
    """The command line, checked. `rows` limits the sets of a trial, `sample` those of tuning;
    `busy` means no times. No cell is begun after `until`, in seconds since the epoch."""

    experiment: str
    out: Path
    cells: Path
    scratch: Path
    binary: Path
    build: str = ""
    known: Path | None = None
    data: Path | None = None
    judge: Path | None = None
    repeats: int | None = None
    quick: bool = False
    busy: bool = False
    tables: bool = False
    workers: int = 1
    until: float | None = None
    rows: int | None = None
    sample: int = 1000
    sets: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ()
    contenders: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()

    def wants(self, what: str, name: str) -> bool:
        """Whether a set, a size or a contender is asked for; where nothing is said, all are."""
        return not getattr(self, what) or name in getattr(self, what)

    @property
    def is_over(self) -> bool:
        """Whether the time of the run is over."""
        return self.until is not None and time.time() >= self.until

    def has(self, name: str, file: str) -> bool:
        """Whether the file of a set is there; if not, it is said where to get it."""
        if not file or (self.data and (self.data / file).is_file()):
            return True
        say(f"skip {name}: no {file} in the data directory; get it from {SOURCES[file]}")
        return False

    @cached_property
    def folder(self) -> Path:
        """The data directory for readers that will not open a file of it."""
        return self.data or Path()


@dataclass(frozen=True)
class Job:
    """One cell: a contender on one split of a set at one size, and the function that measures it.

    Cells of ours are measured again when the binary has changed.
    """

    name: str
    split: int
    size: str
    contender: str
    request: Request
    work: Callable[["Job"], dict]
    ours: bool = False

    @property
    def key(self) -> tuple:
        return (self.name, self.split, self.size, self.contender, self.request.rows)

    @property
    def label(self) -> str:
        return f"{self.name} split {self.split} size {self.size} {self.contender}"

    def is_known(self, lines: dict[tuple, dict]) -> bool:
        """Whether there is nothing to measure."""
        line = lines.get(self.key)
        return line is not None and (not self.ours or line.get("build") in ("", self.request.build))

    def line(self) -> dict:
        """Measures; what is kept."""
        place = dict(zip(("set", "split", "size", "contender", "limit"), self.key, strict=True))
        line = place | {"build": self.request.build if self.ours else ""} | self.work(self)
        assert cache.key(line) == self.key
        return line
