"""How long does the same training take, at the same training loss, and how much memory and disk
does it need?

All rows, 100 trees of 63 leaves grown leaf by leaf, equal regularisation. A peer starts from a
float32 array in memory; its time is its own binning plus training. Ours is the real binary on the
same rows as CSV; its time is what it reports for binning and training, and its memory is that of
the whole process, reading included.
"""

import pandas as pd

from record import at, ratio, wide
from session import Session
from table import demand, number, render

SETS = {"covtype_2": None, "higgs": None}
CONTENDERS = ["swarmwood", "lightgbm", "xgboost", "catboost", "sklearn"]
SECONDS = "seconds.total"
SIZES = ("peak_bytes", "added_bytes", "model_bytes", "model_gzip_bytes")
HEADER = ["contender", "min s", "median s", "ratio of min", "ratio of median", "training loss"]
HEADER += ["peak MiB", "less imports", "ratio", "model MiB", "gzip MiB"]
TITLE = """## Training: time, loss, memory, model size

Seconds are binning plus training. Ratios are ours over theirs: below 1 we are faster or smaller.
The memory ratio is our whole process over theirs without what it held before the data was loaded
(interpreter and imported libraries).
"""


def run(session: Session) -> None:
    for dataset, at_most in session.sets(SETS):
        data, _ = session.prepare(dataset, at_most, seed=None)
        session.say(f"speed on {dataset.name}: {data.rows} rows, {data.features} features")
        for turn, threads, name in session.interleaved(CONTENDERS):
            shape = session.shape(dataset, data, growth="leaf", depth=0, leaves=63, threads=threads)
            score = data if turn == 0 else None  # the loss is the same in every round
            session.attempt(
                ("speed", dataset.name, name, threads, turn),
                session.train,
                name,
                shape,
                data,
                score,
            )


def tell(frame: pd.DataFrame) -> tuple[str, list[list[str]]]:
    parts, demands = [TITLE], []
    for dataset, rows in frame.groupby("dataset", sort=False):
        ours = {}
        for threads, group in rows.groupby("threads"):
            best, middle = wide(group, "min"), wide(group, "median")
            loss = "logloss" if "logloss" in best else "rmse"
            where, count = f"{dataset}, {threads} thread(s)", at(best, best.index[0], "rows")
            parts.append(f"### {where}, {count:.0f} rows\n\n{table(best, middle, loss)}")
            ours[threads] = at(best, "swarmwood", SECONDS)
            took = ratio(ours[threads], at(best, "lightgbm", SECONDS))
            demands.append(demand(f"{where}: time / LightGBM", took, "<=", 0.6))
            reached = ratio(at(best, "swarmwood", loss), at(best, "lightgbm", loss))
            demands.append(demand(f"{where}: training loss / LightGBM", reached, "<=", 1.01, 4))
            for what, quantity in (("", "peak_bytes"), (" less its imports", "added_bytes")):
                peak = ratio(
                    at(middle, "swarmwood", "peak_bytes"), at(middle, "lightgbm", quantity)
                )
                demands.append(demand(f"{where}: peak memory / LightGBM{what}", peak, "<=", 1))
        if {1, 2} <= ours.keys():
            demands.append(
                demand(f"{dataset}: 2 threads over 1", ratio(ours[1], ours[2]), ">=", 1.7)
            )
        sums = rows.query("contender == 'swarmwood' and quantity == 'model_crc32'")["value"]
        if len(sums):
            demands.append(
                demand(f"{dataset}: different model files of ours", sums.nunique(), "<=", 1, 1)
            )
    return "\n".join(parts), demands


def table(best: pd.DataFrame, middle: pd.DataFrame, loss: str) -> str:
    """One line a contender."""
    ours_low, ours_mid = at(best, "swarmwood", SECONDS), at(middle, "swarmwood", SECONDS)
    ours_peak = at(middle, "swarmwood", "peak_bytes")
    rows = []
    for name in best.index:
        low, mid, reached = at(best, name, SECONDS), at(middle, name, SECONDS), at(best, name, loss)
        peak, added, model, packed = (at(middle, name, quantity) for quantity in SIZES)
        times = [low, mid, ratio(ours_low, low), ratio(ours_mid, mid)]
        sizes = [
            peak / 2**20,
            added / 2**20,
            ratio(ours_peak, added),
            model / 2**20,
            packed / 2**20,
        ]
        rows.append([name, *map(number, times), number(reached, 5), *map(number, sizes)])
    return render(HEADER, rows)
