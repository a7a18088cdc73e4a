"""Who competes, at which sizes, and how each is tuned.

A tuned contender tries learning rate x lambda on the inner division and is then trained on all
training rows; a library keeps its own defaults for everything else. A contender of ours is a
command line of the binary; the swarm chooses its settings itself and is not tuned from outside.
"""

import itertools
from dataclasses import dataclass

LAMBDAS = (1.0, 10.0, 50.0)
POPULATION = {
    "regression": 200,
    "binary": 50,
    "multiclass": 50,
}  # of the swarms of Rao 2022, section 7.1


@dataclass(frozen=True)
class Size:
    """How large a model may be: so many trees of so many leaves, or so many leaves in all."""

    title: str
    trees: int = 0
    leaves: int = 0
    depth: int = 0
    rates: tuple[float, ...] = ()
    total: int = 0


RATES = (1.0, 0.5, 0.3, 0.15)
SIZES = {
    "1": Size("1 tree of at most 32 leaves", 1, 32, 5, RATES),
    "2": Size("2 trees of at most 32 leaves", 2, 32, 5, RATES),
    "4": Size("4 trees of at most 32 leaves", 4, 32, 5, RATES),
    "6": Size("6 trees of at most 32 leaves", 6, 32, 5, RATES),
    "16": Size("16 trees of at most 64 leaves", 16, 64, 6, RATES),
    "64": Size("64 trees of at most 64 leaves", 64, 64, 6, (0.5, 0.3, 0.15, 0.08)),
    "192": Size("192 leaves in all", total=192),
}
BOOSTERS = ("1", "2", "4", "6", "16", "64")


@dataclass(frozen=True)
class Contender:
    """`library` is a peer's class in `peers.py`, or `rgf`, or `ours`; `flags` are words of our
    command line."""

    name: str
    library: str
    growth: str = ""
    flags: tuple[str, ...] = ()
    sizes: tuple[str, ...] = BOOSTERS
    tasks: tuple[str, ...] = ("regression", "binary", "multiclass")
    tuned: bool = True

    @property
    def ours(self) -> bool:
        return self.library == "ours"

    def grid(self, size: Size) -> list[dict[str, float]]:
        """The settings to choose from; one empty setting where there is nothing to choose."""
        if not self.tuned:
            return [{}]
        if self.library == "rgf":
            return [{"l2": l2} for l2 in (1.0, 0.1, 0.01)]
        return [
            {"learning_rate": rate, "lambda": l2}
            for rate, l2 in itertools.product(size.rates, LAMBDAS)
        ]

    def words(self, size: Size, setting: dict[str, float]) -> list[str]:
        """The part of our command line that makes this contender: flags with their places filled,
        then the setting."""
        places = {"trees": size.trees, "leaves": size.leaves}
        flags = self.flags if not size.total else TOTAL
        words = [word.format(**places, total=size.total) for word in flags]
        return words + [
            str(part)
            for name, value in setting.items()
            for part in (f"--{name.replace('_', '-')}", value)
        ]


SWARM = ("--method", "swarm", "--trees", "{trees}", "--max-leaves", "{leaves}")
TOTAL = ("--method", "swarm", "--total-leaves", "{total}")
GREEDY = (
    "--method",
    "greedy",
    "--growth",
    "leaf",
    "--depth",
    "0",
    "--trees",
    "{trees}",
    "--max-leaves",
    "{leaves}",
)
CONTENDERS = {
    known.name: known
    for known in [
        Contender("swarm", "ours", flags=SWARM, sizes=tuple(SIZES), tuned=False),
        Contender("greedy", "ours", flags=GREEDY),
        Contender("xgboost", "xgboost", "depth"),
        Contender("xgboost-leaf", "xgboost", "leaf"),
        Contender("lightgbm", "lightgbm", "leaf"),
        Contender("catboost", "catboost", "oblivious"),
        Contender("rgf", "rgf", sizes=("192",), tasks=("regression",)),
    ]
}
PEERS = ("xgboost", "xgboost-leaf", "lightgbm", "catboost")


def variant(text: str) -> Contender:
    """A contender from `NAME=FLAGS`: what the swarm is told beside the size, for instance
    `short=--budget 100`."""
    name, equals, flags = text.partition("=")
    if not equals or not name or (name in CONTENDERS and name != "swarm"):
        raise ValueError(f"--variant '{text}': give NAME=FLAGS with a name that is not taken")
    return Contender(name, "ours", flags=SWARM + tuple(flags.split()), tuned=False)
