"""Plots: their content, not only that they can be drawn."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

from swarmwood import (
    GreedyBoostClassifier,
    GreedyBoostRegressor,
    SwarmBoostClassifier,
    SwarmBoostRegressor,
    SwarmTreeClassifier,
    SwarmTreeRegressor,
    plot,
)

matplotlib = pytest.importorskip("matplotlib")
STUDY = Path(__file__).parents[2] / "crates" / "swarmwood" / "tests" / "formats" / "study-v1.jsonl"


@pytest.fixture(autouse=True)
def every_figure_can_be_rendered(monkeypatch):
    """Render each figure of a test, and check that pyplot has none of them."""
    figures = []
    figure = matplotlib.figure.Figure
    original = figure.__init__

    def recording(self, *args, **kwargs):
        figures.append(self)
        original(self, *args, **kwargs)

    monkeypatch.setattr(figure, "__init__", recording)
    yield
    for one in figures:
        one.savefig("/dev/null", format="png", dpi=50)
    assert (
        "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()
    )


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((240, 4)), columns=["size", "age", "weight", "idle"])
    X["kind"] = np.array(["red", "green", "blue"])[rng.integers(0, 3, 240)]
    y = np.where(X["size"] > 0.5, np.where(X["age"] > 0.3, "high", "middle"), "low")
    return X, y


def swarm(rows, seed=0, method="sgbdt-bins", **more):
    X, y = rows
    settings = {"n_estimators": 2, "max_depth": 2, "iterations": 6, "population": 12, "n_jobs": 1}
    return SwarmBoostClassifier(method=method, random_state=seed, **{**settings, **more}).fit(X, y)


def texts(ax):
    return [text.get_text() for text in ax.texts]


# -- searches


def test_convergence_is_the_history(rows):
    model = swarm(rows)
    ax = plot.convergence(model)
    (line,) = ax.lines
    np.testing.assert_array_equal(line.get_xdata(), model.search_history_["evaluations"])
    np.testing.assert_array_equal(line.get_ydata(), model.search_history_["best"])
    assert ax.get_xlabel() == "evaluations" and ax.get_ylabel() == "best accuracy"
    ax = plot.convergence(model, against="step", value="mean")
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), model.search_history_["step"])
    assert ax.get_xlabel() == "iteration"


def test_repetitions_are_a_mean_and_a_band(rows):
    runs = [swarm(rows, seed) for seed in range(3)]
    axis = matplotlib.figure.Figure().add_subplot()
    ax = plot.convergence({"bins": runs, "one": runs[0]}, ax=axis, against="step", band="range")
    assert ax is axis
    bests = np.array([run.search_history_["best"] for run in runs])
    np.testing.assert_allclose(ax.lines[0].get_ydata(), bests.mean(axis=0))
    assert [line.get_label() for line in ax.lines] == ["bins", "one"]
    (band,) = ax.collections
    edges = band.get_paths()[0].vertices[:, 1]
    assert edges.min() == bests.min() and edges.max() == bests.max()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["bins", "one"]
    with pytest.raises(ValueError, match="band: is 'wide'"):
        plot.convergence(runs, band="wide")


def test_runs_of_different_length_keep_their_last_value():
    from swarmwood.plot._style import aligned

    positions, values = aligned(
        [(np.array([1, 3]), np.array([5.0, 4.0])), (np.array([2]), np.array([9.0]))]
    )
    assert positions.tolist() == [1, 2, 3]
    np.testing.assert_array_equal(values, [[5, 5, 4], [np.nan, 9, 9]])


def test_a_search_beside_greedy_shows_both(rows):
    X, _ = rows
    y = np.where(X["size"] > 0.5, X["age"], X["weight"]) + 0.1 * X["idle"]
    model = SwarmBoostRegressor(n_estimators=3, max_leaves=6, n_jobs=1).fit(X, y)
    ax = plot.convergence(model)
    best, greedy = ax.lines
    history = model.search_history_
    assert best.get_ydata()[-1] == history["best"][-1] and (np.diff(best.get_ydata()) <= 0).all()
    assert greedy.get_label() == "greedy"
    assert best.get_ydata()[-1] == pytest.approx(greedy.get_ydata()[0] * (1 - history["gain"][-1]))
    assert len(plot.convergence(model, greedy=False).lines) == 1
    gain = plot.convergence(model, value="gain")
    assert gain.lines[0].get_ydata()[-1] == pytest.approx(100 * history["gain"][-1])


def test_diversity_and_coefficients(rows):
    model = swarm(rows, adaptive=True)
    history = model.search_history_
    ax = plot.diversity(model)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), history["diversity"])
    ax = plot.coefficients(model)
    for line, name in zip(ax.lines, ["evolutionary_factor", "alpha", "beta"], strict=True):
        np.testing.assert_array_equal(line.get_ydata(), history[name])
    figure = plot.search(model)
    assert [len(part.lines) for part in figure.axes] == [2, 1, 3]


def test_missing_data_of_a_model_is_an_error(rows):
    X, y = rows
    greedy = GreedyBoostClassifier(n_estimators=2, n_jobs=1).fit(X, y)
    for draw in (plot.convergence, plot.diversity, plot.coefficients, plot.search):
        with pytest.raises(
            ValueError, match="GreedyBoostClassifier has no search to plot: its method 'greedy'"
        ):
            draw(greedy)
        with pytest.raises(NotFittedError):
            draw(GreedyBoostClassifier())
    tree = SwarmTreeClassifier(max_leaves=4, budget=3, guard=False, n_jobs=1).fit(X, y)
    with pytest.raises(
        ValueError, match="'swarm-tree' reports no diversity of its search; it reports: best, mean"
    ):
        plot.diversity(tree)
    with pytest.raises(ValueError, match="reports no coefficients"):
        plot.coefficients(tree)
    with pytest.raises(ValueError, match="nothing to draw"):
        plot.convergence([])
    cart = SwarmTreeClassifier(method="cart", n_jobs=1).fit(X, y)
    with pytest.raises(ValueError, match="no losses to plot: its method 'cart'"):
        plot.learning_curve(cart)


# -- models


def test_importances_equal_those_of_the_model(rows):
    X, y = rows
    model = GreedyBoostClassifier(n_estimators=5, n_jobs=1).fit(X, y)
    ax = plot.importance(model, importance_type="splits", max_features=3)
    model.set_params(importance_type="splits")
    order = np.argsort(-model.feature_importances_, kind="stable")[:3][::-1]
    assert [label.get_text() for label in ax.get_yticklabels()] == [X.columns[at] for at in order]
    np.testing.assert_allclose(
        [bar.get_width() for bar in ax.patches], 100 * model.feature_importances_[order]
    )
    assert "2 features left out" in ax.get_xlabel()
    other = GreedyBoostClassifier(n_estimators=1, n_jobs=1).fit(X, y)
    both = plot.importance([model, other])
    assert len(both.patches) == 5 and len(both.collections) == 1
    with pytest.raises(ValueError, match="different features"):
        plot.importance(
            [model, GreedyBoostClassifier(n_estimators=1, n_jobs=1).fit(X[["size"]], y)]
        )
    with pytest.raises(ValueError, match="importance_type: is 'weight'"):
        plot.importance(model, importance_type="weight")


def test_learning_curves_are_the_losses(rows):
    X, y = rows
    model = GreedyBoostClassifier(
        n_estimators=30, early_stopping_rounds=3, eval_metric="logloss", n_jobs=1
    )
    model.fit(X[:160], y[:160], eval_set=(X[160:], y[160:]))
    ax = plot.learning_curve(model)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), model.evals_result_["training"]["loss"])
    np.testing.assert_array_equal(
        ax.lines[1].get_ydata(), model.evals_result_["validation_0"]["logloss"]
    )
    rounds = len(model.evals_result_["validation_0"]["logloss"])
    np.testing.assert_array_equal(ax.lines[1].get_xdata(), np.arange(1, rounds + 1))
    assert ax.lines[0].get_xdata()[0] >= 1 and ax.lines[0].get_xdata()[-1] <= rounds


def test_a_tree_is_drawn_completely(rows):
    X, y = rows
    model = SwarmTreeClassifier(max_leaves=3, n_jobs=1).fit(X[["size", "age", "kind"]], y)
    ax = plot.tree(model)
    labels = texts(ax)
    assert ax.get_title() == "Tree for target: 3 leaves, 240 training rows"
    assert {"size", "age", "high", "middle", "low"} <= set(labels)
    assert sum(text.startswith(("≤", ">")) for text in labels) == 4
    assert [labels.count(name) for name in ("high", "middle", "low")] == [2, 2, 2], (
        "legend and leaf"
    )
    row_counts = [int(text) for text in labels if text.isdigit()]
    assert sum(row_counts) == 240 and sorted(row_counts) == sorted(
        np.unique(y, return_counts=True)[1]
    )
    figure = ax.figure
    figure.canvas.draw()
    page = figure.bbox
    for text in ax.texts:
        box = text.get_window_extent()
        assert box.x0 >= -1 and box.x1 <= page.x1 + 1 and box.y0 >= -1 and box.y1 <= page.y1 + 1, (
            text.get_text()
        )


def test_trees_of_ensembles_and_constants(rows):
    X, y = rows
    model = GreedyBoostClassifier(n_estimators=2, max_depth=2, n_jobs=1).fit(X, y)
    axis = matplotlib.figure.Figure(figsize=(3, 2)).add_subplot()
    ax = plot.tree(model, tree=4, ax=axis)
    assert ax.get_title() == "Tree 4 of 6, for the score of low"
    values = [row for row in model._model.nodes() if row["tree"] == 4 and row["feature"] is None]
    assert [f"{row['gain']:.4g}" for row in values] == [
        text for text in texts(ax) if text in {f"{r['gain']:.4g}" for r in values}
    ]
    with pytest.raises(ValueError, match="there is no tree 6; the model has 6"):
        plot.tree(model, tree=6)
    with pytest.raises(ValueError, match="tree: is -1"):
        plot.tree(model, tree=-1)
    constant = SwarmTreeRegressor(min_samples_leaf=200, method="cart", n_jobs=1).fit(
        X, np.arange(240.0)
    )
    assert "119.5" in texts(plot.tree(constant))
    large = SwarmTreeRegressor(method="cart", prune="none", n_jobs=1).fit(
        X, np.random.default_rng(0).random(240)
    )
    with pytest.raises(ValueError, match="more than 200 is not readable"):
        plot.tree(large)


def mesh_of(ax):
    (mesh,) = [one for one in ax.collections if type(one).__name__ == "QuadMesh"]
    return mesh


def test_a_map_shows_the_predictions_of_the_model(rows):
    X, y = rows
    model = GreedyBoostClassifier(n_estimators=3, max_depth=2, n_jobs=1).fit(X, y)
    at = {"weight": 0.5, "idle": 0.5, "kind": "red"}
    ax = plot.decision_map(model, X, y, features=["size", "age"], at=at)
    mesh = mesh_of(ax)
    corners = mesh.get_coordinates()
    cells = np.asarray(mesh.get_array())
    middle = (corners[:-1, :-1] + corners[1:, 1:]) / 2
    grid = pd.DataFrame({"size": middle[..., 0].ravel(), "age": middle[..., 1].ravel()}).assign(
        **at
    )
    np.testing.assert_array_equal(
        model.classes_[cells.ravel().astype(int)], model.predict(grid[X.columns])
    )
    sample_count = sum(
        len(dots.get_offsets())
        for dots in ax.collections
        if type(dots).__name__ == "PathCollection"
    )
    assert sample_count == 240 and ax.get_xlabel() == "size" and ax.get_ylabel() == "age"
    with pytest.raises(ValueError, match=r"also uses .*; fix it with at="):
        plot.decision_map(model, features=["size", "kind"])
    with pytest.raises(ValueError, match="at: 'kind' has no level 'pink'"):
        plot.decision_map(model, X, at={"kind": "pink"}, features=["size", "age"])
    with pytest.raises(ValueError, match="the model has no feature 'sise'"):
        plot.decision_map(model, X, features=["sise", "age"])
    with pytest.raises(ValueError, match="two different ones"):
        plot.decision_map(model, X, features=[0, 0])
    with pytest.raises(ValueError, match="y: needs the samples X"):
        plot.decision_map(model, y=y, features=["size", "age"])


def test_rules_are_framed_where_they_apply(rows):
    X, y = rows
    model = SwarmTreeClassifier(max_leaves=3, n_jobs=1).fit(X[["size", "age"]], y)
    ax = plot.decision_map(model, X[["size", "age"]], y)
    rules = model.rules_["rules"]
    frames = {patch.get_gid(): patch for patch in ax.patches}
    assert set(frames) == {f"rule {number}" for number in range(1, len(rules) + 1)}
    for number, rule in enumerate(rules, start=1):
        frame = frames[f"rule {number}"]
        x, up = frame.get_x() + frame.get_width() / 2, frame.get_y() + frame.get_height() / 2
        names = [ax.get_xlabel(), ax.get_ylabel()]
        inside = pd.DataFrame({names[0]: [x], names[1]: [up]})[["size", "age"]]
        assert model.predict(inside)[0] == rule["prediction"]
    assert sorted(texts(ax)) == [str(number) for number in range(1, len(rules) + 1)]
    assert not plot.decision_map(model, X[["size", "age"]], rules=False).patches
    with pytest.raises(ValueError, match="only a single tree has rules"):
        boosted = GreedyBoostRegressor(n_estimators=1, n_jobs=1).fit(
            X[["size", "age"]], X["size"] + X["age"]
        )
        plot.decision_map(boosted, X[["size", "age"]], rules=True)


def test_a_map_of_a_category_and_of_numbers(rows):
    X, _ = rows
    target = np.where(X["kind"] == "red", 3.0, 0.0) + (X["size"] > 0.4)
    X = X[["kind", "size"]].copy()
    X.loc[::9, "size"] = np.nan
    model = SwarmTreeRegressor(max_leaves=4, n_jobs=1).fit(X, target)
    ax = plot.decision_map(model, X, target, features=["kind", "size"])
    assert [label.get_text() for label in ax.get_xticklabels()] == ["blue", "green", "red"]
    cells = np.asarray(mesh_of(ax).get_array())
    assert cells.shape[1] == 3 and cells[-1].argmax() == 2
    (dots,) = [one for one in ax.collections if type(one).__name__ == "PathCollection"]
    assert len(dots.get_offsets()) == X["size"].notna().sum()
    with pytest.raises(ValueError, match="uses only 'size'"):
        plot.decision_map(
            SwarmTreeRegressor(max_leaves=2, n_jobs=1).fit(X[["size"]], X["size"].fillna(0))
        )


# -- tunings


def trials(count=60):
    return [
        (
            {"depth": at % 4, "rate": 10.0 ** -(at % 5), "kind": "ab"[at % 2]}
            | ({"extra": at} if at % 2 else {}),
            at % 4 + 0.01 * at,
        )
        for at in range(count)
    ]


def test_history_of_pairs_of_a_search_and_of_a_file(rows):
    pairs = trials(20)
    ax = plot.tuning_history(pairs)
    values = [value for _, value in pairs]
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), np.minimum.accumulate(values))
    np.testing.assert_array_equal(ax.collections[0].get_offsets()[:, 1], values)
    up = plot.tuning_history(pairs, maximize=True)
    np.testing.assert_array_equal(up.lines[0].get_ydata(), np.maximum.accumulate(values))
    X, y = rows
    grid = GridSearchCV(
        GreedyBoostClassifier(n_estimators=2, n_jobs=1), {"max_depth": [1, 2, 3]}, cv=2
    ).fit(X, y)
    ax = plot.tuning_history(grid)
    assert ax.lines[0].get_ydata()[-1] == grid.best_score_ and ax.get_ylabel() == "score"
    ax = plot.tuning_history(STUDY)
    assert ax.get_ylabel() == "accuracy" and ax.lines[0].get_ydata()[0] == 0.5
    assert [one.get_label() for one in ax.collections] == ["trial", "pruned"]


def test_several_tunings_are_means(rows):
    runs = [trials(10), [({"depth": 1}, value) for value in (5.0, 1.0, 3.0)]]
    ax = plot.tuning_history({"a": runs, "b": runs[1]}, band="range")
    places = ax.lines[0].get_xdata()
    assert places.tolist() == list(range(1, 11))
    first = np.minimum.accumulate([value for _, value in runs[0]])
    second = np.array([5.0, *[1.0] * 9])
    np.testing.assert_allclose(ax.lines[0].get_ydata(), (first + second) / 2)
    np.testing.assert_allclose(ax.lines[1].get_ydata(), [5.0, 1.0, 1.0])


def test_parameter_importances_equal_those_of_the_core():
    ax = plot.tuning_importance(trials())
    names = [label.get_text() for label in ax.get_yticklabels()]
    widths = {name: bar.get_width() for name, bar in zip(names, ax.patches, strict=True)}
    assert (
        names[-1] == "depth"
        and widths["depth"] > 90
        and widths["rate"] < 10
        and 10 < widths["kind"] < 40
    )
    with pytest.raises(ValueError, match="importances cannot be computed"):
        plot.tuning_importance([({"depth": 1}, 2.0), ({"depth": 2}, 2.0)])


def test_slices_and_parallel_lines():
    pairs = trials()
    ax = plot.tuning_slice(pairs, "rate")
    assert ax.get_xscale() == "log" and ax.get_xlabel() == "rate"
    np.testing.assert_allclose(
        ax.collections[0].get_offsets()[:, 0], [values["rate"] for values, _ in pairs]
    )
    ax = plot.tuning_slice(pairs, "kind")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["a", "b"]
    with pytest.raises(ValueError, match="have no 'deep'; they have depth, rate, kind, extra"):
        plot.tuning_slice(pairs, "deep")
    figure = plot.tuning_slices(pairs)
    assert figure.axes[0].get_xlabel() == "depth" and len(figure.axes) == 4
    ax = plot.tuning_parallel(pairs)
    (lines,) = [one for one in ax.collections if len(one.get_paths()) == 60]
    assert [label.get_text() for label in ax.get_xticklabels()] == [
        "depth",
        "rate",
        "kind",
        "extra",
    ]
    heights = np.array([path.vertices[:, 1] for path in lines.get_paths()])
    # The worst trial comes first, the best last and once more, thick; where a parameter has no
    # value the line dives.
    worst = max(range(60), key=lambda at: pairs[at][1])
    assert heights[0][0] == 1.0 and pairs[worst][0]["depth"] == 3
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [0.0, 1.0, 0.0, -0.1])
    assert sum(heights[:, 3] < 0) == 30


def test_trials_that_cannot_be_drawn_are_refused(tmp_path):
    for wrong in (3, [1, 2], [("depth", 2)]):
        with pytest.raises(ValueError, match="expected the path of a study"):
            plot.tuning_parallel(wrong)
    with pytest.raises(ValueError, match="no trial was evaluated"):
        plot.tuning_history([({"depth": 1}, np.nan)])
    with pytest.raises(FileNotFoundError):
        plot.tuning_history(tmp_path / "none.jsonl")
    (tmp_path / "other.jsonl").write_text(json.dumps({"a": 1}))
    with pytest.raises(ValueError, match="is not a study"):
        plot.tuning_history(tmp_path / "other.jsonl")


def test_without_matplotlib_the_extra_is_named():
    code = "import sys; sys.modules['matplotlib'] = None\nimport swarmwood\nimport swarmwood.plot"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (
        "ImportError: swarmwood.plot needs matplotlib: pip install swarmwood[plot]" in result.stderr
    )


@pytest.mark.parametrize("module", ["", "._search", "._model", "._tree", "._map", "._tuning"])
def test_examples_of_the_docstrings_run(module, tmp_path):
    code = (
        "import doctest, importlib, sys\n"
        f"tested = importlib.import_module('swarmwood.plot{module}')\n"
        "sys.exit(doctest.testmod(tested).failed)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
