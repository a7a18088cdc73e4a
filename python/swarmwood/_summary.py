"""A short description of a fitted model for notebooks."""

from __future__ import annotations

import html
from typing import Any

import numpy as np

#: Features whose importances are shown.
SHOWN = 8

STYLE = (
    "font-family:system-ui,sans-serif;font-size:13px;line-height:1.45;max-width:42em;"
    "border:1px solid rgba(128,128,128,.35);border-radius:8px;padding:.7em 1em"
)


def summary_html(estimator: Any) -> str:
    """Return what the model is, how well it does, and which features it uses."""
    model = estimator._model
    lines = [
        f"<b>{html.escape(type(estimator).__name__)}</b> for {html.escape(model.target)}: "
        f"{_count(model.rounds, 'round')}, method {html.escape(model.method)}"
    ]
    lines += [line for line in (_metrics(estimator), _choice(estimator)) if line]
    return (
        f"<div style='{STYLE}'>{'<br>'.join(lines)}{_importances(estimator)}"
        "<div style='opacity:.65;margin-top:.5em'>model.report('report.html', X, y) writes the "
        "whole report.</div></div>"
    )


def _metrics(estimator: Any) -> str:
    parts = []
    for rows, name in (("training", "train_metrics_"), ("validation", "validation_metrics_")):
        metrics = getattr(estimator, name, None) or {}
        values = ", ".join(f"{html.escape(one)} {value:.4g}" for one, value in metrics.items())
        if values:
            parts.append(f"{rows} rows: {values}")
    return "<br>".join(parts)


def _choice(estimator: Any) -> str:
    report = getattr(estimator, "search_report_", None)
    if not report:
        return ""
    text = f"selected: {html.escape(report['selected'])}"
    gain = report.get("gain_over_greedy")
    if gain is not None and report["selected_by_search"]:
        text += f", {100 * gain:.1f} % lower cross-validated loss than the best greedy candidate"
    return f"{text} ({_count(len(report['candidates']), 'candidate')} compared)"


def _importances(estimator: Any) -> str:
    values = np.array([one[0] for one in estimator._model.importances()])
    total = values.sum()
    if not total > 0:
        return ""
    names = estimator._model_features()
    order = np.argsort(-values, kind="stable")[:SHOWN]
    rows = "".join(
        "<tr><td style='text-align:left;padding:1px 8px 1px 0'>"
        f"{html.escape(names[at])}</td><td style='width:14em;padding:1px 0'>"
        "<div style='background:#3f6fb5;height:.75em;"
        f"width:{100 * values[at] / values.max():.1f}%'>"
        f"</div></td><td style='text-align:right;padding:1px 0 1px 8px'>"
        f"{100 * values[at] / total:.1f} %</td></tr>"
        for at in order
        if values[at] > 0
    )
    return (
        "<table style='border:0;margin:.5em 0 0;font-size:12px'>"
        f"<caption style='text-align:left;opacity:.65'>importance by gain</caption>{rows}</table>"
    )


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
