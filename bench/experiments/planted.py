"""Do XGBoost, LightGBM and ours give the answer that is known beforehand?

Small tables whose best tree can be written down: one tree, learning rate 1, so that a prediction is
the leaf value itself. Each case gives the expected prediction for every row; `error` is the largest
absolute difference.
"""

import csv
from dataclasses import dataclass

import numpy as np
import pandas as pd

import child
import datasets
from record import at, wide
from session import Session
from shape import Shape
from table import demand, number, render

CONTENDERS = ["swarmwood", "xgboost", "lightgbm"]
TOLERANCE = 1e-4


@dataclass(frozen=True)
class Case:
    """Features, target, the shape to train, and the prediction (value or probability) that must
    come out."""

    name: str
    x: np.ndarray
    y: np.ndarray
    expected: np.ndarray
    shape: Shape


def one_tree(
    task: str = "regression", depth: int = 1, l2: float = 0.0, weight: float = 1.0
) -> Shape:
    options = {
        "trees": 1,
        "learning_rate": 1.0,
        "depth": depth,
        "l2": l2,
        "min_child_weight": weight,
        "threads": 1,
    }
    return Shape(task=task, **options)


def newton(
    y: np.ndarray, leaf: np.ndarray, l2: float, start: float, hessian: float = 1.0
) -> np.ndarray:
    """start - G / (H + lambda) for every row, where the first prediction is the mean and every row
    has one hessian."""
    value = np.empty(len(y))
    for inside in (leaf, ~leaf):
        value[inside] = start + np.sum(y[inside] - y.mean()) / (hessian * inside.sum() + l2)
    return value


def cases() -> list[Case]:
    random = np.random.default_rng(7)
    x = np.column_stack([random.permutation(240) for _ in range(3)]).astype(np.float64)
    high, late = x[:, 1] >= 90, x[:, 2] >= 160
    step = np.where(high, 10.0, -2.0)
    # The interaction has a large main effect, so that the greedy root is on column 1 and both
    # children on column 2.
    cells = np.where(high, np.where(late, 40.0, 30.0), np.where(late, -20.0, -5.0))
    # Three rows far off tempt a split that a minimum child weight of 30 forbids; the planted step
    # is the best left.
    spiked = step + np.where(x[:, 0] >= 237, 60.0, 0.0)
    # Every fifth label is flipped, and none of the flipped ones lies beside the step.
    label = (high ^ (x[:, 1] % 5 == 2)).astype(np.int64)
    share = label.mean()
    odds = newton(label, high, 1.0, np.log(share / (1 - share)), share * (1 - share))
    holed = np.column_stack([x[:, 0], np.where(random.random(240) < 0.3, np.nan, x[:, 1])])
    sided = np.where(np.isnan(holed[:, 1]) | high, 10.0, -2.0)
    return [
        Case("one step", x, step, step, one_tree()),
        Case("two levels", x, cells, cells, one_tree(depth=2)),
        Case("lambda 5", x, step, newton(step, high, 5.0, step.mean()), one_tree(l2=5.0)),
        Case(
            "min child weight 30",
            x,
            spiked,
            newton(spiked, high, 0.0, spiked.mean()),
            one_tree(weight=30.0),
        ),
        Case("logistic Newton step", x, label, 1 / (1 + np.exp(-odds)), one_tree("binary", l2=1.0)),
        Case("missing values have a side", holed, sided, sided, one_tree()),
    ]


def error(session: Session, name: str, case: Case) -> dict[str, float]:
    """Train on the planted rows, predict the same rows, and take the largest difference from the
    known answer."""
    folder = session.scratch / "planted"
    frame = pd.DataFrame(case.x, columns=[f"x{column}" for column in range(case.x.shape[1])])
    data = datasets.write(
        frame, case.y, folder / case.name.replace(" ", "_"), 2 if case.shape.task == "binary" else 1
    )
    model, out = session.model(name, case.shape), folder / f"{name}.npy"
    if name == "swarmwood":
        child.train_ours(session.binary, case.shape, data, None, model)
        out = out.with_suffix(".csv")
        child.run(
            [session.binary, "predict", model, data.csv, "--quiet", "--json", "--out", out], 1
        )
        with out.open() as file:
            # The last column is the value, or the probability of the last class, which is class 1.
            found = np.array([float(row[-1]) for row in list(csv.reader(file))[1:]])
    else:
        child.peer("train", name, case.shape, train=data.npz, score=data.npz, model=model, raw=out)
        found = np.load(out).astype(np.float64)
        found = 1 / (1 + np.exp(-found)) if case.shape.task == "binary" else found
    return {"error": float(np.abs(found - case.expected).max())}


def run(session: Session) -> None:
    for case in cases():
        for name in CONTENDERS:
            if name in session.contenders:
                session.attempt(("planted", case.name, name, 1, 0), error, session, name, case)


def tell(frame: pd.DataFrame) -> tuple[str, list[list[str]]]:
    names, worst = list(frame["contender"].unique()), wide(frame, "max")
    rows = [
        [case, *(number(at(wide(group, "max"), name, "error"), 2) for name in names)]
        for case, group in frame.groupby("dataset", sort=False)
    ]
    demands = [
        demand(
            f"planted answers: largest error of {name}", at(worst, name, "error"), "<=", TOLERANCE
        )
        for name in names
    ]
    title = "## Planted answers\n\nLargest difference from the answer known beforehand.\n"
    return f"{title}\n{render(['case', *names], rows)}", demands
