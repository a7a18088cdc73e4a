"""Columns of dates: every library gives the same model, which predicts raw columns."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from swarmwood import GreedyBoostRegressor


@pytest.fixture
def sales():
    rng = np.random.default_rng(4)
    start = np.datetime64("2023-01-02T00:00:00")
    at = start + rng.integers(0, 700 * 24, 300).astype("timedelta64[h]")
    y = at.astype("datetime64[M]").astype(int) % 12 + rng.random(300)
    frame = pd.DataFrame({"at": at.astype("datetime64[us]"), "a": rng.random(300)})
    return frame, y


def fitted(X, y):
    return GreedyBoostRegressor(n_estimators=20, n_jobs=1).fit(X, y)


def test_dates_become_features(sales):
    X, y = sales
    model = fitted(X, y)
    names = [name for name, _ in model._model.features]
    assert names == ["at.year", "at.month", "at.day_of_week", "at.hour", "at.elapsed", "a"]
    assert model.n_features_in_ == 2
    assert len(model.feature_importances_) == 6
    assert np.abs(model.predict(X) - y).mean() < 0.5
    hours = X["at"].dt.hour.to_numpy()
    reasons, _ = model.predict_reasons(X.iloc[:3])
    assert set(reasons.ravel()) <= set(names)
    assert hours.max() == 23


def test_every_library_gives_the_same_model(sales):
    X, y = sales
    want = fitted(X, y)._model.to_json()
    for same in (
        X.assign(at=X["at"].astype("datetime64[ns]")),
        X.assign(at=X["at"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")),
        X.assign(at=X["at"].astype(pd.ArrowDtype(pa.timestamp("ms")))),
        pa.table({"at": pa.array(X["at"], pa.timestamp("us")), "a": X["a"]}),
        pa.table({"at": pa.array(X["at"], pa.timestamp("ns", "UTC")), "a": X["a"]}),
        pl.DataFrame({"at": X["at"].to_list(), "a": X["a"].to_list()}),
    ):
        assert fitted(same, y)._model.to_json() == want


def test_days_and_objects_and_missing_values(sales):
    X, y = sales
    days = X.assign(at=X["at"].dt.date)
    model = fitted(days, y)
    assert isinstance(days["at"].iloc[0], datetime.date)
    assert "at.hour" not in [name for name, _ in model._model.features]
    arrow = pa.table({"at": pa.array(days["at"], pa.date32()), "a": X["a"]})
    assert fitted(arrow, y)._model.to_json() == model._model.to_json()
    gaps = X.copy()
    gaps.loc[::5, "at"] = pd.NaT
    assert np.isfinite(fitted(gaps, y).predict(gaps)).all()


def test_other_types_are_errors(sales):
    X, y = sales
    model = fitted(X, y)
    with pytest.raises(ValueError, match="column 'at': holds no dates"):
        model.predict(X.assign(at=1.0))
    plain = fitted(X[["a"]], y)
    with pytest.raises(ValueError, match="holds dates"):
        plain.predict(pd.DataFrame({"a": X["at"]}))


def test_files_and_frames_predict_the_same(sales, tmp_path):
    X, y = sales
    model = fitted(X, y)
    model.save_model(tmp_path / "m.json")
    read = GreedyBoostRegressor().load_model(tmp_path / "m.json")
    assert list(read.feature_names_in_) == ["at", "a"]
    np.testing.assert_array_equal(read.predict(X), model.predict(X))
