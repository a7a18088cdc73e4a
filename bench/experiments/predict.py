"""How long does a batch take through the same shape of model?

100 oblivious trees of depth 6 against CatBoost; 100 trees of 63 leaves against XGBoost, LightGBM
and scikit-learn. The models are trained once on 80 % of the rows; the batch is the other 20 %,
repeated to at least 100,000 rows. Raw scores; loading and parsing excluded; `prepared` is a peer's
own container (CatBoost Pool, XGBoost DMatrix), built untimed. A peer reports the best of three
passes over rows that stay in memory; ours the best of three runs of the real binary, each of which
sees its rows for the first time, a chunk at a time.
"""

import math

import pandas as pd

from record import at, ratio, wide
from session import Session
from table import demand, number, render

SETS = {"covtype_2": None, "higgs": None}
BATCH = 100_000
GROWTHS = {
    "oblivious": (["swarmwood", "catboost"], {"growth": "oblivious", "depth": 6}),
    "leaf": (
        ["swarmwood", "xgboost", "lightgbm", "sklearn"],
        {"growth": "leaf", "depth": 0, "leaves": 63},
    ),
}
HEADER = ["contender", "min ms", "median ms", "million rows/s", "ratio of min", "ratio of median"]


def run(session: Session) -> None:
    for dataset, at_most in session.sets(SETS):
        train, test = session.prepare(
            dataset, at_most, seed=0, test_rows=min(BATCH, session.rows or BATCH)
        )
        for growth, (contenders, asked) in GROWTHS.items():
            label = f"{dataset.name} {growth}"
            session.say(f"predict on {label}: {test.rows} rows")
            shape = session.shape(dataset, train, threads=max(session.threads), **asked)
            trained = [
                name
                for name in contenders
                if name in session.contenders
                and session.attempt(
                    ("predict-train", label, name, shape.threads, 0),
                    session.train,
                    name,
                    shape,
                    train,
                    None,
                )
            ]
            for turn, threads, name in session.interleaved(trained):
                shape = session.shape(dataset, train, threads=threads, **asked)
                session.attempt(
                    ("predict", label, name, threads, turn), session.predict, name, shape, test
                )


def tell(frame: pd.DataFrame) -> tuple[str, list[list[str]]]:
    parts, demands = (
        ["## Batch prediction\n\nRatios are ours over theirs: below 1 we are faster.\n"],
        [],
    )
    for (dataset, threads), group in frame.groupby(["dataset", "threads"], sort=False):
        best, middle = wide(group, "min"), wide(group, "median")
        ours, ours_middle = (at(table, "swarmwood", "seconds.array") for table in (best, middle))
        rows, fastest = [], math.inf
        for name in best.index:
            for way in ("array", "prepared"):
                low, mid = (at(table, name, f"seconds.{way}") for table in (best, middle))
                if math.isfinite(low):
                    million = at(best, name, "rows") / low / 1e6
                    cells = [
                        low * 1e3,
                        mid * 1e3,
                        million,
                        ratio(ours, low),
                        ratio(ours_middle, mid),
                    ]
                    rows.append([f"{name} {way}", *map(number, cells)])
                    fastest = fastest if name == "swarmwood" else min(fastest, low)
        where = f"{dataset}, {threads} thread(s)"
        parts.append(
            f"### {where}, {at(best, best.index[0], 'rows'):.0f} rows\n\n{render(HEADER, rows)}"
        )
        demands.append(
            demand(f"{where}: prediction speed / fastest peer", ratio(fastest, ours), ">=", 2)
        )
    return "\n".join(parts), demands
