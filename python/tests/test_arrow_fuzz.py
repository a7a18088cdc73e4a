"""Random damage to Arrow arrays ends with a table or with a ValueError, whatever the layout.

`make fuzz-arrow EXECUTIONS=1000000` runs longer. Each array follows from the seed and its number.
"""

from __future__ import annotations

import os
import random

import numpy as np
import pyarrow as pa
import pytest

from swarmwood import _core

EXECUTIONS = int(os.environ.get("ARROW_EXECUTIONS", "3000"))
SEED = int(os.environ.get("ARROW_SEED", "1"))
TEXT = b"abcdefghijklmnopqrstuvwxyz" * 4 + "äöü€".encode()
NUMBERS = [0, 1, 2, 7, 12, 13, 100, -1, -5, 2**31 - 1, -(2**31), 127, 255]
KINDS = [pa.int8(), pa.int32(), pa.int64(), pa.uint16(), pa.float32(), pa.float64(), pa.bool_()]


def bits(dice: random.Random, rows: int) -> pa.Buffer | None:
    """Make a bitmap of valid rows, or none."""
    if dice.random() < 0.5:
        return None
    return pa.py_buffer(dice.randbytes((rows + 15) // 8))


# An array and the words of its buffers that may be damaged afterwards, when nobody checks them.
Damageable = tuple[pa.Array, list[np.ndarray]]


def damage(dice: random.Random, memory: np.ndarray) -> None:
    """Overwrite some words.

    The last offset stays within the text: the interface passes no sizes of buffers, so that offsets
    that are consistent and too long cannot be recognized.
    """
    limits = np.iinfo(memory.dtype)
    for _ in range(dice.randrange(3)):
        if len(memory):
            number = dice.choice([*NUMBERS, dice.randrange(-10, len(TEXT) + 10)])
            memory[dice.randrange(len(memory))] = max(limits.min, min(limits.max, number))
    if len(memory):
        memory[-1] = min(memory[-1], len(TEXT))


def texts(dice: random.Random, rows: int) -> Damageable:
    """Make strings and their offsets."""
    large = dice.random() < 0.5
    cuts = sorted(dice.randrange(97) for _ in range(rows + 1))
    memory = np.array(cuts, dtype=np.int64 if large else np.int32)
    buffers = [bits(dice, rows), pa.py_buffer(memory), pa.py_buffer(TEXT)]
    kind = pa.large_string() if large else pa.string()
    return pa.Array.from_buffers(kind, rows, buffers), [memory]


def views(dice: random.Random, rows: int) -> Damageable:
    """Make string views."""
    memory = np.zeros(4 * rows, dtype=np.int32)
    for row in range(rows):
        length = dice.randrange(24)
        start = dice.randrange(40)
        head = int.from_bytes(TEXT[start : start + 4], "little", signed=True)
        memory[4 * row : 4 * row + 4] = [length, head, 0, start]
    buffers = [bits(dice, rows), pa.py_buffer(memory), pa.py_buffer(TEXT)]
    return pa.Array.from_buffers(pa.string_view(), rows, buffers), [memory]


def numbers(dice: random.Random, rows: int) -> Damageable:
    """Make numbers of any bits."""
    kind = dice.choice(KINDS)
    width = max(1, kind.bit_width // 8)
    values = pa.py_buffer(dice.randbytes(rows * width + 8))
    return pa.Array.from_buffers(kind, rows, [bits(dice, rows), values]), []


def categories(dice: random.Random, rows: int) -> Damageable:
    """Make codes and a dictionary."""
    levels, memories = dice.choice([texts, views, numbers])(dice, dice.randrange(1, 6))
    codes = np.array([dice.randrange(len(levels)) for _ in range(rows)], dtype=np.int8)
    array = pa.DictionaryArray.from_arrays(pa.array(codes), levels, safe=False)
    return array, [codes, *memories]


def array_of(number: int) -> pa.Array:
    """Make one array, perhaps a slice of it."""
    dice = random.Random(f"{SEED} {number}")
    rows = dice.randrange(0, 12)
    array, memories = dice.choice([texts, views, numbers, categories])(dice, rows)
    for memory in memories:
        damage(dice, memory)
    if rows > 1 and dice.random() < 0.3:
        array = array.slice(dice.randrange(rows), dice.randrange(rows))
    return array


def test_damaged_arrays_are_read_or_refused() -> None:
    accepted = refused = 0
    for number in range(EXECUTIONS):
        array = array_of(number)
        table = _core.Table(len(array))
        try:
            table.add_arrow(pa.chunked_array([array]).__arrow_c_stream__(), "column")
            accepted += 1
        except (ValueError, TypeError):
            refused += 1
        except BaseException as error:
            pytest.fail(f"seed {SEED}, array {number}: {error!r}")
    print(f"{accepted} arrays were accepted, {refused} refused")
    assert accepted > EXECUTIONS // 10
    assert refused > EXECUTIONS // 20
