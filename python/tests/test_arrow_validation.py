"""Arrow data with invalid offsets, views, codes or counts is refused, never followed."""

from __future__ import annotations

import ctypes
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest

from swarmwood import GreedyBoostRegressor, _core


class Array(ctypes.Structure):
    """The structure of the C data interface."""


Array._fields_ = [
    *((name, ctypes.c_int64) for name in ("length", "null_count", "offset")),
    *((name, ctypes.c_int64) for name in ("n_buffers", "n_children")),
    *((name, ctypes.c_void_p) for name in ("buffers", "children", "dictionary")),
    *((name, ctypes.c_void_p) for name in ("release", "private_data")),
]


class Schema(ctypes.Structure):
    """The structure of a type."""

    _fields_: ClassVar = [
        *((name, ctypes.c_char_p) for name in ("format", "name", "metadata")),
        *((name, ctypes.c_int64) for name in ("flags", "n_children")),
        *((name, ctypes.c_void_p) for name in ("children", "dictionary")),
        *((name, ctypes.c_void_p) for name in ("release", "private_data")),
    ]


Callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Stream(ctypes.Structure):
    """The structure of a stream."""

    _fields_: ClassVar = [
        ("get_schema", Callback),
        ("get_next", Callback),
        ("get_last_error", ctypes.c_void_p),
        ("release", Release),
        ("private_data", ctypes.c_void_p),
    ]


def import_structures(rows: int, schema: dict[str, Any], array: dict[str, Any]) -> None:
    """Import a stream of one hand-made array."""
    released = Release(lambda _: None)
    address = ctypes.cast(released, ctypes.c_void_p).value
    batches = [Array(release=address, **array), Array()]

    def get_schema(_: int, out: int) -> int:
        ctypes.memmove(out, ctypes.byref(Schema(release=address, **schema)), ctypes.sizeof(Schema))
        return 0

    def get_next(_: int, out: int) -> int:
        ctypes.memmove(out, ctypes.byref(batches.pop(0)), ctypes.sizeof(Array))
        return 0

    stream = Stream(Callback(get_schema), Callback(get_next), None, released, None)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    _core.Table(rows).add_arrow(new(ctypes.addressof(stream), b"arrow_array_stream", None), "x")


NUMBERS = (ctypes.c_double * 4)(1, 2, 3, 4)
BUFFERS = (ctypes.c_void_p * 2)(None, ctypes.addressof(NUMBERS))
VALID = {"length": 4, "n_buffers": 2, "buffers": ctypes.addressof(BUFFERS)}
NO_VALUES = (ctypes.c_void_p * 2)(None, None)
NO_CHILD = (ctypes.c_void_p * 1)(None)


@pytest.mark.parametrize(
    ("format", "change", "message"),
    [
        (b"g", {"length": -1}, "-1 values"),
        (b"g", {"offset": -1}, "from the index -1"),
        (b"g", {"offset": 2**62}, "from the index"),
        (b"g", {"null_count": 5}, "5 nulls among 4"),
        (b"g", {"null_count": 1}, "no bitmap"),
        (b"g", {"n_buffers": 1}, "1 buffers"),
        (b"g", {"n_buffers": -1}, "-1 buffers"),
        (b"g", {"buffers": None}, "2 buffers, which are missing"),
        (b"g", {"buffers": ctypes.addressof(NO_VALUES)}, "values are missing"),
        (b"g", {"n_children": 3}, "3 children, which are missing"),
        (b"+s", {"n_children": 1, "children": ctypes.addressof(NO_CHILD)}, "no child 0 of 1"),
        (b"u", {"n_buffers": 2}, "2 buffers, must have 3"),
        (b"vu", {"n_buffers": 2}, "2 buffers, must have 3"),
    ],
)
def test_counts_and_pointers_are_checked(
    format: bytes, change: dict[str, Any], message: str
) -> None:
    import_structures(4, {"format": b"g"}, VALID)
    with pytest.raises(ValueError, match=message):
        import_structures(4, {"format": format}, VALID | change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_children": 2}, "2 children, which are missing"),
        ({"n_children": -1}, "-1 children"),
        ({"n_children": 1, "children": ctypes.addressof(NO_CHILD)}, "no child 0 of 1"),
    ],
)
def test_schemas_are_checked(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        import_structures(4, {"format": b"+s"} | change, VALID)


def test_a_column_has_as_many_values_as_its_batch() -> None:
    schema = Schema(format=b"g", name=b"size")
    schemas = (ctypes.c_void_p * 1)(ctypes.addressof(schema))
    child = Array(**VALID)
    children = (ctypes.c_void_p * 1)(ctypes.addressof(child))
    nested = {"format": b"+s", "n_children": 1, "children": ctypes.addressof(schemas)}
    batch = {"n_buffers": 1, "buffers": ctypes.addressof(BUFFERS), "n_children": 1}
    batch["children"] = ctypes.addressof(children)
    import_structures(3, nested, batch | {"length": 3, "offset": 1})
    with pytest.raises(ValueError, match="column 'size': has 4 values, but its batch has 5 rows"):
        import_structures(4, nested, batch | {"length": 4, "offset": 1})
    with pytest.raises(ValueError, match="no column 0"):
        import_structures(4, nested, {"length": 4})


def add(array: pa.Array) -> _core.Table:
    """Import an array as it is, without the validation by pyarrow."""
    table = _core.Table(len(array))
    table.add_arrow(pa.chunked_array([array]).__arrow_c_stream__(), "text")
    return table


def texts(offsets: list[int], text: bytes, large: bool = False) -> pa.Array:
    """Make an array of strings and change its offsets afterwards, as nobody checks then."""
    kind = pa.large_string() if large else pa.string()
    memory = np.zeros(len(offsets), dtype=np.int64 if large else np.int32)
    buffers = [None, pa.py_buffer(memory), pa.py_buffer(text)]
    array = pa.Array.from_buffers(kind, len(offsets) - 1, buffers)
    memory[:] = offsets
    return array


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize(
    ("offsets", "message"),
    [
        ([0, 2_000_000_000, 4], "row 0"),
        ([0, 3, 2, 4], "row 1"),
        ([-5, 2, 4], "from byte -5"),
        ([0, -1, 4], "row 0"),
        ([4, 2, 0], "from byte 4 to byte 0"),
    ],
)
def test_offsets_are_checked(offsets: list[int], message: str, large: bool) -> None:
    with pytest.raises(ValueError, match=message):
        add(texts(offsets, b"abcd", large))


def test_text_must_be_utf8() -> None:
    with pytest.raises(ValueError, match=r"row 1.*UTF-8"):
        add(texts([0, 2, 4], b"ab\xff\xfe"))


def views(words: list[int], text: bytes) -> pa.Array:
    """Make an array of string views and change its views afterwards."""
    memory = np.zeros(len(words), dtype=np.int32)
    buffers = [None, pa.py_buffer(memory), pa.py_buffer(text)]
    array = pa.Array.from_buffers(pa.string_view(), len(words) // 4, buffers)
    memory[:] = words
    return array


@pytest.mark.parametrize(
    ("view", "message"),
    [
        ([20, 0, 0, 2_000_000_000], "20 bytes from byte 2000000000 of 24"),
        ([2_000_000_000, 0, 0, 0], "2000000000 bytes"),
        ([20, 0, 7, 0], "buffer 7 of 1"),
        ([20, 0, -1, 0], "buffer -1"),
        ([20, 0, 0, -3], "from byte -3"),
        ([-4, 0, 0, 0], "-4 bytes"),
    ],
)
def test_views_are_checked(view: list[int], message: str) -> None:
    text = b"abcdefghijklmnopqrstuvwx"
    assert add(views([20, 0, 0, 4], text)).rows == 1
    with pytest.raises(ValueError, match=message):
        add(views(view, text))


@pytest.mark.parametrize("code", [-1, 3, 100])
def test_codes_are_within_the_dictionary(code: int) -> None:
    codes = pa.array([0, code, 1], type=pa.int8())
    array = pa.DictionaryArray.from_arrays(codes, pa.array(["a", "b", "c"]), safe=False)
    with pytest.raises(ValueError, match=f"row 1: its code is {code}"):
        add(array)


def test_a_dictionary_is_checked_like_a_column() -> None:
    values = texts([0, 2_000_000_000, 4], b"abcd")
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), values, safe=False)
    with pytest.raises(ValueError, match="row 0"):
        add(array)


def test_pyarrow_validates_what_only_it_can_see() -> None:
    memory = np.array([0, 2, 4], dtype=np.int32)
    buffers = [None, pa.py_buffer(memory), pa.py_buffer(b"abcd")]
    table = pa.table({"town": pa.Array.from_buffers(pa.string(), 2, buffers), "size": [1.0, 2.0]})
    # Consistent offsets, but beyond the end of the text: the interface passes no sizes.
    memory[2] = 2_000_000_000
    with pytest.raises(ValueError, match="larger than values array"):
        GreedyBoostRegressor().fit(table, [1.0, 2.0])
