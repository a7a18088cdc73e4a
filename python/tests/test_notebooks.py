"""Report pages, summaries for notebooks, one-row scorers, search reports, the command line."""

import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from swarmwood import (
    GreedyBoostClassifier,
    GreedyBoostRegressor,
    SwarmBoostClassifier,
    SwarmTreeClassifier,
    Tuner,
    plot,
)


@pytest.fixture
def iris():
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X, y.map({0: "setosa", 1: "versicolor", 2: "virginica"}).to_numpy()


def test_a_report_page_is_written(iris, tmp_path):
    X, y = iris
    model = SwarmTreeClassifier(max_leaves=4).fit(X, y)
    model.report(tmp_path / "plain.html")
    model.report(tmp_path / "rows.html", X, y, title="Iris <b>")
    page = (tmp_path / "rows.html").read_text(encoding="utf-8")
    assert "Iris &lt;b&gt;" in page and "accuracy" in page and "petal width" in page
    assert len((tmp_path / "plain.html").read_bytes()) < len(page.encode())
    with pytest.raises(ValueError, match="both are needed"):
        model.report(tmp_path / "x.html", X)
    with pytest.raises(ValueError, match="different numbers of rows"):
        model.report(tmp_path / "x.html", X, y[:5])
    assert not (tmp_path / "x.html").exists()


def test_rows_of_a_report_are_those_of_the_frame(tmp_path):
    X = pd.DataFrame(
        {
            "at": pd.date_range("2024-01-01", periods=60, freq="D"),
            "town": ["York", "Bath", None] * 20,
            "a": np.arange(60.0) / 7,
        }
    )
    y = X["a"].to_numpy() + X["at"].dt.month
    model = GreedyBoostRegressor(n_estimators=5).fit(X, y)
    model.report(tmp_path / "r.html", X, y)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "at.elapsed" in page and "York" in page


def test_notebooks_show_a_summary(iris):
    X, y = iris
    model = SwarmBoostClassifier(total_leaves=12, budget=150)
    assert "SwarmBoostClassifier" in model._repr_html_()
    model.fit(X, y)
    text = model._repr_html_()
    assert "petal" in text and "training rows" in text and "selected" in text
    assert model._repr_mimebundle_()["text/html"] == text
    hostile = GreedyBoostClassifier(n_estimators=2).fit(
        X.rename(columns={"petal width (cm)": "<script>"}), y
    )
    assert "<script>" not in hostile._repr_html_()


def test_the_search_report_says_what_was_chosen(iris):
    X, y = iris
    model = SwarmBoostClassifier(total_leaves=12, random_state=1).fit(X, y)
    report = model.search_report_
    assert report["selected"] and report["metric"] == "cross-validated loss"
    assert all(one["score"] >= 0 for one in report["candidates"])
    assert report["expected"]["selected"].keys() == report["expected"]["constant"].keys()
    tree = SwarmTreeClassifier().fit(X, y)
    assert {"name", "score", "standard_error"} <= tree.search_report_["candidates"][0].keys()
    assert GreedyBoostClassifier(n_estimators=2).fit(X, y).search_report_ is None


def test_scorers_predict_one_row_as_the_model_does(iris):
    X, y = iris
    for target in (y == "virginica", y):
        model = GreedyBoostClassifier(n_estimators=8).fit(X.to_numpy(), target)
        score = model.scorer()
        for row in X.to_numpy()[::7]:
            want = model.predict_proba(row.reshape(1, -1))[0]
            got = score(row)
            np.testing.assert_array_equal(got, want[1] if len(want) == 2 else want)
            assert score(list(row)) == got
    many = model.predict_proba(X.to_numpy())
    few = np.concatenate(
        [model.predict_proba(X.to_numpy()[at : at + 3]) for at in range(0, 150, 3)]
    )
    np.testing.assert_array_equal(many, few)
    with pytest.raises(ValueError, match="3 values, but the model has 4 features"):
        score([1.0, 2.0, 3.0])


def test_scorers_know_categories_and_refuse_dates():
    X = pd.DataFrame({"town": ["York", "Bath", None, "Hull"] * 20, "a": np.arange(80.0)})
    y = (X["town"] == "Bath") * 5.0 + X["a"]
    model = GreedyBoostRegressor(n_estimators=10).fit(X, y)
    score = model.scorer()
    for town, a in [("York", 3.0), ("Bath", 70.0), (None, 5.0), ("Ely", float("nan"))]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            want = model.predict(pd.DataFrame({"town": pd.Series([town], dtype=object), "a": [a]}))
        assert score([town, a]) == want[0]
    dates = pd.DataFrame({"d": pd.date_range("2024-01-01", periods=40)})
    dated = GreedyBoostRegressor(n_estimators=2).fit(dates, np.arange(40.0))
    with pytest.raises(ValueError, match="columns of dates"):
        dated.scorer()


def test_effects_and_waterfalls_are_drawn(iris, tmp_path):
    X, y = iris
    model = GreedyBoostClassifier(n_estimators=8).fit(X, y == "virginica")
    figure = plot.effects(model, X)
    assert next(ax.get_xlabel() for ax in figure.axes if ax.get_visible()).startswith("petal")
    figure.savefig(tmp_path / "effects.png")
    several = GreedyBoostClassifier(n_estimators=8).fit(X, y)
    plot.effects(several, X, [2, "petal width (cm)"], kind="partial").savefig(tmp_path / "e.png")
    ax = plot.waterfall(several, X.iloc[[0]], output=2, max_features=2)
    values = several.predict(X.iloc[[0]], pred_contribs=True)[0, 2]
    assert f"{values.sum():.4g}" in ax.get_xlabel()
    ax.figure.savefig(tmp_path / "w.png")
    with pytest.raises(ValueError, match="there is no feature 'x'"):
        plot.effects(model, X, ["x"])
    with pytest.raises(ValueError, match="must be one row"):
        plot.waterfall(model, X)


def test_a_tuner_describes_itself():
    tuner = Tuner({"x": (0.0, 1.0), "n": (1, 9)}, engine="random", seed=3)
    assert repr(tuner) == "Tuner(engine='random', seed=3, parameters=[x, n]; 0 of 0 trials told)"
    trial = tuner.ask()
    tuner.tell(trial, 0.25)
    assert repr(tuner).endswith("1 of 1 trials told, best 0.25)")


def test_the_command_line_comes_with_the_package(tmp_path):
    def run(*arguments):
        command = [sys.executable, "-m", "swarmwood", *arguments]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)

    assert run("--version").stdout.startswith("swarmwood ")
    trained = run("train", "--demo", "--method", "cart", "--out", "m.json")
    assert trained.returncode == 0, trained.stderr
    assert (tmp_path / "m.json").exists()
    failed = run("predict", "m.json", "absent.csv")
    assert failed.returncode == 2 and "absent.csv" in failed.stderr
