"""The claims of Makino and Kita 2024, sections 4.4 and 4.5, and what our cells say about them."""

import math
from dataclasses import dataclass

import numpy as np

from evidence.tuning import SETS, task_of
from evidence.verdict import extent, pooled, verdict, verdict_of_equality
from evidence.xgboost_tuning import (
    OF_PAPER,
    SELECTION_SEEDS,
    TUNERS,
    Task,
    contender_of,
    selected_setting,
)
from paired import Gap
from table import number, render

MIN_SEEDS = 5
# Who takes the place of the algorithms: the libraries of the paper, or our engines.
LIBRARIES = {TUNERS[name].algorithm: name for name in OF_PAPER}
OURS = {tuner.algorithm: name for name, tuner in TUNERS.items() if tuner.library == "swarmwood"}
SSEOPT = ("SSEopt_nor", "SSEopt_rnk")


def select(task: str = "", search: str = "") -> tuple[Task, ...]:
    """Sets and ranges of the paper, all or those of a task and a range."""
    return tuple(
        (name, one)
        for name in SETS
        for one in "ab"
        if task in ("", task_of(name)) and search in ("", one)
    )


@dataclass(frozen=True)
class Claim:
    """The first algorithm has a higher score, or takes longer, than the second on some tasks; or
    `is_equal`: it is as good, or as fast."""

    text: str
    first: str
    second: str
    tasks: tuple[Task, ...]
    quantity: str = "score"
    is_equal: bool = False


def score_claims() -> list[Claim]:
    """Section 4.4, and the rank mutation of section 4.5."""
    claims = [
        Claim(f"{first} is better than {second}", first, second, select())
        for first in (*SSEOPT, "GBRT", "TPE")
        for second in ("Random", "CMA-ES")
    ]
    for sse in SSEOPT:
        for other in ("TPE", "GBRT"):
            text = f"classification, range A: {other} is better than {sse}"
            claims.append(Claim(text, other, sse, select("classification", "a")))
            text = f"classification, range B: {sse} is better than {other}"
            claims.append(Claim(text, sse, other, select("classification", "b")))
            text = f"regression, range A: {sse} is as good as {other}"
            tasks = select("regression", "a")
            claims.append(Claim(text, sse, other, tasks, is_equal=True))
        tasks = select("regression", "b")
        text = f"regression, range B: {sse} is as good as TPE"
        claims.append(Claim(text, sse, "TPE", tasks, is_equal=True))
        text = f"regression, range B: {sse} is better than GBRT"
        claims.append(Claim(text, sse, "GBRT", tasks))
    text = "regression, range B: TPE is better than GBRT"
    claims.append(Claim(text, "TPE", "GBRT", select("regression", "b")))
    text = "SSEopt_rnk is better than SSEopt_nor"
    claims.append(Claim(text, "SSEopt_rnk", "SSEopt_nor", select()))
    text = "SSEopt_rnk is better than SSEopt_nor on eeg_eye_state/B and wine_quality/A"
    tasks = (("eeg_eye_state", "b"), ("wine_quality", "a"))
    return [*claims, Claim(text, "SSEopt_rnk", "SSEopt_nor", tasks)]


def time_claims() -> list[Claim]:
    """Tables 6 and 8, as section 4.4 reads them."""
    large = tuple(task for task in select() if task[0] != "abalone")
    claims = [
        Claim(f"without abalone: {first} takes longer than {second}", first, second, large, "time")
        for first in (*SSEOPT, "GBRT", "TPE")
        for second in ("CMA-ES", "Random")
    ]
    for sse in SSEOPT:
        text = f"regression, range A: {sse} takes as long as TPE"
        tasks = select("regression", "a")
        claims.append(Claim(text, sse, "TPE", tasks, "time", is_equal=True))
        tasks = select("regression", "b")
        text = f"regression, range B: TPE takes longer than {sse}"
        claims.append(Claim(text, "TPE", sse, tasks, "time"))
        text = f"regression, range B: {sse} takes longer than GBRT"
        claims.append(Claim(text, sse, "GBRT", tasks, "time"))
    return claims


class Results:
    """The results of every tuner with its selected setting, on the seeds that did not select it."""

    def __init__(self, cells: dict, request) -> None:
        self.final: dict[tuple[Task, str], dict[int, dict]] = {}
        tasks = sorted({key[:2] for key in cells})
        for task in tasks:
            for tuner in TUNERS:
                setting = selected_setting(cells, request, task, tuner)
                contender = None if setting is None else contender_of(tuner, setting)
                found = {
                    seed: cell
                    for (*place, seed, name), cell in cells.items()
                    if (tuple(place), name) == (task, contender) and seed >= SELECTION_SEEDS
                }
                if found:
                    self.final[task, tuner] = found

    @property
    def tasks(self) -> list[Task]:
        return sorted({task for task, _ in self.final})

    @property
    def tuners(self) -> list[str]:
        return [name for name in TUNERS if any(tuner == name for _, tuner in self.final)]

    def of(self, task: Task, tuner: str) -> dict[int, dict]:
        """The cells by seed."""
        return self.final.get((task, tuner), {})

    def common(self, task: Task) -> list[int]:
        """The seeds of every tuner of a task: means over other seeds cannot be compared."""
        seeds = [set(found) for (one, _), found in self.final.items() if one == task]
        return sorted(set.intersection(*seeds)) if seeds else []

    def gap(self, task: Task, first: str, second: str, quantity: str) -> Gap:
        """By how much the first is higher, seed by seed: thousandths of a score, or per cent of
        time on a logarithmic scale."""
        one, other = self.of(task, first), self.of(task, second)
        measure = {"score": lambda cell: 1000 * cell["tuned"], "time": log_seconds}[quantity]
        seeds = sorted(set(one) & set(other))
        return Gap(np.array([measure(one[seed]) - measure(other[seed]) for seed in seeds]))


def seconds_of(cell: dict) -> float:
    """Processor time of a search: all of its fits, repeated ones too, and the engine."""
    return cell["fit_seconds"] + cell["engine_seconds"]


def log_seconds(cell: dict) -> float:
    return 100 * math.log(max(1e-9, seconds_of(cell)))


def judged(gaps: list[Gap], is_equal: bool) -> tuple[Gap, str]:
    """The pairs of all tasks together, and what they say, if there are enough of every task."""
    pairs = pooled(gaps)
    fewest = min((len(gap.each) for gap in gaps), default=0)
    if len(pairs.each) and fewest < MIN_SEEDS:
        return pairs, f"fewer than {MIN_SEEDS} seeds"
    return pairs, verdict_of_equality(pairs) if is_equal else verdict(pairs)


def told(gap: Gap, quantity: str) -> str:
    """A mean difference: thousandths of a score, or a ratio of times."""
    if not len(gap.each):
        return "-"
    if quantity == "score":
        return f"{gap.mean:+.2f}"
    return f"x {number(math.exp(gap.mean / 100), 3)}"


def claims_table(results: Results, claims: list[Claim]) -> str:
    """Every claim with the libraries of the paper and with our engines."""
    rows = []
    for claim in claims:
        row = [claim.text]
        pairs = [
            (names[claim.first], names[claim.second]) for names in (LIBRARIES, LIBRARIES | OURS)
        ]
        for place, (first, second) in enumerate(pairs):
            # SSEopt and random search are ours in both.
            if place and pairs[0] == pairs[1]:
                row += ["", "", "", ""]
                continue
            gaps = [results.gap(task, first, second, claim.quantity) for task in claim.tasks]
            gap, words = judged(gaps, claim.is_equal)
            row += [extent(gaps), told(gap, claim.quantity), gap.chance(), words]
        rows.append(row)
    header = ["seeds x tasks", "difference", "p", "verdict"]
    return render(["claim", *header, *(f"ours: {name}" for name in header)], rows)
