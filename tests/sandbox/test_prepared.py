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
NUMBERS = st.one_of(
    st.floats(),
    st.integers(-(1 << 63), (1 << 63) - 1),
    st.booleans(),
    st.text("ab\n\x00\u00e9\U0001f600", max_size=50),
)
ARRAYS = st_np.arrays(
    st.sampled_from(["f8", "i8", "?"]), st_np.array_shapes(min_dims=0, min_side=0, max_side=4)
)
VALUES = st.dictionaries(TEXTS, NUMBERS | ARRAYS, max_size=6)
GOOD = pack({"K": np.ones((2, 3)), "n": 3, "on": np.array([True, False]), "to": "left", "x": 0.5})


def same(a, b):
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b, a.dtype == float)
    return type(a) is type(b) and (a == b or (math.isnan(a) and math.isnan(b)))


@settings(deadline=None)
@given(VALUES)
def test_what_was_packed_comes_back(values):
    found = unpack(pack(values))

    assert found.keys() == values.keys()
    assert all(same(values[name], found[name]) for name in values)
    assert not any(v.flags.writeable for v in found.values() if isinstance(v, np.ndarray))


@settings(deadline=None)
@given(VALUES)
def test_equal_values_give_equal_bytes(values):
    turned = dict(reversed(list(values.items())))
    views = {
        n: np.asarray(v, order="F") if isinstance(v, np.ndarray) else v for n, v in turned.items()
    }
    assert pack(views) == pack(values) == pack(unpack(pack(values)))


def test_other_types_of_numbers_are_converted():
    values = {
        "a": np.float32(0.5),
        "b": np.int8(3),
        "c": np.arange(2, dtype="u1"),
        "d": np.bool_(1),
    }
    values["e"] = np.ones(2, ">f4")
    found = unpack(pack(values))
    assert (found["a"], found["b"], found["d"]) == (0.5, 3, True)
    assert (found["c"].dtype, found["e"].dtype) == (np.int64, np.float64)


def test_true_is_kept_whatever_its_byte():
    odd = np.array([2, 0], np.uint8).view(bool)
    assert unpack(pack({"x": odd}))["x"].tolist() == [True, False]


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


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_refused(data):
    assert reads_or_refuses(data) is None


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, len(GOOD) - 1),
    st.integers(0, 255),
    st.integers(0, len(GOOD)),
    st.binary(max_size=9),
)
def test_altered_bytes_are_refused_or_other_values(at, byte, cut, more):
    altered = bytearray(GOOD)
    altered[at] = byte
    for data in (bytes(altered), GOOD[:cut], GOOD[:cut] + more + GOOD[cut:]):
        found = reads_or_refuses(data)
        assert found is None or len(data) == len(GOOD)


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


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def prepare(data):\n    return {}\nclass Policy: pass", True),
        ("class Policy:\n    def prepare(self): pass", False),
        ("if True:\n    def prepare(data): pass", False),
        ("'''\ndef prepare(data): pass\n'''", False),
        ("def prepare(data:", False),
        ("def prepare(data): pass\nx = " + "(" * 10_000, False),
        ("def prepare(data): pass\n\x00", False),
        ("def prepared(data): pass", False),
    ],
)
def test_prepares_goes_by_what_stands_at_the_top_level(source, expected):
    assert prepares(source) is expected
