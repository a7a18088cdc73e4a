"""How training goes on, for people who wait."""

from __future__ import annotations

import sys
import time
from typing import Any

#: Seconds between two lines where one cannot be written over the other.
PAUSE = 2.0

#: The same where it can.
BLINK = 0.1

WIDTH = 24


class Progress:
    """Writes the state of a run to standard error: a bar in terminals and notebooks, lines elsewhere."""

    def __init__(self) -> None:
        self._over = sys.stderr.isatty() or "ipykernel" in sys.modules
        self._next = 0.0
        self._open = False

    def __call__(self, event: dict[str, Any]) -> None:
        """Show a step, if enough time has gone by since the last."""
        now = time.monotonic()
        done = event["step"] >= event["steps"]
        if now < self._next and not done:
            return
        self._next = now + (BLINK if self._over else PAUSE)
        self._write(self._line(event))

    def _line(self, event: dict[str, Any]) -> str:
        share = min(event["step"] / max(event["steps"], 1), 1.0)
        filled = round(share * WIDTH)
        bar = "#" * filled + "." * (WIDTH - filled)
        told = [f"{event['stage']} [{bar}] {event['unit']} {event['step']} of {event['steps']}"]
        if event["best"] is not None:
            told.append(f"{event['measure']} {event['best']:.5g}")
        elif event["train"] is not None:
            told.append(f"loss {event['train']:.5g}")
        if event["valid"] is not None:
            told.append(f"validation {event['valid']:.5g}")
        if event["gain"] is not None:
            told.append(f"{100 * event['gain']:+.1f} % against greedy")
        told.append(f"{event['elapsed']:.1f} s")
        return "  ".join(told)

    def _write(self, line: str) -> None:
        sys.stderr.write(f"\r{line:<110}" if self._over else f"{line}\n")
        sys.stderr.flush()
        self._open = self._over

    def close(self) -> None:
        """End the line that was written over."""
        if self._open:
            sys.stderr.write("\n")
            sys.stderr.flush()
