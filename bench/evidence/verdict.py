"""What a claim is called, on every page: one definition, for one pair of contenders or several."""

from collections.abc import Iterable

import numpy as np

from paired import Gap

LEVEL = 0.05
CONFIRMED, CONTRADICTED = "confirmed", "contradicted"
NOT_CONFIRMED, NOT_MEASURED = "not confirmed", "not measured"
DEFINITION = """A claim is confirmed if the mean of its paired differences has the claimed direction
and p < .05, contradicted if the mean has the opposite direction and p < .05, and not confirmed
otherwise. Differences are paired by repetition (split or seed), and those of all sets that a claim
names are taken together; p is that of the two-sided Wilcoxon signed-rank test, not corrected for
multiple comparisons, and too small where pairs share training rows or a contender."""


def pooled(gaps: Iterable[Gap]) -> Gap:
    """The pairs of several gaps together."""
    return Gap(np.concatenate([np.array([]), *(gap.each for gap in gaps)]))


def verdict(gap: Gap) -> str:
    """What differences say of a claim; positive ones agree with it."""
    if not len(gap.each):
        return NOT_MEASURED
    if not gap.p_value < LEVEL or gap.mean == 0:
        return NOT_CONFIRMED
    return CONFIRMED if gap.mean > 0 else CONTRADICTED


def verdict_of_equality(gap: Gap) -> str:
    """A claim that two contenders are equal cannot be confirmed in this way, only contradicted."""
    known = verdict(gap)
    if known == NOT_MEASURED:
        return known
    return "no clear difference" if known == NOT_CONFIRMED else CONTRADICTED


def tally(gaps: Iterable[Gap]) -> tuple[int, int]:
    """For how many of several gaps the claim is confirmed and contradicted, each by itself."""
    words = [verdict(gap) for gap in gaps]
    return words.count(CONFIRMED), words.count(CONTRADICTED)


def extent(gaps: list[Gap]) -> str:
    """Repetitions times sets, as a table shows it."""
    counts = sorted({len(gap.each) for gap in gaps})
    told = "-".join(str(count) for count in dict.fromkeys((counts[0], counts[-1])))
    return f"{told} x {len(gaps)}"
