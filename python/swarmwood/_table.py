"""From arrays and data frames to tables of the core, without a copy of the numbers.

Arrays are lent as they lie, whatever their order and type. Of pandas every column is taken by its type; Polars, pyarrow
and everything else that speaks Arrow comes through its C stream. Texts, categories and, in data frames, truth values
become categories; all else must be numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from swarmwood import _core

#: Types of numbers that the core reads where they lie.
READ = {np.dtype(name) for name in ("f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?")}


def is_frame(X: Any) -> bool:
    """Whether a table has columns of its own types: pandas, Polars, pyarrow or another one that speaks Arrow."""
    return is_pandas(X) or hasattr(X, "__arrow_c_stream__")


def is_pandas(X: Any) -> bool:
    """Whether this is a data frame of pandas, which need not be installed."""
    return type(X).__module__.partition(".")[0] == "pandas" and hasattr(X, "iloc") and hasattr(X, "dtypes")


def checked(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Check a table as scikit-learn does: shape, type, names and number of features."""
    if not is_frame(X):
        return validate_data(estimator, X, reset=reset, dtype="numeric", ensure_all_finite=False)
    if getattr(X, "shape", (1, 1))[0] == 0 or X.shape[1] == 0:
        what = "sample(s)" if X.shape[0] == 0 else "feature(s)"
        raise ValueError(f"Found array with 0 {what} (shape={X.shape}) while a minimum of 1 is required.")
    return validate_data(estimator, X, reset=reset, skip_check_array=True)


def table_of(X: Any, names: list[str], categorical: NDArray[np.bool_] | None = None) -> _core.Table:
    """Lend a checked table to the core; `categorical` marks columns that are categories even if they hold numbers."""
    table = _core.Table(X.shape[0])
    if is_pandas(X):
        for at, name in enumerate(names):
            _add_series(table, name, X.iloc[:, at])
    elif is_frame(X):
        table.add_arrow(X.__arrow_c_stream__())
    else:
        table.add_matrix(names, readable(X))
    if categorical is not None:
        for at in np.flatnonzero(categorical).tolist():
            if not table.categorical[at]:
                table.set_codes(at, *_codes(_numbers_of(X, at)))
    return table


def readable(values: NDArray[Any]) -> NDArray[Any]:
    """Return the array itself if the core can read it, else one of doubles."""
    native = values.dtype.isnative and values.dtype in READ
    return values if native else values.astype(np.float64)


def mask_of(choice: Any, names: list[str]) -> NDArray[np.bool_] | None:
    """Return which columns a parameter `categorical_features` marks."""
    if choice is None or (isinstance(choice, str) and choice == "from_dtype"):
        return None
    marked = np.asarray(choice)
    if marked.dtype == bool:
        if marked.shape != (len(names),):
            raise ValueError(f"categorical_features: a mask of {len(names)} features is wanted, not {marked.shape}")
        return marked
    mask = np.zeros(len(names), dtype=bool)
    for one in marked.ravel():
        if isinstance(one, str):
            if one not in names:
                raise ValueError(f"categorical_features: there is no feature {str(one)!r}")
            mask[names.index(one)] = True
        elif -len(names) <= int(one) < len(names):
            mask[int(one)] = True
        else:
            raise ValueError(f"categorical_features: there is no feature {one} among {len(names)}")
    return mask


def spelled(value: Any) -> str:
    """Return the text of a category or class, as the command line would read it from a file."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (float, np.floating)):
        return str(int(value)) if float(value).is_integer() else repr(float(value))
    return str(value)


def _add_series(table: _core.Table, name: str, series: Any) -> None:
    dtype = series.dtype
    kind = getattr(dtype, "kind", "O")
    if hasattr(series, "cat"):
        texts = [spelled(category) for category in series.cat.categories]
        table.add_codes(name, series.cat.codes.to_numpy(), texts)
    elif type(dtype).__name__ == "ArrowDtype":
        # The chunks themselves: pandas lends them to pyarrow, which is there if such a column is.
        table.add_arrow(series.array.__arrow_array__().__arrow_c_stream__(), name)
    elif kind == "b":
        codes = series.astype("Int8").fillna(-1).to_numpy(dtype=np.int8)
        table.add_codes(name, codes, ["false", "true"])
    elif kind in "iuf":
        plain = isinstance(dtype, np.dtype)
        values = series.to_numpy() if plain else series.to_numpy(dtype=np.float64, na_value=np.nan)
        table.add_numbers(name, readable(values))
    elif kind == "O":
        _add_objects(table, name, series)
    else:
        raise TypeError(
            f"column {name!r} has the type {dtype}, which is neither a number nor a text nor a category; convert the "
            "column or leave it out"
        )


def _add_objects(table: _core.Table, name: str, series: Any) -> None:
    codes, levels = series.factorize()
    words = [isinstance(level, (str, bool, np.bool_)) for level in levels]
    if any(words):
        table.add_codes(name, codes, [spelled(level) for level in levels])
        return
    # Numbers that pandas keeps as objects; anything else is refused in scikit-learn's words.
    numbers = np.array([float(level) for level in levels] + [np.nan])
    table.add_numbers(name, numbers[codes])


def _numbers_of(X: Any, at: int) -> NDArray[np.float64]:
    if is_pandas(X):
        return np.asarray(X.iloc[:, at].to_numpy(dtype=np.float64, na_value=np.nan))
    if isinstance(X, np.ndarray):
        return X[:, at].astype(np.float64)
    column = X.column(at) if hasattr(X, "column") else X[:, at]
    return np.asarray(column.to_numpy(), dtype=np.float64)


def _codes(values: NDArray[np.float64]) -> tuple[NDArray[np.int64], list[str]]:
    levels, codes = np.unique(values, return_inverse=True)
    missing = np.isnan(levels)
    codes = np.where(missing[codes], -1, codes)
    return codes.astype(np.int64), [spelled(level) for level in levels[~missing]]
