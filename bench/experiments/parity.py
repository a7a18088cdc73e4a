"""Do we predict as well as the peers do?

200 trees, learning rate 0.1, depth 6, the same 80/20 splits for all: `--splits`, five unless more
are asked for. Every library keeps its own way to grow a tree and its own defaults for everything
else, ours included; LightGBM gets 63 leaves within depth 6. The yardstick is the mean of XGBoost,
LightGBM and CatBoost; scikit-learn is shown beside it. Libraries that meet the same split meet the
same luck, so the second table of a set compares them split by split, with the standard error of the
ratio.
"""

import math
import statistics

import pandas as pd

from metrics import LOWER_IS_BETTER
from record import at, ratio, spread, wide
from session import Session
from table import demand, number, render

SETS = {
    "wine_quality": None,
    "kc_house": None,
    "higgs": None,
    "covtype_2": 100_000,
    "covtype_7": 100_000,
}
GROWTHS = {
    "swarmwood depth": {"growth": "depth"},
    "swarmwood leaf": {"growth": "leaf", "leaves": 63},
    "swarmwood oblivious": {"growth": "oblivious"},
    "xgboost": {"growth": "depth"},
    "lightgbm": {"growth": "leaf", "leaves": 63},
    "catboost": {"growth": "oblivious"},
    "sklearn": {"growth": "leaf", "leaves": 63},
}
YARDSTICK = ["xgboost", "lightgbm", "catboost"]
OURS = "swarmwood depth"  # the default growth is the one that has to keep up
TOLERANCE = 0.005


def run(session: Session) -> None:
    threads = max(session.threads)
    for dataset, at_most in session.sets(SETS):
        for seed in range(session.splits):
            train, test = session.prepare(dataset, at_most, seed)
            session.say(f"parity on {dataset.name}, split {seed}: {train.rows} + {test.rows} rows")
            for label, growth in GROWTHS.items():
                name = label.split()[0]
                if name in session.contenders:
                    asked = {"trees": 200, "equal": False, "threads": threads} | growth
                    shape = session.shape(dataset, train, **asked)
                    place = ("parity", dataset.name, label, threads, seed)
                    session.attempt(place, session.train, name, shape, train, test)


def tell(frame: pd.DataFrame) -> tuple[str, list[list[str]]]:
    about = (
        "Means over the splits ± their standard error; `ratio` is over the mean of the three peers."
    )
    parts, demands = [f"## Test metrics\n\n{about}\n"], []
    for dataset, group in frame.groupby("dataset", sort=False):
        mean = wide(group, "mean")
        metrics = [metric for metric in LOWER_IS_BETTER if metric in mean.columns]
        peers = {
            metric: statistics.fmean(at(mean, peer, metric) for peer in YARDSTICK)
            for metric in metrics
        }
        rows = []
        for label in mean.index:
            rows.append([label])
            for metric in metrics:
                got = ratio(at(mean, label, metric), peers[metric])
                own = group[(group["contender"] == label) & (group["quantity"] == metric)]["value"]
                rows[-1] += [shown(*spread(own), 5), number(got, 4)]
                if label == OURS:
                    limit = (
                        ("<=", 1 + TOLERANCE) if LOWER_IS_BETTER[metric] else (">=", 1 - TOLERANCE)
                    )
                    demands.append(demand(f"{dataset}: {metric}, {label} / peers", got, *limit, 4))
        header = ["contender", *(title for metric in metrics for title in (metric, "ratio"))]
        count, splits = at(mean, mean.index[0], "rows"), group["round"].nunique()
        parts.append(
            f"### {dataset}, {count:.0f} training rows, {splits} split(s)\n\n{render(header, rows)}"
        )
        if splits > 1:
            parts.append(f"Ours over each peer, split by split:\n\n{paired(group, metrics)}")
    return "\n".join(parts), demands


def paired(group: pd.DataFrame, metrics: list[str]) -> str:
    """A table of our growths over each peer: the mean of the splits' ratios ± its standard
    error."""
    labels = list(group["contender"].unique())
    ours = [label for label in labels if label.startswith("swarmwood")]
    rows = []
    for metric in metrics:
        own = group[group["quantity"] == metric]
        by_split = own.pivot_table(index="round", columns="contender", values="value")
        for peer in (label for label in by_split.columns if label not in ours):
            ratios = [by_split[label] / by_split[peer] for label in ours]
            rows.append(
                [f"{metric} / {peer}", *(shown(*spread(column.dropna()), 4) for column in ratios)]
            )
    return render(["", *ours], rows)


def shown(mean: float, error: float, digits: int) -> str:
    """A mean with its standard error, if there is one."""
    return (
        number(mean, digits)
        if math.isnan(error)
        else f"{number(mean, digits)} ± {number(error, 2)}"
    )
