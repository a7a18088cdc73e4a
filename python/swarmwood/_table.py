"""Arrays and data frames as tables of the core, without copies of the numbers.

Arrays are read in place, whatever their memory order and dtype. pandas columns are converted by
their dtype; Polars, pyarrow and other libraries with Arrow support are read through the Arrow C
stream. Columns of dates and times are expanded by the core; times with a zone are read as
universal times. Sparse matrices are read as columns (CSC), and are never made dense as a whole:
cells that are not stored are zeros, and NaN is missing. Strings, categories and (in data frames)
booleans become categories; all else must be numerical.
"""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from swarmwood import _core
from swarmwood._errors import parameter_error

#: Data types that the core reads in place.
READABLE_DTYPES = {
    np.dtype(name) for name in ("f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?")
}


def is_frame(X: Any) -> bool:
    """Whether this is a data frame of pandas, Polars, pyarrow or another Arrow library."""
    return is_pandas(X) or hasattr(X, "__arrow_c_stream__")


def is_pandas(X: Any) -> bool:
    """Whether this is a pandas DataFrame; pandas need not be installed."""
    return (
        type(X).__module__.partition(".")[0] == "pandas"
        and hasattr(X, "iloc")
        and hasattr(X, "dtypes")
    )


def is_sparse(X: Any) -> bool:
    """Whether this is a sparse matrix or array of SciPy."""
    return hasattr(X, "tocsc")


def validated(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Validate X as scikit-learn does: shape, dtype, names and number of features."""
    if not reset and _is_plain(estimator, X):
        return X
    if not is_frame(X):
        return validate_data(
            estimator,
            X,
            reset=reset,
            accept_sparse="csc",
            dtype="numeric",
            ensure_all_finite=False,
        )
    if getattr(X, "shape", (1, 1))[0] == 0 or X.shape[1] == 0:
        what = "sample(s)" if X.shape[0] == 0 else "feature(s)"
        raise ValueError(
            f"Found array with 0 {what} (shape={X.shape}) while a minimum of 1 is required."
        )
    return validate_data(estimator, X, reset=reset, skip_check_array=True)


def _is_plain(estimator: Any, X: Any) -> bool:
    """Whether scikit-learn would return X as it is: an array of doubles of the right shape.

    Its validation takes longer than the prediction of one row.
    """
    return (
        type(X) is np.ndarray
        and X.dtype == np.float64
        and X.ndim == 2
        and X.shape[0] > 0
        and X.shape[1] == getattr(estimator, "n_features_in_", None)
        and not hasattr(estimator, "feature_names_in_")
    )


def table_of(X: Any, names: list[str], categorical: NDArray[np.bool_] | None = None) -> _core.Table:
    """Return a table of validated data; `categorical` marks numbers to read as categories."""
    table = _core.Table(X.shape[0])
    if is_pandas(X):
        for at, name in enumerate(names):
            _add_series(table, name, X.iloc[:, at])
    elif is_frame(X):
        _validate_arrow(X)
        table.add_arrow(X.__arrow_c_stream__())
    elif is_sparse(X):
        _add_sparse(table, names, X)
    else:
        table.add_matrix(names, readable(X))
    if categorical is not None:
        for index in np.flatnonzero(categorical).tolist():
            if not table.categorical[index]:
                table.set_codes(index, *_codes(_numbers_of(X, index)))
    return table


def add_targets(table: _core.Table, y: NDArray[Any], columns: list[str] | None) -> None:
    """Add the target; of several columns, all but the first as the last features."""
    if columns is None:
        table.set_target(readable(y))
        return
    table.set_target(readable(y[:, 0]))
    for at, name in enumerate(columns[1:], start=1):
        table.add_numbers(name, readable(y[:, at]))


def readable(values: NDArray[Any]) -> NDArray[Any]:
    """Return the array if the core can read it in place, else a copy of doubles."""
    native = values.dtype.isnative and values.dtype in READABLE_DTYPES
    return values if native else values.astype(np.float64)


def categorical_mask(choice: Any, names: list[str]) -> NDArray[np.bool_] | None:
    """Return the mask of the columns that `categorical_features` selects."""
    if choice is None or (isinstance(choice, str) and choice == "from_dtype"):
        return None
    selected = np.asarray(choice)
    if selected.dtype == bool:
        if selected.shape != (len(names),):
            message = f"expected a mask of {len(names)} features, got one of shape {selected.shape}"
            raise parameter_error("categorical_features", message)
        return selected
    mask = np.zeros(len(names), dtype=bool)
    for one in selected.ravel():
        if isinstance(one, str):
            if one not in names:
                raise parameter_error("categorical_features", f"there is no feature {str(one)!r}")
            mask[names.index(one)] = True
        elif -len(names) <= int(one) < len(names):
            mask[int(one)] = True
        else:
            message = f"there is no feature {one} among {len(names)}"
            raise parameter_error("categorical_features", message)
    return mask


def category_text(value: Any) -> str:
    """Return the text of a category or class label, as it would be read from a file."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (float, np.floating)):
        return str(int(value)) if float(value).is_integer() else repr(float(value))
    return str(value)


def _add_series(table: _core.Table, name: str, series: Any) -> None:
    dtype = series.dtype
    kind = getattr(dtype, "kind", "O")
    if hasattr(series, "cat"):
        texts = [category_text(category) for category in series.cat.categories]
        table.add_codes(name, series.cat.codes.to_numpy(), texts)
    elif type(dtype).__name__ == "ArrowDtype":
        # pyarrow is installed if there is such a column.
        values = series.array.__arrow_array__()
        _validate_arrow(values)
        table.add_arrow(values.__arrow_c_stream__(), name)
    elif kind == "b":
        codes = series.astype("Int8").fillna(-1).to_numpy(dtype=np.int8)
        table.add_codes(name, codes, ["false", "true"])
    elif kind in "iuf":
        plain = isinstance(dtype, np.dtype)
        values = series.to_numpy() if plain else series.to_numpy(dtype=np.float64, na_value=np.nan)
        table.add_numbers(name, readable(values))
    elif kind == "M":
        table.add_dates(name, _seconds(series))
    elif kind == "O":
        _add_objects(table, name, series)
    else:
        raise TypeError(
            f"column {name!r} has the type {dtype}, which is neither a number nor a "
            "string nor a category nor a date; convert the column or drop it"
        )


def _add_sparse(table: _core.Table, names: list[str], X: Any) -> None:
    """Add the columns of a CSC matrix; its rows must be in order and without duplicates."""
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    table.add_sparse(names, X.indptr, X.indices, readable(X.data))


def _validate_arrow(values: Any) -> None:
    """Let pyarrow validate its own tables: only it knows the sizes of their buffers."""
    if type(values).__module__.partition(".")[0] == "pyarrow" and hasattr(values, "validate"):
        values.validate(full=True)


def _add_objects(table: _core.Table, name: str, series: Any) -> None:
    codes, levels = series.factorize()
    has_text = [isinstance(level, (str, bool, np.bool_)) for level in levels]
    if any(has_text):
        table.add_codes(name, codes, [category_text(level) for level in levels])
        return
    if len(levels) > 0 and all(isinstance(level, date) for level in levels):
        import pandas as pd

        dates = pd.to_datetime(pd.Series(levels), utc=True)
        table.add_dates(name, np.append(_seconds(dates), np.nan)[codes])
        return
    # Numbers of dtype object; anything else raises as in scikit-learn.
    numbers = np.array([float(level) for level in levels] + [np.nan])
    table.add_numbers(name, numbers[codes])


def _seconds(series: Any) -> NDArray[np.float64]:
    """Return the seconds since the start of 1970 of a pandas series of datetimes."""
    if getattr(series.dtype, "tz", None) is not None:
        series = series.dt.tz_convert("UTC").dt.tz_localize(None)
    moments = series.to_numpy().astype("datetime64[us]")
    return np.where(np.isnat(moments), np.nan, moments.astype(np.int64) / 1e6)


def _numbers_of(X: Any, at: int) -> NDArray[np.float64]:
    if is_pandas(X):
        return np.asarray(X.iloc[:, at].to_numpy(dtype=np.float64, na_value=np.nan))
    if is_sparse(X):
        return np.asarray(X[:, [at]].toarray().ravel(), dtype=np.float64)
    if isinstance(X, np.ndarray):
        return X[:, at].astype(np.float64)
    column = X.column(at) if hasattr(X, "column") else X[:, at]
    return np.asarray(column.to_numpy(), dtype=np.float64)


def _codes(values: NDArray[np.float64]) -> tuple[NDArray[np.int64], list[str]]:
    levels, codes = np.unique(values, return_inverse=True)
    missing = np.isnan(levels)
    codes = np.where(missing[codes], -1, codes)
    return codes.astype(np.int64), [category_text(level) for level in levels[~missing]]
