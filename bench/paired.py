"""Two contenders on the same splits: how much better the first is, how surely, and how often.
Positive is better.

The splits of a set overlap in their training rows, so that standard errors and p-values are on the
small side.
"""

import math
from dataclasses import dataclass

import numpy as np


def signed_rank(values: np.ndarray) -> float:
    """The share of all signs that these values may have whose sum of ranks lies as far from the
    middle, or farther.

    Sums are counted value by value, so that this is exact with ties and many values too, where
    scipy's `wilcoxon` goes through all signs or takes a normal distribution. Ranks of ties may be
    halves: all of them are doubled.
    """
    from scipy.stats import rankdata

    ranks = np.rint(2 * rankdata(np.abs(values))).astype(int)
    chances = np.zeros(ranks.sum() + 1)
    chances[0] = 1.0
    for rank in ranks:
        chances[rank:] = chances[rank:] + chances[:-rank]
        chances /= 2
    above = ranks[values > 0].sum()
    nearer = min(above, ranks.sum() - above)
    return min(1.0, float(2 * chances[: nearer + 1].sum()))


@dataclass(frozen=True)
class Gap:
    """The difference on each split that both were measured on."""

    each: np.ndarray

    @staticmethod
    def between(ours: dict[int, float], theirs: dict[int, float], lower_is_better: bool) -> "Gap":
        """From values by split: errors in percent of theirs, shares in points."""
        both = sorted(ours.keys() & theirs.keys())
        a, b = (np.array([found[split] for split in both]) for found in (ours, theirs))
        return Gap(100 * (1 - a / b) if lower_is_better else 100 * (a - b))

    @property
    def mean(self) -> float:
        return float(self.each.mean()) if len(self.each) else math.nan

    @property
    def error(self) -> float:
        """Standard error of the mean."""
        return (
            float(self.each.std(ddof=1) / math.sqrt(len(self.each)))
            if len(self.each) > 1
            else math.nan
        )

    @property
    def counts(self) -> tuple[int, int, int]:
        """On how many splits the first is better, equal and worse."""
        signs = np.sign(np.round(self.each, 9))
        return int((signs > 0).sum()), int((signs == 0).sum()), int((signs < 0).sum())

    @property
    def p_value(self) -> float:
        """Wilcoxon's signed-rank test, two-sided, equal splits left out; not a number where nothing
        was measured.

        Differences of shares are multiples of one row. They are rounded, so that equal ones get
        equal ranks.
        """
        moved = np.round(self.each, 9)
        return signed_rank(moved[moved != 0]) if len(moved) else math.nan

    @property
    def is_clear(self) -> bool:
        """Whether the mean lies more than two standard errors from zero."""
        return math.isfinite(self.error) and abs(self.mean) > 2 * self.error

    def record(self) -> str:
        """Wins, ties and losses."""
        return "-".join(map(str, self.counts)) if len(self.each) else "-"

    def chance(self) -> str:
        """The p-value as tables show it."""
        p = self.p_value
        return "-" if not math.isfinite(p) else f"{p:.3f}" if p >= 0.0005 else "<.001"

    def told(self) -> str:
        """Mean and its error, wins-ties-losses, and the p-value."""
        spread = f" ± {self.error:.2f}" if math.isfinite(self.error) else ""
        return (
            f"{self.mean:+.2f}{spread} ({self.record()}; {self.chance()})"
            if len(self.each)
            else "-"
        )

    def __str__(self) -> str:
        if not len(self.each):
            return "-"
        spread = f" ± {self.error:.2f}" if math.isfinite(self.error) else ""
        wins, _, losses = self.counts
        return f"{self.mean:+.2f}{spread} ({wins}-{losses})"


def mean_and_deviation(values: list[float]) -> tuple[float, float]:
    """The mean and the standard deviation, which one value alone does not have."""
    if not values:
        return math.nan, math.nan
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
