"""The tables of the equal-size experiment: the main metric, log loss and AUC, and the published methods."""

import math

from equal.compare import Results, main_metric
from equal.contenders import PEERS, PUBLISHED, SIZES
from table import number, render

# Rao 2022, tables 9 and 10: accuracy, or RMSE in the unit of the target.
PAPER_METHODS = ("CART", "sklearn", "xgboost", "catboost", *PUBLISHED)
PAPER = {
    "banknote": (0.98, 0.99, 0.99, 0.98, 0.98, 0.99, 0.99),
    "wine_class": (0.70, 0.74, 0.74, 0.74, 0.74, 0.74, 0.75),
    "covtype_2": (0.88, 0.90, 0.90, 0.87, 0.86, 0.87, 0.88),
    "higgs": (0.68, 0.69, 0.69, 0.68, 0.65, 0.66, 0.69),
    "wine_red": (0.57, 0.56, 0.56, 0.63, 0.65, 0.68, 0.61),
    "kc_house": (1.89e5, 1.83e5, 1.77e5, 1.85e5, 2.04e5, 1.82e5, 1.76e5),
    "insurance": (4.24e3, 4.18e3, 4.33e3, 4.74e3, 4.13e3, 4.85e3, 4.21e3),
}


def shown(metric: str, value: float) -> str:
    """Shares in percent, errors with four digits."""
    if not math.isfinite(value):
        return "-"
    return f"{100 * value:.2f}" if metric in ("accuracy", "auc") else number(value, 4)


def columns(results: Results, ours: str) -> list[str]:
    """Who stands in the main table: ours, our greedy, the peers, then whoever else was measured at this size."""
    first = [ours, "greedy", *PEERS]
    rest = [name for name in results.contenders() if name not in first and name not in PUBLISHED]
    return [name for name in dict.fromkeys(first + rest) if name in results.contenders()]


def main_table(results: Results, size: str, ours: str) -> str:
    """Means over the splits, and ours against tuned greedy and against the best peer in hindsight."""
    names = columns(results, ours)
    rival = "rgf" if size == "192" else "best peer"
    rows = []
    for name in results.sets("regression", "binary", "multiclass"):
        metric = main_metric(name)
        best = "rgf" if size == "192" else results.best_peer(name, metric)
        splits = f"{results.splits(name, ours)}/{max((results.splits(name, who) for who in names), default=0)}"
        line = [name, splits, *(shown(metric, results.mean(name, who, metric)) for who in names)]
        pairs = [(ours, "greedy"), (ours, best), ("greedy", best)]
        rows.append([*line, best or "-", *(str(results.gap(name, one, other, metric)) for one, other in pairs)])
    header = ["set", "splits", *names, "rival", f"{ours} / greedy", f"{ours} / {rival}", f"greedy / {rival}"]
    return render(header, rows)


def loss_table(results: Results, ours: str) -> str:
    """Log loss and AUC where there are classes; tuned contenders with the setting chosen by log loss."""
    rows = []
    for name in results.sets("binary", "multiclass"):
        for metric in ("logloss", "auc"):
            best = results.best_peer(name, metric)
            names = [ours, "greedy", *PEERS]
            line = [f"{name} {metric}", *(shown(metric, results.mean(name, who, metric)) for who in names), best or "-"]
            if any(cell != "-" for cell in line[1:-1]):
                gaps = (results.gap(name, ours, other, metric) for other in ("greedy", best))
                rows.append(line + [str(gap) for gap in gaps])
    header = ["set", ours, "greedy", *PEERS, "best peer", f"{ours} / greedy", f"{ours} / best peer"]
    return render(header, rows) if rows else ""


def seconds_table(results: Results, size: str, ours: str) -> str:
    """Seconds of a split, tuning included; whoever was measured on a busy machine was slow."""
    names = columns(results, ours) + [name for name in PUBLISHED if name in results.contenders()]
    sets = results.sets("regression", "binary", "multiclass")
    rows = [[name, *(number(results.mean(name, who, "seconds"), 2) for who in names)] for name in sets]
    return render(["set", *names], rows)


def paper_table(results: Results) -> str:
    """The published methods on our splits, each with the paper's figure in brackets; empty if none was measured."""
    if not any(name in results.contenders() for name in PUBLISHED):
        return ""
    names = ("xgboost", "catboost", *PUBLISHED)
    rows = []
    for name in results.sets("regression", "binary"):
        metric = main_metric(name)
        paper = dict(zip(PAPER_METHODS, PAPER.get(name, (math.nan,) * len(PAPER_METHODS)), strict=True))
        means = {who: results.mean(name, who, metric) for who in names}
        line = [f"{shown(metric, means[who])} ({shown(metric, paper[who])})" for who in names]
        gaps = [str(results.gap(name, who, "greedy", metric)) for who in PUBLISHED]
        rows.append([name, *line, *gaps])
    return render(["set", *names, *(f"{name} / greedy" for name in PUBLISHED)], rows)


def section(results: Results, size: str, ours: str) -> str:
    """Everything about one size."""
    parts = [f"### {SIZES[size].title}\n", main_table(results, size, ours)]
    for title, text in [
        ("Log loss and AUC", loss_table(results, ours) if size != "192" else ""),
        ("The published methods, the paper's figures in brackets", paper_table(results)),
        ("Seconds a split, tuning included", seconds_table(results, size, ours)),
    ]:
        if text:
            parts += [f"{title}:\n", text]
    return "\n".join(parts)
