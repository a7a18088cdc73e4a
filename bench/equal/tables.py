"""The tables of one size: the main metric, log loss and AUC, and the seconds it took."""

import math

from equal.compare import Results, main_metric
from equal.contenders import PEERS, SIZES
from table import number, render


def shown(metric: str, value: float) -> str:
    """Shares in percent, errors with four digits."""
    if not math.isfinite(value):
        return "-"
    return f"{100 * value:.2f}" if metric in ("accuracy", "auc") else number(value, 4)


def columns(results: Results, ours: str) -> list[str]:
    """Who stands in the main table: ours, our greedy, the peers, then whoever else was measured at
    this size."""
    first = [ours, "greedy", *PEERS]
    rest = [name for name in results.contenders() if name not in first]
    return [name for name in dict.fromkeys(first + rest) if name in results.contenders()]


def main_table(results: Results, size: str, ours: str) -> str:
    """Means over the splits, and ours against tuned greedy and against the best peer in
    hindsight."""
    names = columns(results, ours)
    rival = "rgf" if size == "192" else "best peer"
    rows = []
    for name in results.sets("regression", "binary", "multiclass"):
        metric = main_metric(name)
        best = "rgf" if size == "192" else results.best_peer(name, metric)
        most = max((results.splits(name, who) for who in names), default=0)
        splits = f"{results.splits(name, ours)}/{most}"
        line = [name, splits, *(shown(metric, results.mean(name, who, metric)) for who in names)]
        pairs = [(ours, "greedy"), (ours, best), ("greedy", best)]
        rows.append(
            [
                *line,
                best or "-",
                *(results.gap(name, one, other, metric).told() for one, other in pairs),
            ]
        )
    header = [
        "set",
        "splits",
        *names,
        "rival",
        f"{ours} / greedy",
        f"{ours} / {rival}",
        f"greedy / {rival}",
    ]
    return render(header, rows)


def loss_table(results: Results, ours: str) -> str:
    """Log loss and AUC where there are classes; tuned contenders with the setting chosen by log
    loss."""
    rows = []
    for name in results.sets("binary", "multiclass"):
        for metric in ("logloss", "auc"):
            best = results.best_peer(name, metric)
            names = [ours, "greedy", *PEERS]
            line = [
                f"{name} {metric}",
                *(shown(metric, results.mean(name, who, metric)) for who in names),
                best or "-",
            ]
            if any(cell != "-" for cell in line[1:-1]):
                gaps = (results.gap(name, ours, other, metric) for other in ("greedy", best))
                rows.append(line + [gap.told() for gap in gaps])
    header = ["set", ours, "greedy", *PEERS, "best peer", f"{ours} / greedy", f"{ours} / best peer"]
    return render(header, rows) if rows else ""


def seconds_table(results: Results, size: str, ours: str) -> str:
    """Seconds per split, including tuning."""
    names = columns(results, ours)
    sets = results.sets("regression", "binary", "multiclass")
    rows = [
        [name, *(number(results.mean(name, who, "seconds"), 2) for who in names)] for name in sets
    ]
    return render(["set", *names], rows)


def section(results: Results, size: str, ours: str, busy: bool) -> str:
    """Everything about one size; of a busy machine no seconds."""
    parts = [f"### {SIZES[size].title}\n", main_table(results, size, ours)]
    for title, text in [
        ("Log loss and AUC", loss_table(results, ours) if size != "192" else ""),
        ("Seconds per split, including tuning", "" if busy else seconds_table(results, size, ours)),
    ]:
        if text:
            parts += [f"{title}:\n", text]
    return "\n".join(parts)
