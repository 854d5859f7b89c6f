"""What a policy shows of its inner state: attributes that its class names."""

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from speaking import LIMITS, forged_policy, forged_program

import sandbox
from sandbox import (
    Box,
    CompileError,
    Discrete,
    Episode,
    Interface,
    Limits,
    PolicyError,
    ProtocolError,
)
from sandbox.frames import FrameError
from sandbox.tracing import MAX_CHARS, MAX_STEPS, MAX_STRINGS, Column, longest, pack, parse

INTERFACE = Interface(1, None, Discrete(2))


@pytest.fixture(scope="module")
def host():
    with sandbox.Host() as running:
        yield running


def policy(act, names='("phase",)', more=""):
    return f"""
from enum import Enum
class Phase(Enum):
    REACH = 1
class Policy:
    TRACE = {names}
    def __init__(self):
        self.t = 0
    def act(self, obs):
        self.t += 1
        {act}
        return 0
{more}
"""


def traced(host, source, steps=3):
    with host.policy(source, INTERFACE) as running:
        running.begin(0, traced=True)
        for _ in range(steps):
            running.act(np.zeros(1))
        return running.trace()


def test_attributes_are_sampled_after_each_act(host):
    source = policy("self.phase = 'push' if self.t > 1 else 'reach'", '("phase", "t")')
    assert traced(host, source) == {"phase": ("reach", "push", "push"), "t": (1, 2, 3)}


@pytest.mark.parametrize(
    ("value", "found"),
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
def test_only_numbers_and_short_strings_are_recorded(host, value, found):
    (values,) = traced(host, policy(f"self.phase = {value}"), 1).values()
    assert values == (found,)
    assert type(values[0]) is type(found)


def test_an_attribute_that_is_missing_or_changes_its_type_is_no_error(host):
    act = "self.phase = [1, 'two', None][self.t - 1]"
    assert traced(host, policy(act, '("phase", "gone")')) == {
        "phase": (1, "two", None),
        "gone": (None, None, None),
    }


def test_private_and_inherited_names_are_found_as_written(host):
    source = """
class Base:
    TRACE = ["_x", "__y", "gain"]
    gain = 3
    def __init__(self):
        self._x, self.__y = 1, 2
class Policy(Base):
    def act(self, obs): return 0
"""
    assert traced(host, source, 1) == {"_x": (1,), "__y": (2,), "gain": (3,)}


def test_slots_of_an_object_are_found(host):
    source = policy("self.phase = 4", more="    __slots__ = ('t', 'phase')")
    assert traced(host, source, 1) == {"phase": (4,)}


def test_sampling_runs_no_code_of_the_program(host):
    """A name is hidden from the check of the declaration behind a class that is bound later."""
    source = """
class Mixin:
    @property
    def speed(self):
        print("called")
        while True: pass
M = [Mixin]
class Policy(M[0]):
    TRACE = ("speed", "lies")
    def act(self, obs):
        return 0
"""
    with host.policy(source, INTERFACE, limits=Limits(act_seconds=0.2)) as running:
        running.begin(0, traced=True)
        running.act(np.zeros(1))
        assert running.trace() == {"speed": (None,), "lies": (None,)}
        assert running.output == ""


def test_a_string_too_many_in_a_column_is_absent(host):
    (values,) = traced(host, policy("self.phase = f's{self.t}'"), MAX_STRINGS + 2).values()
    assert values[MAX_STRINGS - 1 :] == (f"s{MAX_STRINGS}", None, None)


def test_each_episode_has_a_trace_of_its_own(host):
    with host.policy(policy("self.phase = obs[0]"), INTERFACE) as running:
        running.begin(0, traced=True)
        running.act(np.zeros(1))
        running.act(np.full(1, 5.0))
        assert running.trace() == {"phase": (0.0, 5.0)}
        running.begin(0, fresh=False)
        running.act(np.zeros(1))
        assert running.trace() == {}
        running.begin(0, fresh=False, traced=True)
        running.act(np.full(1, 9.0))
        assert running.trace() == {"phase": (9.0,)}


def test_objects_with_settings_of_their_own_are_seen_through(host):
    source = policy("with np.errstate(all='ignore'): self.phase = 1")
    assert traced(host, source, 1) == {"phase": (1,)}


def test_what_was_done_is_the_same_with_and_without_a_trace(host):
    act = "self.phase = np.random.random(); return int(self.phase > 0.5)"
    acts = []
    for watched in (False, True):
        with host.policy(policy(act), INTERFACE) as running:
            running.begin(3, traced=watched)
            acts.append([running.act(np.zeros(1)).item() for _ in range(30)])
    assert acts[0] == acts[1]


def test_where_nothing_is_named_nothing_is_asked(host):
    with host.policy("class Policy:\n    def act(self, obs): return 0", INTERFACE) as running:
        assert not running.may_trace
        running.begin(0)
        running.act(np.zeros(1))
        asked = running.channel.sequence
        assert running.trace() == {}
        assert running.channel.sequence == asked


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
    with pytest.raises(CompileError) as caught:
        host.policy(policy("pass", names), INTERFACE)
    assert words in caught.value.message
    assert "write for example TRACE = (" in caught.value.message
    assert caught.value.line == 6


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False),
    st.sampled_from(["a", "reach", "", "\U0001f600"]),
)


@given(rows=st.lists(st.tuples(VALUES, VALUES), max_size=8))
def test_what_is_packed_is_what_is_read(rows):
    columns = dict(zip(("one", "two"), zip(*rows, strict=True) if rows else ((), ()), strict=True))
    data = pack({name: Column(values) for name, values in columns.items()})
    found = parse(data, len(rows))
    assert found == {name: tuple(values) for name, values in columns.items()}
    assert [*map(type, found["one"])] == [*map(type, columns["one"])]
    assert len(data) <= longest(len(rows))


def raw(steps=1, words=b"a", numbers=(1.0,), codes=b"\x01", count=1, size=None):
    head = struct.pack("<III", steps, count, len(words) if size is None else size)
    return head + np.array(numbers).tobytes() + codes + words


@pytest.mark.parametrize(
    "data",
    [
        b"",
        raw()[:-1],
        raw() + b"x",
        raw(steps=2),
        raw(steps=2**31),
        raw(count=9),
        raw(count=0),
        raw(size=2**31),
        raw(words=b"\xff"),
        raw(words=b""),
        raw(words=b"a\nb"),
        raw(words=b"a b"),
        raw(words=b"a\t\x1b["),
        raw(words=b"a\t" + b"x" * (MAX_CHARS + 1)),
        raw(words=b"a" + b"\tx" * (MAX_STRINGS + 1)),
        raw(codes=b"\x04"),
        raw(codes=b"\xff", words=b"a\tb"),
        raw(codes=b"\x02", numbers=(0.5,)),
        raw(codes=b"\x02", numbers=(float("nan"),)),
        raw(codes=b"\x02", numbers=(1e300,)),
        raw(codes=b"\x03", numbers=(2.0,)),
        raw(count=2, words=b"a\na", numbers=(1.0, 1.0), codes=b"\x01\x01"),
    ],
)
def test_a_forged_trace_is_none(data):
    with pytest.raises(FrameError):
        parse(data, 1)


@settings(max_examples=300)
@given(data=st.binary(max_size=80), steps=st.integers(0, 3))
def test_any_bytes_are_a_trace_that_can_be_or_none(data, steps):
    try:
        found = parse(data, steps)
    except FrameError:
        return
    assert all(len(values) == steps and name.isidentifier() for name, values in found.items())


@pytest.mark.parametrize(
    "answer",
    [
        "say(22, b'')",
        "say(22, struct.pack('<III', 9, 1, 1) + bytes(81) + b'a')",
        "say(22, length=10**7)",
        "say(19, b'text')",
        "fault(0, b'refused')",
    ],
)
def test_a_process_that_lies_about_a_trace_ends(answer):
    running, process = forged_policy(f"ask(); {answer}", forged_program("TRACE", limits=LIMITS))
    with pytest.raises(ProtocolError):
        running.trace()
    assert process.poll() is not None


@pytest.mark.slow
def test_a_very_long_episode_is_recorded_up_to_a_limit(host):
    (values,) = traced(host, policy("self.phase = self.t"), MAX_STEPS + 2).values()
    assert values[-3:] == (MAX_STEPS, None, None)


def test_a_feedback_class_gets_lists(host):
    source = "class Feedback:\n    def summarize_trajectory(self, traj): return repr(traj.trace)"
    trace = {"phase": ("reach", None), "n": (1, 2.5)}
    episode = Episode(np.zeros((3, 1)), np.zeros((2, 1)), np.zeros(2), True, False, None, trace)
    with host.summarizer(source, Interface(1, None, Box((1,)))) as summarizer:
        assert summarizer.summarize(episode) == "{'phase': ['reach', None], 'n': [1, 2.5]}"


def test_what_was_not_traced_is_none_for_each_step(host):
    words = 'f\'{dict(traj.trace)} {traj.trace["phase"]} {"phase" in traj.trace}\''
    source = f"class Feedback:\n    def summarize_trajectory(self, traj): return {words}"
    episode = Episode(np.zeros((3, 1)), np.zeros((2, 1)), np.zeros(2), True, False, None)
    with host.summarizer(source, Interface(1, None, Box((1,)))) as summarizer:
        assert summarizer.summarize(episode) == "{} [None, None] False"


@pytest.mark.parametrize("trace", [{"a": (1,)}, {"a b": (1, 2)}, {f"a{i}": () for i in range(9)}])
def test_a_trace_that_does_not_fit_its_episode_is_none(trace):
    with pytest.raises(ValueError, match="trace"):
        Episode(np.zeros((3, 1)), np.zeros((2, 1)), np.zeros(2), True, False, None, trace)


ANOTHER = """
class Other:
    __slots__ = ("phase", "_hidden")
class Base:
    phase = Other.phase
    _mine = Other._hidden
class Policy(Base):
    t = 1
    TRACE = (
        "t",
        {names},
    )
    def act(self, obs): return 0
"""


@pytest.mark.parametrize("names", ["'phase'", "'_mine'"])
@pytest.mark.parametrize("watched", [True, False])
def test_a_slot_of_another_class_is_an_error_with_the_line(host, names, watched):
    source = ANOTHER.format(names=names)
    with host.policy(source, INTERFACE) as running, pytest.raises(PolicyError) as caught:
        running.begin(0, traced=watched)

    assert caught.value.line == source.splitlines().index("    TRACE = (") + 1
    assert f"`{names[1:-1]}` in `TRACE` is a slot of class Other" in caught.value.message
    assert caught.value.message.startswith(f"line {caught.value.line}: ")


def test_a_slot_that_comes_to_be_of_another_class_is_absent(host):
    act = "Policy.phase = Other.phase"
    source = "class Other:\n    __slots__ = ('phase',)\n" + policy(act)
    assert traced(host, source, 2) == {"phase": (None, None)}
