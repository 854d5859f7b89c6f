"""What a policy shows of its inner state: attributes that its class names."""

import struct

import numpy as np
import pytest
from acting import indented
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox import (
    Box,
    CompileError,
    Discrete,
    Episode,
    Interface,
    Limits,
    PolicyError,
)
from sandbox.frames import FrameError
from sandbox.tracing import MAX_CHARS, MAX_STEPS, MAX_STRINGS, Column, longest, pack, parse

INTERFACE = Interface(1, None, Discrete(2))


def policy(act, names='("phase",)', more=""):
    return f"""
from enum import Enum
class Phase(Enum):
    REACH = 1
class Policy:
    TRACE = {names}
    {more}
    def __init__(self):
        self.t = 0
    def act(self, obs):
        self.t += 1
{indented(act, 8)}
        return 0
"""


def traced(host, source, steps=3, **options):
    with host.policy(source, INTERFACE, **options) as running:
        running.begin(0, traced=True)
        for _ in range(steps):
            running.act(np.zeros(1))
        assert running.output == ""
        return running.trace()


INHERITED = """
class Base:
    TRACE = ["_x", "__y", "gain"]
    gain = 3
    def __init__(self):
        self._x, self.__y = 1, 2
class Policy(Base):
    def act(self, obs): return 0
"""
#: Hidden from the check of the declaration behind a class that is bound later.
PROPERTY = """
class Mixin:
    @property
    def speed(self):
        print("called")
        while True: pass
M = [Mixin]
class Policy(M[0]):
    TRACE = ("speed", "lies")
    def act(self, obs): return 0
"""
MOVED = "class Other:\n    __slots__ = ('phase',)\n" + policy("Policy.phase = Other.phase")
#: By what is shown: a program, the names that it traces, and what was sampled in three acts.
SAMPLED = {
    "after each act": (
        policy("self.phase = 'push' if self.t > 1 else 'reach'", '("phase", "t")'),
        {"phase": ("reach", "push", "push"), "t": (1, 2, 3)},
    ),
    "missing, and of changing types": (
        policy("self.phase = [1, 'two', None][self.t - 1]", '("phase", "gone")'),
        {"phase": (1, "two", None), "gone": (None,) * 3},
    ),
    "private and inherited": (INHERITED, {"_x": (1,) * 3, "__y": (2,) * 3, "gain": (3,) * 3}),
    "slots": (policy("self.phase = 4", more="__slots__ = ('t', 'phase')"), {"phase": (4,) * 3}),
    "no code of the program runs": (PROPERTY, {"speed": (None,) * 3, "lies": (None,) * 3}),
    "settings of its own": (
        policy("with np.errstate(all='ignore'): self.phase = 1"),
        {"phase": (1,) * 3},
    ),
    "a slot that comes to be of another class": (MOVED, {"phase": (None,) * 3}),
}


@pytest.mark.parametrize("what", SAMPLED)
def test_attributes_are_sampled(host, what):
    source, expected = SAMPLED[what]
    assert traced(host, source, limits=Limits(act_seconds=0.2)) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2", 2),
        ("True", True),
        ("np.float32(0.5)", 0.5),
        ("np.int64(7)", 7),
        ("np.bool_(False)", False),
        ("2**60", 2.0**60),
        ("float('inf')", float("inf")),
        ("'a\\tb\\n\\ud800'", "a\ufffdb\ufffd\ufffd"),
        ("''", ""),
        ("Phase.REACH", "REACH"),
        ("10**400", None),
        ("None", None),
        ("'x' * 25", None),
        ("'x' * 10**7", None),
        ("[1]", None),
        ("np.ones(3)", None),
        ("1j", None),
        ("self", None),
    ],
)
def test_only_numbers_and_short_strings_are_recorded(host, value, expected):
    (values,) = traced(host, policy(f"self.phase = {value}"), 1).values()
    assert values == (expected,)
    assert type(values[0]) is type(expected)


def test_strings_and_steps_beyond_a_limit_are_absent(host):
    (values,) = traced(host, policy("self.phase = f's{self.t}'"), MAX_STRINGS + 2).values()
    assert values[MAX_STRINGS - 1 :] == (f"s{MAX_STRINGS}", None, None)


@pytest.mark.slow
def test_a_very_long_episode_is_recorded_up_to_a_limit(host):
    (values,) = traced(host, policy("self.phase = self.t"), MAX_STEPS + 2).values()
    assert values[-3:] == (MAX_STEPS, None, None)


def test_each_episode_has_a_trace_of_its_own_if_it_is_asked_for(host):
    with host.policy(policy("self.phase = obs[0]"), INTERFACE) as running:
        for seen, how, expected in (
            ((0.0, 5.0), {"traced": True}, {"phase": (0.0, 5.0)}),
            ((0.0,), {"fresh": False}, {}),
            ((9.0,), {"fresh": False, "traced": True}, {"phase": (9.0,)}),
        ):
            running.begin(0, **how)
            for number in seen:
                running.act(np.full(1, number))
            assert running.trace() == expected
    with host.policy(policy("pass").replace("TRACE", "OTHER"), INTERFACE) as running:
        running.begin(0)
        asked = running.channel.sequence
        assert (running.may_trace, running.trace(), running.channel.sequence) == (False, {}, asked)


def test_what_was_done_is_the_same_with_and_without_a_trace(host):
    done = []
    for watched in (False, True):
        act = "self.phase = np.random.random(); return int(self.phase > 0.5)"
        with host.policy(policy(act), INTERFACE) as running:
            running.begin(3, traced=watched)
            done.append([running.act(np.zeros(1)).item() for _ in range(30)])
    assert done[0] == done[1]


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ("'phase'", "is a tuple of strings, written out"),
        ("(1,)", "is a tuple of strings, written out"),
        ("tuple('ab')", "is a tuple of strings, written out"),
        ("{'a': 1}", "is a tuple of strings, written out"),
        ("('self.t',)", "'self.t' in `TRACE` is no name of an attribute"),
        ("('__dict__',)", "is no name of an attribute"),
        ("('',)", "is no name of an attribute"),
        ("('\u01c0_hash',)", "is no name of an attribute"),
        ("('x' * 3,)", "is a tuple of strings, written out"),
        ("('t', 't')", "names an attribute twice"),
        ("('act',)", "`act` in `TRACE` is a method or a property"),
        (str(tuple("abcdefghi")), "names 9 attributes; at most 8"),
        (str(("x" * 41,)), "at most 40 characters"),
    ],
)
def test_a_declaration_that_is_none_is_refused_with_its_line(host, names, words):
    with pytest.raises(CompileError, match=r"write for example TRACE = \(") as caught:
        host.policy(policy("pass", names), INTERFACE)
    assert words in caught.value.message
    assert caught.value.line == 6


#: A slot of another class, which a declaration over several lines names.
ANOTHER = """
class Other:
    __slots__ = ("phase", "_hidden")
class Policy:
    phase, _mine, t = Other.phase, Other._hidden, 1
    TRACE = (
        "t",
        "NAME",
    )
    def act(self, obs): return 0
"""


@pytest.mark.parametrize("name", ["phase", "_mine"])
@pytest.mark.parametrize("watched", [True, False])
def test_a_slot_of_another_class_is_an_error_with_the_line(host, name, watched):
    words = f"^line 6: `{name}` in `TRACE` is a slot of class Other"
    running = host.policy(ANOTHER.replace("NAME", name), INTERFACE)
    with running, pytest.raises(PolicyError, match=words) as caught:
        running.begin(0, traced=watched)
    assert caught.value.line == 6


def test_a_feedback_class_gets_lists_and_none_for_what_was_not_traced(host):
    body = 'return f\'{traj.trace} {traj.trace["other"]} {"phase" in traj.trace}\''
    source = f"class Feedback:\n    def summarize_trajectory(self, traj): {body}"
    trace = {"phase": ("reach", None), "n": (1, 2.5)}
    with host.summarizer(source, Interface(1, None, Box((1,)))) as summarizer:
        several = [summarizer.summarize(episode(given)) for given in (trace, {})]
    assert several[0] == "{'phase': ['reach', None], 'n': [1, 2.5]} [None, None] True"
    assert several[1] == "{} [None, None] False"


def episode(trace):
    return Episode(np.zeros((3, 1)), np.zeros((2, 1)), np.zeros(2), True, False, None, trace)


@pytest.mark.parametrize("trace", [{"a": (1,)}, {"a b": (1, 2)}, {f"a{i}": () for i in range(9)}])
def test_a_trace_that_does_not_fit_its_episode_is_none(trace):
    with pytest.raises(ValueError, match="trace"):
        episode(trace)


VALUES = st.one_of(
    *(st.none(), st.booleans(), st.integers(-(2**53), 2**53), st.floats(allow_nan=False)),
    st.sampled_from(["a", "reach", "", "\U0001f600"]),
)


@given(rows=st.lists(st.tuples(VALUES, VALUES), max_size=8))
def test_what_is_packed_is_what_is_read(rows):
    columns = dict(zip(("one", "two"), zip(*rows, strict=True) if rows else ((), ()), strict=True))
    data = pack({name: Column(values) for name, values in columns.items()})
    read = parse(data, len(rows))
    assert read == {name: tuple(values) for name, values in columns.items()}
    assert [*map(type, read["one"])] == [*map(type, columns["one"])]
    assert len(data) <= longest(len(rows))


def raw(steps=1, words=b"a", numbers=(1.0,), codes=b"\x01", count=1, size=None):
    head = struct.pack("<III", steps, count, len(words) if size is None else size)
    return head + np.array(numbers).tobytes() + codes + words


def test_a_forged_trace_is_none():
    heads = [{"steps": 2}, {"steps": 2**31}, {"count": 9}, {"count": 0}, {"size": 2**31}]
    names = (b"\xff", b"", b"a\nb", b"a b", b"a\t\x1b[")
    long = (b"a\t" + b"x" * (MAX_CHARS + 1), b"a" + b"\tx" * (MAX_STRINGS + 1))
    forged = [b"", raw()[:-1], raw() + b"x", *(raw(**head) for head in heads)]
    forged += [raw(words=words) for words in (*names, *long)]
    forged += [raw(codes=b"\x04"), raw(codes=b"\xff", words=b"a\tb")]
    for code, number in ((2, 0.5), (2, float("nan")), (2, 1e300), (3, 2.0)):
        forged.append(raw(codes=bytes([code]), numbers=(number,)))
    forged.append(raw(count=2, words=b"a\na", numbers=(1.0, 1.0), codes=b"\x01\x01"))
    for data in forged:
        with pytest.raises(FrameError):
            parse(data, 1)


@settings(max_examples=300)
@given(data=st.binary(max_size=80), steps=st.integers(0, 3))
def test_any_bytes_are_a_trace_that_can_be_or_none(data, steps):
    try:
        read = parse(data, steps)
    except FrameError:
        return
    assert all(len(values) == steps and name.isidentifier() for name, values in read.items())
