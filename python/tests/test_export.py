"""Exports, run by the programs and packages they are for and compared at every threshold.

The verification is the core's: it compares raw scores on both neighbours of every threshold, on
missing values and on new categories, and refuses to write an export that differs.
"""

import ast
import json
import os
import shutil
import subprocess
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import catboost
import lightgbm
import numpy as np
import pandas as pd
import pycparser
import pytest
import sqlglot
import xgboost

from swarmwood import GreedyBoostClassifier, GreedyBoostRegressor, SwarmTreeClassifier

FORMATS = {
    "c": {"format": "c"},
    "integers": {"format": "c", "integer": 16},
    "js": {"format": "js"},
    "python": {"format": "python"},
    "sqlite": {"format": "sql", "dialect": "sqlite"},
    "duckdb": {"format": "sql", "dialect": "duckdb"},
    "postgres": {"format": "sql", "dialect": "postgres"},
    "lightgbm": {"format": "lightgbm"},
    "onnx": {"format": "onnx"},
    "onnx columns": {"format": "onnx", "inputs": "columns"},
    "pmml": {"format": "pmml"},
    "xgboost": {"format": "xgboost"},
    "json": {"format": "json"},
}

#: Formats whose scores are rounded; the others give the same bits.
ROUNDED = {"integers", "xgboost"}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(5)
    X = pd.DataFrame({"size": rng.random(300), 'a"ge': rng.normal(size=300)})
    X.loc[::7, 'a"ge'] = np.nan
    X["town"] = pd.Categorical(rng.choice(["Ash", "O'Dell", "*/ \\ \n--", "µ"], 300))
    X.loc[::11, "town"] = np.nan
    y = 3 * X["size"] + (X['a"ge'] > 0.3) + 2 * (X["town"] == "Ash")
    return X, y.to_numpy() + rng.normal(size=300) / 5


@pytest.fixture(scope="module")
def models(frame, tmp_path_factory):
    """One fitted estimator of each kind, and models of other libraries."""
    return [*fitted(frame), *imported(frame, tmp_path_factory.mktemp("peers"))]


def fitted(frame):
    X, y = frame
    small = {"n_estimators": 5, "max_depth": 3, "n_jobs": 1}
    seven = pd.Series(np.digitize(y, np.quantile(y, np.arange(1, 7) / 7)).astype(str))
    yield "regression", GreedyBoostRegressor(**small).fit(X, y)
    yield "counts", GreedyBoostRegressor(**small, objective="poisson").fit(X, np.abs(y).round())
    yield "numbers only", GreedyBoostRegressor(**small).fit(X[["size"]], y)
    yield "binary", GreedyBoostClassifier(**small).fit(X, y > 2)
    yield "threshold", GreedyBoostClassifier(**small, threshold=0.3).fit(X, y > 2)
    yield "points", GreedyBoostClassifier(**small, points="0..100").fit(X, y > 2)
    yield "seven classes", GreedyBoostClassifier(**small).fit(X, seven)
    yield "single tree", SwarmTreeClassifier(method="cart", n_jobs=1).fit(X, y > 2)
    yield "linear", GreedyBoostRegressor(booster="gblinear", n_estimators=20, n_jobs=1).fit(X, y)


def imported(frame, tmp_path):
    """Models of other libraries, by their files."""
    X, y = frame
    numbers = X[["size", 'a"ge']].to_numpy()
    peer = xgboost.XGBRegressor(n_estimators=4, max_depth=3).fit(numbers, y)
    peer.save_model(tmp_path / "peer.json")
    yield "XGBoost", GreedyBoostRegressor().load_model(tmp_path / "peer.json")
    peer = catboost.CatBoostRegressor(iterations=4, depth=3, verbose=0, allow_writing_files=False)
    peer.fit(numbers, y).save_model(tmp_path / "peer.cat.json", format="json")
    yield "CatBoost", GreedyBoostRegressor().load_model(tmp_path / "peer.cat.json")
    codes = X.assign(town=X["town"].cat.codes)[["size", "town"]].to_numpy()
    data = lightgbm.Dataset(codes, y, categorical_feature=[1], params={"verbose": -1})
    booster = lightgbm.train({"num_leaves": 6, "verbose": -1, "min_data_per_group": 1}, data, 4)
    booster.save_model(tmp_path / "peer.txt")
    yield "LightGBM", GreedyBoostRegressor().load_model(tmp_path / "peer.txt")


#: Starting these packages takes a second, so that by default they run some kinds of models only.
SLOW = {"duckdb", "js", "lightgbm", "onnx", "onnx columns", "pmml", "postgres", "xgboost"}
SOME = {"seven classes", "threshold", "linear", "LightGBM"}
ALL = os.environ.get("SWARMWOOD_ALL_EXPORTS") == "1"


@pytest.mark.parametrize("name", FORMATS)
def test_every_kind_of_model_scores_as_here(name, models, tmp_path):
    for kind, model in models:
        if name in SLOW and kind not in SOME and not ALL:
            continue
        if kind == "linear" and name in ("integers", "lightgbm", "xgboost"):
            with pytest.raises(ValueError, match="linear"):
                model.export(tmp_path / "model", **FORMATS[name])
            continue
        report = model.export(tmp_path / "model", **FORMATS[name], verify_if_possible=True)
        if not report["verified"]:
            pytest.skip(report["reason"])
        assert report["rows"] > 10
        rounded = name in ROUNDED or (name == "pmml" and kind == "linear")
        assert report["raw_difference"] == 0 or rounded, kind
        assert (tmp_path / "model").exists()


BEGIN = "<!-- Differences, written by python/tests/test_export.py with UPDATE_GOLDEN=1 -->\n"
END = "<!-- End of differences -->\n"
DOCUMENT = Path(__file__).parents[2] / "docs" / "export.md"


def difference_cell(model, name, tmp_path):
    """Return the largest difference of raw scores as text."""
    try:
        report = model.export(tmp_path / "model", **FORMATS[name], verify=True)
    except ValueError as error:
        if "was not verified" in str(error):
            pytest.skip(str(error))
        return "-"
    worst = report["raw_difference"]
    return "0" if worst == 0 else f"{worst:.0e}".replace("e-0", "e-")


@pytest.mark.skipif(not ALL, reason="takes minutes; set SWARMWOOD_ALL_EXPORTS=1")
def test_the_table_of_differences_is_current(models, tmp_path):
    header = ["format", *(kind for kind, _ in models)]
    lines = [header, ["---"] * len(header)]
    for name in FORMATS:
        lines.append([name, *(difference_cell(model, name, tmp_path) for _, model in models)])
    table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    before, _, rest = DOCUMENT.read_text().partition(BEGIN)
    found, _, after = rest.partition(END)
    if os.environ.get("UPDATE_GOLDEN") == "1":
        DOCUMENT.write_text(before + BEGIN + table + END + after)
    else:
        assert found == table


def test_onnx_of_old_runtimes_is_rounded_to_32_bits(tmp_path):
    pytest.importorskip("onnxruntime")
    X = np.random.default_rng(1).random((200, 3))
    model = GreedyBoostRegressor(n_estimators=4, n_jobs=1).fit(X, X[:, 0] + X[:, 1])
    report = model.export(tmp_path / "model.onnx", opset=3, verify=True)
    assert 0 < report["raw_difference"] < 1e-6


def test_labels_of_onnx_are_numbers_if_all_classes_are(frame, tmp_path):
    onnx = pytest.importorskip("onnx")
    X, y = frame
    texts = np.array(["no", "yes"])[(y > 2).astype(int)]
    for target, element in (
        ((y > 2) * 7 - 3, onnx.TensorProto.INT64),
        (texts, onnx.TensorProto.STRING),
    ):
        model = GreedyBoostClassifier(n_estimators=2, n_jobs=1).fit(X, target)
        report = model.export(tmp_path / "model.onnx", verify_if_possible=True)
        label = onnx.load(tmp_path / "model.onnx").graph.output[0]
        assert label.name == "label" and label.type.tensor_type.elem_type == element
        assert not report["verified"] or report["raw_difference"] == 0


def test_formats_follow_the_extension_and_errors_list_them(frame, tmp_path):
    X, y = frame
    model = GreedyBoostRegressor(n_estimators=2, n_jobs=1).fit(X, y)
    assert [path.name for path in model.export(tmp_path / "m.c")["files"]] == ["m.c", "m.h"]
    with pytest.raises(ValueError, match="must be one of json, text, c"):
        model.export(tmp_path / "m.x", format="excel")
    with pytest.raises(ValueError, match="ansi, postgres, sqlite"):
        model.export(tmp_path / "m.sql", dialect="oracle")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.c", "m.h"]


def test_lightgbm_gives_the_same_contributions(frame, tmp_path):
    """TreeExplainer asks LightGBM; covers of the squared loss are counts, which it stores."""
    X, y = frame
    model = GreedyBoostRegressor(n_estimators=5, max_depth=3, n_jobs=1).fit(X, y)
    booster = model.to_lightgbm()
    codes = X.assign(town=X["town"].cat.codes.astype(float)).to_numpy()
    codes[codes[:, 2] < 0, 2] = np.nan
    ours = model._contributions(X)
    theirs = booster.predict(codes, pred_contrib=True)
    assert np.abs(ours.reshape(theirs.shape) - theirs).max() < 1e-9


def test_shap_explains_the_model(frame):
    shap = pytest.importorskip("shap")
    X, y = frame
    numbers = X[["size", 'a"ge']].to_numpy()
    model = GreedyBoostRegressor(n_estimators=5, max_depth=3, n_jobs=1).fit(numbers, y)
    values = shap.TreeExplainer(model.to_lightgbm()).shap_values(numbers)
    assert np.abs(model._contributions(numbers).reshape(-1, 3)[:, :2] - values).max() < 1e-9


HOSTILE = [
    '"; DROP TABLE input; --',
    "*/ int x; /*",
    "\\",
    "\\'; process.exit(1); '",
    "a\nb\r\u2028c",
    "${1}`]]>",
    "??/",
    "select",
    "__proto__",
    "µ→\u202e",
    "x" * 5000,
]


@pytest.fixture(scope="module")
def hostile_model():
    rng = np.random.default_rng(2)
    X = pd.DataFrame(rng.random((200, len(HOSTILE))), columns=HOSTILE)
    X["levels"] = pd.Categorical(rng.choice(HOSTILE, 200), categories=sorted(HOSTILE))
    z = X[HOSTILE[0]] + X[HOSTILE[4]] + 2 * X["levels"].isin(HOSTILE[:5])
    classes = np.array(HOSTILE[1:6])[np.digitize(z, [0.7, 1.4, 2.1, 2.8])]
    return GreedyBoostClassifier(n_estimators=3, max_depth=3, n_jobs=1).fit(X, classes)


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "integers"])
def test_hostile_names_stay_in_their_quotes(name, hostile_model, tmp_path):
    """The harnesses compare names, too; a name that leaves its quotes breaks its program."""
    report = hostile_model.export(tmp_path / "model", **FORMATS[name], verify_if_possible=True)
    if not report["verified"]:
        pytest.skip(report["reason"])
    assert report["raw_difference"] == 0 or name in ROUNDED


def test_hostile_names_are_what_parsers_read(hostile_model, tmp_path):
    """The names come back from parsers of the formats that have them as data."""
    names = [*HOSTILE, "levels"]

    hostile_model.export(tmp_path / "model.pmml")
    document = ElementTree.parse(tmp_path / "model.pmml")
    spaces = {"pmml": "http://www.dmg.org/PMML-4_4"}
    fields = document.findall("pmml:DataDictionary/pmml:DataField", spaces)
    assert [field.get("name") for field in fields] == [*names, "target"]
    levels = [value.get("value") for value in fields[-2].findall("pmml:Value", spaces)]
    assert sorted(levels) == sorted(HOSTILE)

    hostile_model.export(tmp_path / "model.xgb")
    learner = json.loads((tmp_path / "model.xgb").read_text())["learner"]
    assert len(learner["feature_names"]) == len(names)

    onnx = pytest.importorskip("onnx")
    hostile_model.export(tmp_path / "model.onnx", inputs="columns")
    graph = onnx.load(tmp_path / "model.onnx").graph
    assert [one.name for one in graph.input] == [f"x:{name}" for name in names]

    hostile_model.export(tmp_path / "model.py")
    tree = ast.parse((tmp_path / "model.py").read_text())
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    assert set(HOSTILE) <= texts


DIALECTS = ["ansi", "postgres", "sqlite", "duckdb", "mysql", "bigquery", "snowflake", "tsql"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_hostile_names_are_single_tokens_of_sql(dialect, hostile_model, tmp_path):
    """Also for databases that are not here to run the query."""
    hostile_model.export(tmp_path / "model.sql", dialect=dialect)
    with (tmp_path / "model.sql").open(newline="") as file:
        statements = sqlglot.parse(file.read(), read=None if dialect == "ansi" else dialect)
    assert [type(one) for one in statements] == [sqlglot.exp.Select]
    columns = {one.name for one in statements[0].find_all(sqlglot.exp.Identifier)}
    assert set(HOSTILE) <= columns
    texts = {one.this for one in statements[0].find_all(sqlglot.exp.Literal, sqlglot.exp.National)}
    assert set(HOSTILE[:6]) <= texts


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_hostile_names_are_single_strings_of_c(hostile_model, tmp_path):
    hostile_model.export(tmp_path / "model.c")
    command = ["gcc", "-std=c99", "-E", "-P", "model.c"]
    source = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)

    texts = set()

    class Strings(pycparser.c_ast.NodeVisitor):
        def visit_Constant(self, node):
            if node.type == "string":
                texts.add(ast.literal_eval(f"b{node.value}").decode())

    Strings().visit(pycparser.CParser().parse(source.stdout))
    # Compilers need not take strings of more than 4095 bytes; long names are lists of numbers.
    assert set(HOSTILE) - texts == {name for name in HOSTILE if len(name) > 1000}


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_hostile_names_are_single_strings_of_javascript(hostile_model, tmp_path):
    hostile_model.export(tmp_path / "model.mjs")
    script = "import * as m from './model.mjs'; console.log(JSON.stringify({...m}))"
    command = ["node", "--input-type=module", "-e", script]
    told = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    found = json.loads(told.stdout)
    assert [feature[0] for feature in found["features"]] == [*HOSTILE, "levels"]
    assert sorted(found["classes"]) == sorted(HOSTILE[1:6])


def test_names_that_xml_cannot_hold_are_refused(tmp_path):
    X = pd.DataFrame({"a\x01b": np.arange(50.0)})
    model = GreedyBoostRegressor(n_estimators=1, n_jobs=1).fit(X, np.arange(50.0))
    with pytest.raises(ValueError, match="XML has no form for"):
        model.export(tmp_path / "model.pmml")


def test_unverified_exports_are_not_written_unless_they_may_be(models, tmp_path):
    model = dict(models)["binary"]
    with pytest.raises(ValueError, match="verify_if_possible"):
        model.export(tmp_path / "model.txt", verify=True)
    assert not (tmp_path / "model.txt").exists()
    report = model.export(tmp_path / "model.txt", verify_if_possible=True)
    assert not report["verified"] and "not made to be run" in report["reason"]


def test_bundles_say_what_was_verified(models, tmp_path):
    report = dict(models)["seven classes"].export(tmp_path / "all.zip")
    formats = {one["format"]: one for one in report["formats"]}
    assert formats["python"]["verified"] and formats["python"]["raw_difference"] == 0
    with zipfile.ZipFile(tmp_path / "all.zip") as archive:
        assert archive.testzip() is None
        assert {"README.md", "vectors.csv", "verification.csv"} <= set(archive.namelist())


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_small_models_fit_into_four_kilobytes(tmp_path):
    X = np.random.default_rng(3).random((4000, 8))
    y = (X * np.arange(8)).sum(axis=1) + np.sin(9 * X[:, 0])
    model = GreedyBoostRegressor(n_estimators=6, max_leaves=32, growth="leaf", n_jobs=1).fit(X, y)
    report = model.export(tmp_path / "model.c", integer=8, verify=True)
    assert report["verified"]
    assert int(report["note"].split()[0]) <= 4096
    assert "double" not in (tmp_path / "model.c").read_text()


def test_an_export_as_json_is_the_model_file(frame, tmp_path):
    X, y = frame
    model = GreedyBoostRegressor(n_estimators=2, n_jobs=1).fit(X, y)
    model.export(tmp_path / "model.json")
    assert json.loads((tmp_path / "model.json").read_text()) == json.loads(model._model.to_json())
