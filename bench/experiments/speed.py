"""How long does the same training take, at the same training loss, and how much memory and disk does it need?

All rows, 100 trees of 63 leaves grown leaf by leaf, equal regularisation. A peer starts from a float32 array in memory;
its time is its own binning plus training. Ours is the real binary on the same rows as CSV; its time is what it reports
for binning and training, and its memory is that of the whole process, reading included.
"""

import pandas as pd

from record import at, ratio, wide
from session import Session
from table import demand, number, render

SETS = {"covtype_2": None, "higgs": None}
CONTENDERS = ["swarmwood", "lightgbm", "xgboost", "catboost", "sklearn"]
HEADER = ["contender", "min s", "median s", "ratio of min", "ratio of median", "training loss"]
HEADER += ["peak MiB", "less imports", "ratio", "model MiB", "gzip MiB"]
TITLE = """## Training: time, loss, memory, model size

Seconds are binning plus training. Ratios are ours over theirs: below 1 we are faster or smaller. The memory ratio takes
our whole process over theirs less what it held before the data was loaded (interpreter and imported libraries).
"""


def run(session: Session) -> None:
    for dataset, at_most in session.sets(SETS):
        data, _ = session.prepare(dataset, at_most, seed=None)
        session.say(f"speed on {dataset.name}: {data.rows} rows, {data.features} features")
        for turn, threads, name in session.interleaved(CONTENDERS):
            shape = session.shape(dataset, data, growth="leaf", depth=0, leaves=63, threads=threads)
            score = data if turn == 0 else None  # the loss is the same in every round
            session.attempt(("speed", dataset.name, name, threads, turn), session.train, name, shape, data, score)


def tell(frame: pd.DataFrame) -> tuple[str, list[list[str]]]:
    parts, demands = [TITLE], []
    for dataset, rows in frame.groupby("dataset", sort=False):
        ours = {}
        for threads, group in rows.groupby("threads"):
            best, middle, loss = wide(group, "min"), wide(group, "median"), "logloss"
            loss = "logloss" if "logloss" in best else "rmse"
            parts.append(f"### {dataset}, {threads} thread(s)\n\n{table(best, middle, loss)}")
            ours[threads] = at(best, "swarmwood", "seconds.total")
            where = f"{dataset}, {threads} thread(s)"
            took = ratio(ours[threads], at(best, "lightgbm", "seconds.total"))
            demands.append(demand(f"{where}: time / LightGBM", took, "<=", 0.6))
            reached = ratio(at(best, "swarmwood", loss), at(best, "lightgbm", loss))
            demands.append(demand(f"{where}: training loss / LightGBM", reached, "<=", 1.01, 4))
            peak = ratio(at(middle, "swarmwood", "peak_bytes"), at(middle, "lightgbm", "added_bytes"))
            demands.append(demand(f"{where}: memory / LightGBM less imports", peak, "<=", 1))
        if {1, 2} <= ours.keys():
            demands.append(demand(f"{dataset}: 2 threads over 1", ratio(ours[1], ours[2]), ">=", 1.7))
    return "\n".join(parts), demands


def table(best: pd.DataFrame, middle: pd.DataFrame, loss: str) -> str:
    """One line a contender."""
    rows = []
    for name in best.index:
        low, mid, added = (at(t, name, q) for t, q in zip((best, middle, middle), TIMED, strict=True))
        mebi = [at(middle, name, quantity) / 2**20 for quantity in SIZES]
        rows.append([name, number(low), number(mid)])
        rows[-1] += [number(ratio(at(best, "swarmwood", "seconds.total"), low))]
        rows[-1] += [number(ratio(at(middle, "swarmwood", "seconds.total"), mid)), number(at(best, name, loss), 5)]
        rows[-1] += [number(mebi[0]), number(mebi[1])]
        rows[-1] += [number(ratio(at(middle, "swarmwood", "peak_bytes"), added)), number(mebi[2]), number(mebi[3])]
    return render(HEADER, rows)


TIMED = ("seconds.total", "seconds.total", "added_bytes")
SIZES = ("peak_bytes", "added_bytes", "model_bytes", "model_gzip_bytes")
