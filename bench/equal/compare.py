"""What was measured at one size, and how much better one contender is than another.

Positive is better. Errors (RMSE, log loss) are compared in percent of the other's, shares
(accuracy, AUC) in points.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from equal import cache
from equal.contenders import PEERS
from equal.sets import SETS
from metrics import LOWER_IS_BETTER
from paired import Gap


@dataclass(frozen=True)
class Results:
    """Everything measured at one size: set, contender and split to the value of a metric."""

    values: dict[tuple[str, str, str], dict[int, float]]

    @staticmethod
    def of(lines: Iterable[dict], size: str) -> "Results":
        """From lines of the cache."""
        values: dict[tuple[str, str, str], dict[int, float]] = {}
        for line in (line for line in lines if line["size"] == size):
            for quantity, value in cache.quantities(line):
                values.setdefault((line["set"], line["contender"], quantity), {})[line["split"]] = (
                    value
                )
        return Results(values)

    def sets(self, *tasks: str) -> list[str]:
        """The measured sets of these tasks, in the order of their definition."""
        measured = {name for name, _, _ in self.values}
        return [name for name, known in SETS.items() if name in measured and known.task in tasks]

    def contenders(self) -> list[str]:
        return list(dict.fromkeys(contender for _, contender, _ in self.values))

    def mean(self, name: str, contender: str, metric: str) -> float:
        found = self.values.get((name, contender, metric), {})
        return float(np.mean(list(found.values()))) if found else math.nan

    def splits(self, name: str, contender: str) -> int:
        """On how many splits a contender was measured."""
        return len(self.values.get((name, contender, main_metric(name)), {}))

    def gap(self, name: str, one: str, other: str, metric: str) -> Gap:
        """By how much `one` is better than `other`."""
        ours, theirs = (self.values.get((name, who, metric), {}) for who in (one, other))
        return Gap.between(ours, theirs, LOWER_IS_BETTER[metric])

    def best_peer(self, name: str, metric: str) -> str:
        """The best in hindsight by the mean, among those measured on the most splits; empty if
        there is none."""
        splits = {peer: len(self.values.get((name, peer, metric), {})) for peer in PEERS}
        most = max(splits.values())
        sign = 1 if LOWER_IS_BETTER[metric] else -1
        complete = [peer for peer in PEERS if most and splits[peer] == most]
        return min(complete, key=lambda peer: sign * self.mean(name, peer, metric), default="")


def main_metric(name: str) -> str:
    """What the contenders are judged by on this set."""
    return "rmse" if SETS[name].task == "regression" else "accuracy"
