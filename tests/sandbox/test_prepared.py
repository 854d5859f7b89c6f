"""Values as bytes: what was packed comes back, and nothing else is taken for values."""

import json
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_np

from sandbox import pack, prepares, unpack
from sandbox.prepared import LIMIT

TEXTS = st.text("ab\u00e9\u4e2d_0", min_size=1, max_size=64)
WHOLE = st.integers(-(1 << 63), (1 << 63) - 1)
NUMBERS = st.floats() | WHOLE | st.booleans() | st.text("ab\n\x00\u00e9\U0001f600", max_size=50)
SHAPES = st_np.array_shapes(min_dims=0, min_side=0, max_side=4)
ARRAYS = st_np.arrays(st.sampled_from(["f8", "i8", "?"]), SHAPES)
VALUES = st.dictionaries(TEXTS, NUMBERS | ARRAYS, max_size=6)
GOOD = pack({"K": np.ones((2, 3)), "n": 3, "on": np.array([True, False]), "to": "left", "x": 0.5})


def same(a, b):
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b, a.dtype == float)
    return type(a) is type(b) and (a == b or (math.isnan(a) and math.isnan(b)))


@settings(deadline=None)
@given(VALUES)
def test_what_was_packed_comes_back_and_equal_values_are_equal_bytes(values):
    found = unpack(pack(values))
    arrays = [name for name, value in values.items() if isinstance(value, np.ndarray)]
    views = values | {name: np.asarray(values[name], order="F") for name in arrays}

    assert found.keys() == values.keys()
    assert all(same(values[name], found[name]) for name in values)
    assert not any(found[name].flags.writeable for name in arrays)
    assert pack(dict(reversed(views.items()))) == pack(values) == pack(found)


def test_other_types_of_numbers_are_converted():
    values = {"a": np.float32(0.5), "b": np.int8(3), "c": np.arange(2, dtype="u1")}
    values |= {"d": np.bool_(1), "e": np.ones(2, ">f4"), "f": np.array([2, 0], np.uint8).view(bool)}
    found = unpack(pack(values))
    assert (found["a"], found["b"], found["d"]) == (0.5, 3, True)
    assert (found["c"].dtype, found["e"].dtype) == (np.int64, np.float64)
    assert found["f"].tolist() == [True, False]  # true whatever its byte


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"x": None}, "class NoneType"),
        ({"x": 1 << 63}, "more than 64 bits"),
        ({"x": np.array([1 << 63], np.uint64)}, "more than 64 bits"),
        ({"x": np.uint64(1 << 63)}, "more than 64 bits"),
        ({"x": 1j}, "class complex"),
        ({"x": np.complex64(1)}, "no real number"),
        ({"x": np.array(["a"])}, "no real number"),
        ({"x": np.array([None])}, "no real number"),
        ({"x": np.zeros(2, [("a", float)])}, "no real number"),
        ({"x": np.ma.zeros(2)}, "class MaskedArray"),
        ({"x": "a" * 1001}, "1001 characters"),
        ({"x": "\ud800"}, "surrogates"),
        ({"": 1}, "the name"),
        ({"a" * 65: 1}, "the name"),
        ({"a\n": 1}, "the name"),
        ({1: 1}, "name is no string"),
        ({"x": np.zeros((1,) * 17)}, "16 dimensions"),
        ({"x": np.zeros(LIMIT // 8)}, "at most 4.2 MB"),
        ({"x": np.broadcast_to(0.0, 10**15)}, "at most 4.2 MB"),
        ({str(n): n for n in range(1001)}, "1001 values"),
    ],
    ids=str,
)
def test_what_cannot_be_kept_is_refused(values, why):
    with pytest.raises(ValueError, match=why):
        pack(values)


def reads_or_refuses(data):
    """Whatever was read is values of these types, in bytes of their own."""
    try:
        found = unpack(data)
    except ValueError:
        return None
    assert all(type(v) in (float, int, bool, str, np.ndarray) for v in found.values())
    assert unpack(pack(found)).keys() == found.keys()
    return found


@settings(max_examples=150, deadline=None)
@given(st.integers(0, len(GOOD) - 1), st.integers(0, 255), st.data())
def test_altered_bytes_are_refused_or_other_values_and_any_others_are_refused(at, byte, data):
    cut, more = data.draw(st.integers(0, len(GOOD))), data.draw(st.binary(max_size=300))
    altered = bytearray(GOOD)
    altered[at] = byte
    for made in (bytes(altered), GOOD[:cut], GOOD[:cut] + more + GOOD[cut:]):
        found = reads_or_refuses(made)
        assert found is None or len(made) == len(GOOD)
    assert reads_or_refuses(more) is None


HEADS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | st.sampled_from(["float64"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=3),
)


def forged(head, rest=b""):
    text = head if isinstance(head, bytes) else json.dumps(head, separators=(",", ":")).encode()
    start = b"values\x00\x01" + len(text).to_bytes(8, "little") + text
    return start + bytes(-len(start) % 64) + rest


@settings(deadline=None)
@given(HEADS, st.sampled_from([b"", bytes(64), b"\x02" * 64]))
@example([["a", "float64", [1 << 62, 4]]], b"")
@example([["a", "float64", [0, (1 << 63) - 1, (1 << 63) - 1]]], b"")
@example([["a", "float64", [-1, -8]]], bytes(64))
@example([["a", "float64", [True, 8]]], bytes(64))
@example([["a", "float64", [8]], ["a", "float64", [8]]], bytes(128))
@example([["b", "int", 1], ["a", "int", 1]], b"")
@example([["a", "int", True]], b"")
@example([["a", "object", 1]], b"")
@example([["a", "bool8", [64]]], b"\x02" * 64)
@example([["a", "float", 10**400]], b"")
def test_forged_heads_are_refused_or_values(head, rest):
    reads_or_refuses(forged(head, rest))


@pytest.mark.parametrize(
    "data",
    [
        forged(b"[" * 100_000),
        forged(b'[["a","int",' + b"9" * 5000 + b"]]"),
        forged(b'[["a","float",1e999]]'),
        forged(b'[["a","int",1],["a","int",2]]'),
        forged(b'[["a","bool8",[64]]]', b"\x02" * 64),
        forged(b'[["a","float64",[1]]]', bytes(8) + b"\x01" + bytes(55)),
        forged([[str(n), "int", n] for n in range(1001)]),
        forged([["a", "str", "x" * 1001]]),
        forged([["a", "str", "\ud800"]]),
        bytes(LIMIT + 64),
    ],
    ids=range(10),
)
def test_forgeries_that_come_close_are_refused(data):
    assert reads_or_refuses(data) is None


def test_prepares_goes_by_what_stands_at_the_top_level():
    assert prepares("def prepare(data):\n    return {}\nclass Policy: pass")
    for source in (
        "class Policy:\n    def prepare(self): pass",
        "if True:\n    def prepare(data): pass",
        "'''\ndef prepare(data): pass\n'''",
        "def prepare(data:",
        "def prepare(data): pass\nx = " + "(" * 10_000,
        "def prepare(data): pass\n\x00",
        "def prepared(data): pass",
    ):
        assert not prepares(source)
