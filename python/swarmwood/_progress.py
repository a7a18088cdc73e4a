"""Progress of training: on standard error, and as a table when it is over."""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Seconds between two lines of a log.
LINE_INTERVAL = 2.0

#: Seconds between two updates of a progress bar.
BAR_INTERVAL = 0.1

#: Characters of a progress bar.
BAR_WIDTH = 24


class Progress:
    """Shows the progress of a run: a bar in terminals and notebooks, lines elsewhere."""

    def __init__(self) -> None:
        self._is_bar = sys.stderr.isatty() or "ipykernel" in sys.modules
        self._next = 0.0
        self._open = False

    def __call__(self, event: dict[str, Any]) -> None:
        """Show a step unless the last one was shown just before."""
        now = time.monotonic()
        is_last = event["step"] >= event["steps"]
        if now < self._next and not is_last:
            return
        self._next = now + (BAR_INTERVAL if self._is_bar else LINE_INTERVAL)
        self._write(self._line(event))

    def _line(self, event: dict[str, Any]) -> str:
        share = min(event["step"] / max(event["steps"], 1), 1.0)
        filled = round(share * BAR_WIDTH)
        bar = "#" * filled + "." * (BAR_WIDTH - filled)
        parts = [f"{event['stage']} [{bar}] {event['unit']} {event['step']} of {event['steps']}"]
        if event["best"] is not None:
            parts.append(f"{event['metric']} {event['best']:.5g}")
        elif event["train"] is not None:
            parts.append(f"loss {event['train']:.5g}")
        if event["valid"] is not None:
            parts.append(f"validation {event['valid']:.5g}")
        if event["gain"] is not None:
            parts.append(f"{100 * event['gain']:+.1f} % against greedy")
        parts.append(f"{event['elapsed']:.1f} s")
        return "  ".join(parts)

    def _write(self, line: str) -> None:
        sys.stderr.write(f"\r{line:<110}" if self._is_bar else f"{line}\n")
        sys.stderr.flush()
        self._open = self._is_bar

    def close(self) -> None:
        """End the line of the progress bar."""
        if self._open:
            sys.stderr.write("\n")
            sys.stderr.flush()


def search_history(events: dict[str, list[Any]]) -> dict[str, NDArray[Any]]:
    """Return the steps of a search, one array per column that the method reports."""
    steps = [at for at, metric in enumerate(events["metric"]) if metric is not None]
    columns: dict[str, NDArray[Any]] = {}
    for name in ("stage", "step", "steps", "metric"):
        columns[name] = np.array([events[name][at] for at in steps])
    for name in (
        "elapsed",
        "evaluations",
        "cache_hits",
        "best",
        "gain",
        "mean",
        "diversity",
        "evolutionary_factor",
        "alpha",
        "beta",
    ):
        values = np.array([events[name][at] for at in steps], dtype=np.float64)
        if not np.isnan(values).all():
            columns[name] = values
    return columns if steps else {}


def evaluations(
    events: dict[str, list[Any]], metric: str, others: int, targets: list[str]
) -> tuple[dict[str, dict[str, list[float]]], dict[str, list[int]]]:
    """Return the losses and metrics of a run by set of rows, and the rounds that have them.

    Of several sets of validation rows the last one decides; `others` are before it. Of several
    columns to predict each has sets of its own, such as `validation_0/price`.
    """
    watched = [
        [values[at] if at < len(values) else None for values in events["watched"]]
        for at in range(others)
    ]
    columns = [
        ("training", "loss", events["train"]),
        *((f"validation_{at}", metric, values) for at, values in enumerate(watched)),
        (f"validation_{others}", metric, events["valid"]),
    ]
    results: dict[str, dict[str, list[float]]] = {}
    rounds: dict[str, list[int]] = {}
    for name, measure, column in columns:
        for at, suffix in enumerate([f"/{target}" for target in targets] or [""]):
            # The training loss is not reported after every round.
            steps = [
                row
                for row, value in enumerate(column)
                if value is not None and events["column"][row] == at
            ]
            rounds[name + suffix] = [events["step"][row] for row in steps]
            if steps:
                results[name + suffix] = {measure: [column[row] for row in steps]}
    return results, rounds
