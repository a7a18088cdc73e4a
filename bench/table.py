"""Markdown tables: numbers with the digits they deserve, columns padded so that the raw text reads
as well."""

import math


def number(value: float, digits: int = 3) -> str:
    """Significant digits; a dash where nothing was measured."""
    if not math.isfinite(value):
        return "-"
    if value != 0 and abs(value) < 1e-3:
        return f"{value:.{digits - 1}e}"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value)))) if value else 0
    return f"{value:.{places}f}"


def demand(what: str, value: float, sense: str, limit: float, digits: int = 3) -> list[str]:
    """A row of the table of targets: what, measured value, target, and whether it is met."""
    kept = value <= limit if sense == "<=" else value >= limit
    verdict = ("met" if kept else "not met") if math.isfinite(value) else "not measured"
    return [what, number(value, digits), f"{sense} {limit:g}", verdict]


def render(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table; the first column is text and left-aligned, the others are right-aligned."""
    widths = [
        max(3, *(len(row[column]) for row in [header, *rows])) for column in range(len(header))
    ]

    def line(row: list[str]) -> str:
        right = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        return "| " + " | ".join([row[0].ljust(widths[0]), *right]) + " |"

    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join([line(header), line(rule), *(line(row) for row in rows)]) + "\n"
