"""Arrays and data frames of every kind give the same model; names and types are checked."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from swarmwood import GreedyBoostClassifier, GreedyBoostRegressor, SwarmTreeRegressor


def model_of(X, y=None):
    y = np.arange(len(X) if not hasattr(X, "num_rows") else X.num_rows) % 7 if y is None else y
    return GreedyBoostRegressor(n_estimators=5, n_jobs=1).fit(X, y)


@pytest.fixture
def numbers():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 100, (200, 3)).astype(np.float64)
    y = X[:, 0] + 10 * (X[:, 1] > 50)
    return X, y


@pytest.mark.parametrize(
    "dtype", ["f4", "f8", ">f8", "f2", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "longdouble"]
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_every_type_and_order(numbers, dtype, order):
    X, y = numbers
    want = model_of(X, y)
    got = model_of(np.asarray(X.astype(dtype), order=order), y)
    assert got._model.to_json() == want._model.to_json()
    np.testing.assert_array_equal(got.predict(X.astype(dtype)), want.predict(X))


def test_views_lists_and_read_only_arrays(numbers):
    X, y = numbers
    want = model_of(X, y)._model.to_json()
    wide = np.zeros((400, 6))
    wide[::2, ::2] = X
    locked = X.copy()
    locked.flags.writeable = False
    for same in (wide[::2, ::2], X[::-1][::-1], locked, X.tolist(), X.astype(object)):
        assert model_of(same, y)._model.to_json() == want


def mixed():
    """Numbers with gaps, whole numbers, texts with gaps, truth values."""
    rng = np.random.default_rng(5)
    size = rng.random(120)
    size[::9] = np.nan
    rooms = rng.integers(1, 6, 120)
    town = np.array(["York", "Bath", "Hull", "Ely"], dtype=object)[rng.integers(0, 4, 120)]
    town[::11] = None
    garden = rng.random(120) < 0.5
    y = np.nan_to_num(size, nan=0.3) + (town == "Bath") + 0.5 * garden + 0.1 * rooms
    return pd.DataFrame({"size": size, "rooms": rooms, "town": town, "garden": garden}), y


def frames():
    plain, _ = mixed()
    arrow = pa.table(
        {
            "size": pa.array([None if np.isnan(v) else v for v in plain["size"]], pa.float64()),
            "rooms": pa.array(plain["rooms"], pa.int16()),
            "town": pa.array([None if pd.isna(v) else v for v in plain["town"]], pa.string()),
            "garden": pa.array(plain["garden"], pa.bool_()),
        }
    )
    dictionary = arrow.set_column(2, "town", arrow["town"].dictionary_encode())
    chunks = pa.concat_tables(
        [dictionary.slice(0, 50), dictionary.slice(50, 3), dictionary.slice(53)]
    )
    nullable = plain.astype(
        {"size": "Float64", "rooms": "Int32", "town": "string", "garden": "boolean"}
    )
    polars = pl.from_arrow(arrow)
    return {
        "pandas category": plain.astype({"town": "category"}),
        "pandas odd category order": plain.assign(
            town=pd.Categorical(plain["town"], categories=["York", "Never", "Ely", "Hull", "Bath"])
        ),
        "pandas nullable": nullable,
        "pandas arrow": nullable.convert_dtypes(dtype_backend="pyarrow"),
        "pyarrow": arrow,
        "pyarrow dictionary": dictionary,
        "pyarrow pieces": chunks,
        "pyarrow large": arrow.set_column(2, "town", arrow["town"].cast(pa.large_string())),
        "pyarrow view": arrow.set_column(2, "town", arrow["town"].cast(pa.string_view())),
        "polars": polars,
        "polars categorical": polars.with_columns(pl.col("town").cast(pl.Categorical)),
        "polars slice": pl.concat([polars[:7], polars[7:]], rechunk=False),
    }


@pytest.mark.parametrize("kind", frames())
def test_data_frames_of_every_kind(kind):
    plain, y = mixed()
    want = model_of(plain, y)
    frame = frames()[kind]
    got = model_of(frame, y)
    assert got._model.to_json() == want._model.to_json()
    assert got._model.features[2] == ("town", ["Bath", "Ely", "Hull", "York"])
    assert got._model.features[3] == ("garden", ["false", "true"])
    np.testing.assert_array_equal(got.predict(frame), want.predict(plain))
    np.testing.assert_array_equal(want.predict(frame), want.predict(plain))
    assert list(got.feature_names_in_) == ["size", "rooms", "town", "garden"]


def test_numbers_as_categories():
    rng = np.random.default_rng(2)
    code = rng.integers(0, 5, 200)
    y = np.array([3.0, -1.0, 4.0, 1.0, -5.0])[code]
    X = np.column_stack([code, rng.random(200)])
    for choice in ([0], [True, False], [-2]):
        model = SwarmTreeRegressor(
            method="cart", min_samples_leaf=1, categorical_features=choice
        ).fit(X, y)
        assert model._model.features[0] == ("x0", ["0", "1", "2", "3", "4"])
        np.testing.assert_allclose(model.predict(X), y)
    frame = pd.DataFrame(X, columns=["code", "noise"]).astype({"code": int})
    by_name = GreedyBoostRegressor(categorical_features=["code"], n_estimators=3).fit(frame, y)
    assert by_name._model.features[0][1] == ["0", "1", "2", "3", "4"]
    np.testing.assert_array_equal(by_name.predict(frame), by_name.predict(pl.from_pandas(frame)))
    np.testing.assert_array_equal(by_name.predict(frame), by_name.predict(pa.table(frame)))
    for wrong, message in (
        (["nothing"], "no feature 'nothing'"),
        ([7], "no feature 7"),
        ([True], "a mask of 2"),
    ):
        with pytest.raises(ValueError, match=message):
            GreedyBoostRegressor(categorical_features=wrong).fit(X, y)


def test_unseen_levels_are_missing_with_a_warning():
    plain, y = mixed()
    model = model_of(plain, y)
    strange, gaps = plain.copy(), plain.copy()
    strange.loc[:3, "town"] = "Rome"
    gaps.loc[:3, "town"] = None
    with pytest.warns(
        UserWarning, match=r"'town': 4 cells hold a level that is not in the training data.*'Rome'"
    ):
        predicted = model.predict(strange)
    np.testing.assert_array_equal(predicted, model.predict(gaps))


def test_missing_values_have_a_side_of_their_own():
    X = np.array([[np.nan], [1.0], [2.0], [np.nan]] * 30)
    y = np.array([5.0, 1.0, 1.0, 5.0] * 30)
    model = GreedyBoostRegressor(n_estimators=60, learning_rate=0.5, reg_lambda=0.0).fit(X, y)
    np.testing.assert_allclose(model.predict([[np.nan], [1.5]]), [5.0, 1.0], atol=1e-3)


def test_feature_names_are_checked_as_in_scikit_learn():
    plain, y = mixed()
    model = model_of(plain, y)
    with pytest.raises(
        ValueError, match="feature names should match those that were passed during fit"
    ):
        model.predict(plain[["rooms", "size", "town", "garden"]])
    with pytest.raises(ValueError, match="Feature names unseen at fit time:\n- area"):
        model.predict(plain.rename(columns={"size": "area"}))
    X = plain[["size", "rooms"]]
    numbers = model_of(X, y)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        numbers.predict(X.to_numpy())
    with pytest.raises(
        ValueError, match="X has 3 features, but GreedyBoostRegressor is expecting 2 features"
    ):
        numbers.predict(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="Found array with 0 sample"):
        numbers.predict(X[:0])
    with pytest.raises(ValueError, match=r"column 'size': holds texts, but must hold numbers"):
        model.predict(plain.assign(size="large"))


def test_unreadable_inputs_are_refused():
    plain, y = mixed()
    with pytest.raises(TypeError, match=r"'when'.*neither a number"):
        model_of(plain.assign(when=pd.Timedelta("1D")), y)
    with pytest.raises(TypeError, match="'when' holds Arrow values of the type 't"):
        model_of(pa.table({"when": pa.array([0] * 120, pa.time32("s"))}), y)
    with pytest.raises(ValueError, match="Input y contains NaN"):
        model_of(plain, np.where(np.arange(120) == 3, np.nan, y))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model_of(plain, y[:100])
    with pytest.raises(ValueError, match="Unknown label type"):
        GreedyBoostClassifier().fit(plain, y)
    with pytest.raises(ValueError, match="only one class"):
        GreedyBoostClassifier().fit(plain, np.ones(120))
    with pytest.raises(ValueError, match=r"(?i)sample_weight|weights"):
        GreedyBoostRegressor().fit(plain, y, sample_weight=-np.ones(120))
    with pytest.raises(ValueError, match="unique column names"):
        model_of(plain[["size", "rooms", "rooms"]], y)
