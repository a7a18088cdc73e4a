"""One run of the harness: its settings, what it has measured, and the few things every experiment
does."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

import child
import datasets
from datasets import Dataset, Prepared
from record import COLUMNS, rotate
from shape import Shape


@dataclass
class Session:
    """What the command line asked for, and what came of it."""

    data: Path
    scratch: Path
    binary: Path
    contenders: list[str]
    threads: list[int]
    rounds: int
    splits: int
    rows: int | None = None
    trees: int | None = None
    only_set: Dataset | None = None
    chosen: list[str] | None = None
    measured: list[tuple] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def sets(self, wanted: dict[str, int | None]) -> Iterator[tuple[Dataset, int | None]]:
        """The chosen data sets that are there, each with its row limit; a missing one is named and
        left out."""
        if self.only_set:
            yield self.only_set, self.rows
            return
        for name, at_most in wanted.items():
            if self.chosen and name not in self.chosen:
                continue
            found = datasets.KNOWN[name]
            if (self.data / found.file).is_file():
                yield found, min((limit for limit in (at_most, self.rows) if limit), default=None)
            else:
                self.say(f"skip {name}: no {found.file} in the data directory")

    def prepare(self, dataset: Dataset, at_most: int | None, seed: int | None, test_rows: int = 0):
        """Training and test files of one split, the same for every contender."""
        return datasets.prepare(dataset, self.data, self.scratch, at_most, seed, test_rows)

    def shape(self, dataset: Dataset, data: Prepared, **asked) -> Shape:
        """The asked shape; `--trees` overrides it, for a trial of the harness itself."""
        if self.trees:
            asked["trees"] = self.trees
        return Shape(task=dataset.task, classes=data.classes, **asked)

    def model(self, name: str, shape: Shape) -> Path:
        """Where the latest model of a contender is kept; data sets are measured one after the
        other."""
        folder = self.scratch / "models"
        folder.mkdir(parents=True, exist_ok=True)
        return child.model_path(name, shape, folder)

    def train(
        self, name: str, shape: Shape, train: Prepared, score: Prepared | None
    ) -> dict[str, float]:
        """Bin and train one contender, keep its model, and score it on other rows if there are
        any."""
        model = self.model(name, shape)
        if name == "swarmwood":
            found = child.train_ours(self.binary, shape, train, score, model)
        else:
            files = {"train": train.npz, "score": score and score.npz, "model": model}
            found = child.peer("train", name, shape, **files) | child.sizes(model)
        return found | {"rows": train.rows}

    def predict(self, name: str, shape: Shape, rows: Prepared) -> dict[str, float]:
        """Score a batch of rows with the stored model; seconds a pass for each way the contender
        has."""
        model = self.model(name, shape)
        if name == "swarmwood":
            return child.predict_ours(self.binary, shape, rows, model) | {"rows": rows.rows}
        return child.peer("predict", name, shape, model=model, rows=rows.npz) | {"rows": rows.rows}

    def attempt(
        self, place: tuple[str, str, str, int, int], action: Callable[..., dict], *inputs
    ) -> bool:
        """Run and record; a contender that fails is written down and does not end the run."""
        label = " ".join(map(str, place))
        try:
            found = action(*inputs)
        except (child.ChildError, KeyError, OSError) as error:
            self.failures.append(f"{label}: {error!r}")
            self.say(f"  FAILED {self.failures[-1]}")
            return False
        self.measured += [(*place, quantity, float(value)) for quantity, value in found.items()]
        shown = [
            key
            for key in ("seconds.total", "seconds.array", "rmse", "accuracy", "error")
            if key in found
        ]
        self.say(f"  {label} " + " ".join(f"{key}={found[key]:.5g}" for key in shown))
        return True

    def interleaved(self, contenders: list[str]) -> Iterator[tuple[int, int, str]]:
        """(round, threads, contender) so that all contenders run side by side and none always goes
        first."""
        kept = [name for name in contenders if name in self.contenders]
        for turn in range(self.rounds):
            for threads in self.threads:
                for name in rotate(kept, turn):
                    yield turn, threads, name

    def frame(self) -> pd.DataFrame:
        """Everything measured so far."""
        return pd.DataFrame(self.measured, columns=COLUMNS)
