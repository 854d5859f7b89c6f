"""``prepare(data)``: once, on what was recorded; policies get what it returned."""

import os
import tempfile
from contextlib import contextmanager

import numpy as np
import pytest
from acting import acts, indented, policy

import sandbox
import sandbox.recorded as recorded_module
from sandbox import Box, Episode, Interface, Limits, PolicyError

INTERFACE = Interface(3, None, Box((1,)))
GOOD_POLICY = policy("return [0.0]")


def episode(steps, candidate="r01_c01", number=1, terminated=False, success=None):
    rng = np.random.default_rng(steps)
    seen, done = rng.normal(size=(steps + 1, 3)), rng.normal(size=(steps, 1))
    ends = terminated, not terminated, success
    return Episode(seen, done, rng.normal(size=steps), *ends, {}, candidate, number)


EPISODES = [
    episode(4, "random", 0),
    episode(6, terminated=True, success=True),
    episode(0),
    episode(2, "r01_c02", success=False),
]
COLUMNS = {"angle": 0, "speed": slice(1, 3)}


@contextmanager
def recording(*args, **options):
    """A descriptor, open for reading only, of episodes in a file that has no name any more."""
    with tempfile.NamedTemporaryFile() as file:
        sandbox.write_recorded(file, *args, **options)
        descriptor = os.open(file.name, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@pytest.fixture(scope="module")
def recorded():
    with recording(EPISODES, COLUMNS) as file:
        yield file


def run(host, body, data=None, interface=INTERFACE, limits=None, **options):
    """What ``prepare`` with this body, or this whole source, gave."""
    source = body if "def prepare" in body else f"def prepare(data):\n{indented(body, 4)}"
    return host.prepare(source + GOOD_POLICY, data, interface, limits, **options)


def values(*args, **options):
    return sandbox.unpack(run(*args, **options).values)


READS = """e = data.episodes[1]
return {
    "observations": data.observations, "next": data.next_observations,
    "actions": data.actions, "rewards": data.rewards, "terminals": data.terminals,
    "episode": data.episode, "seen": e.observations, "done": e.actions, "got": e.rewards,
    "total": e.total_reward, "lengths": [len(e) for e in data.episodes],
    "players": " ".join(e.candidate for e in data.episodes),
    "rounds": [e.round for e in data.episodes],
    "flags": [(e.terminated, e.truncated) for e in data.episodes],
    "success": str([e.success for e in data.episodes]),
    "speed": data.observations[:, data.columns["speed"]], "angle": data.columns["angle"],
    "last": data.episodes[-1].length, "part": len(data.episodes[1:]),
}
"""


def test_data_is_what_was_recorded(host, recorded):
    found = values(host, READS, recorded)
    arrays = {
        "observations": np.vstack([e.observations[:-1] for e in EPISODES]),
        "next": np.vstack([e.observations[1:] for e in EPISODES]),
        "actions": np.vstack([e.actions for e in EPISODES]),
        "rewards": np.concatenate([e.rewards for e in EPISODES]),
        "seen": EPISODES[1].observations,
        "done": EPISODES[1].actions,
        "got": EPISODES[1].rewards,
        "speed": found["observations"][:, 1:],
        "terminals": np.arange(12) == 9,
        "episode": [0] * 4 + [1] * 6 + [3] * 2,
        "lengths": [4, 6, 0, 2],
        "rounds": [0, 1, 1, 1],
        "flags": [[False, True], [True, False], [False, True], [False, True]],
    }
    for name, expected in arrays.items():
        assert np.array_equal(found.pop(name), expected), name
    assert found.pop("total") == EPISODES[1].rewards.sum()
    assert found == {
        "players": "random r01_c01 r01_c01 r01_c02",
        "success": "[None, True, None, False]",
        **{"angle": 0, "last": 2, "part": 3},
    }


def test_the_newest_whole_episodes_are_kept():
    for transitions, expected in ((12, 12), (11, 8), (8, 8), (7, 2), (2, 2), (1, 0)):
        with tempfile.TemporaryFile() as file:
            assert sandbox.write_recorded(file, EPISODES, COLUMNS, transitions) == expected


def test_without_episodes_there_are_arrays_without_rows(host):
    body = "return {'n': len(data.episodes), 'o': data.observations, 'a': data.actions,"
    body += " 'x': data.next_observations, 't': data.terminals, 'c': len(data.columns)}"
    with recording([]) as empty:
        for data in (None, empty):
            found = values(host, body, data)
            assert (found["n"], found["c"]) == (0, 0)
            assert [found[k].shape for k in "oaxt"] == [(0, 3), (0, 1), (0, 3), (0,)]


def test_it_says_what_it_printed_and_how_long_it_took_also_where_it_fails(host):
    done = run(host, "print('residual', 0.5); sum(range(10**6)); return {}")
    assert (done.output, sandbox.unpack(done.values)) == ("residual 0.5\n", {})
    assert 0.005 < done.seconds < 2
    with pytest.raises(PolicyError) as caught:
        run(host, "print('before'); sum(range(10**6)); return 1 / len(data.episodes)")
    assert (caught.value.line, caught.value.output) == (2, "before\n")
    assert caught.value.seconds > 0.005
    with pytest.raises(sandbox.TimeLimit) as caught:
        run(host, "\nwhile True: pass", limits=Limits(prepare_seconds=0.2))
    assert caught.value.line == 3


def test_the_same_program_and_data_give_the_same_bytes(host, recorded):
    body = "import random; import numpy as np; return {'a': np.random.random(3), 'b':"
    body += " random.random(), 'c': np.random.default_rng().random(), 'd': data.rewards}"
    first, again, other = (run(host, body, recorded, seed_key=k).values for k in (b"k", b"k", b"o"))
    assert first == again != other
    assert run(host, body + "  # another text", recorded, seed_key=b"k").values != first


GETS = """
import numpy as np
def prepare(data):
    return {"K": np.arange(3.0), "to": "left", "gain": 2}
class Policy:
    SCALE = 1.0
    TRACE = ("gain",)
    def __init__(self, prepared):
        self.prepared = prepared
    def act(self, obs):
        p = self.prepared
        assert "K" in p and "no" not in p and p.get("no") is None and list(p) == sorted(p.keys())
        return [self.SCALE * p["gain"] * p["K"] @ obs + len(p["to"])]
"""


def test_every_policy_gets_what_was_prepared(host):
    prepared = host.prepare(GETS, None, INTERFACE).values
    for role in ("policy", "counting"):
        rows = [[1.0, 1.0, 1.0], [0.0, 0.0, 1.0]]
        assert acts(host, GETS, INTERFACE, rows, prepared=prepared, role=role) == [[10.0], [8.0]]
    place = sandbox.Place(6, 12, 6, 15)
    program = sandbox.Program(GETS, INTERFACE, prepared=prepared, places=[place])
    for scale, expected in ((1.0, 10.0), (3.0, 22.0)):
        with host.open(program) as running:
            running.begin(0, constants=(scale,))
            assert running.act(np.ones(3)).tolist() == [expected]
    with host.policy(GETS, INTERFACE, prepared=sandbox.pack({"K": np.ones(3)})) as running:
        running.begin(0, traced=True)
        with pytest.raises(PolicyError, match=r"prepare\(\) returned no 'gain', but K"):
            running.act(np.ones(3))


def test_a_policy_that_takes_no_argument_is_made_without(host):
    for init in ("", "def __init__(self):\n    self.x = 1\n"):
        source = "def prepare(data):\n    return {}\n" + policy("return [1.0]", init)
        assert acts(host, source, INTERFACE, prepared=sandbox.pack({})) == [[1.0]]


#: Classes of its own, which look like plain values.
OWN = """
import numpy as np
class Long(int):
    def __repr__(self): return "1"
class Real(float): pass
class Text(str):
    def __str__(self): return self
class Double(np.float64): pass
def prepare(data):
"""
IS_A = "prepare\\(\\) returned 'a'"


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("pass", r"must return a dict.*not None \(does every path of prepare\(\)"),
        ("return [1]", "not a list of length 1"),
        ("return {1: 2}", "a name in it is 1"),
        ("return {'a': None}", "'a': None"),
        ("return {'a': {'b': 1}}", "an object of class dict.*of its own"),
        ("return {'a': lambda: 0}", "an object of class function"),
        ("return {'a': [[1], [2, 3]]}", "a list of length 2 that is no array"),
        ("return {'a': ['x', 'y']}", "a list of length 2 that is no array"),
        ("return {'a': 1j}", "1j"),
        ("return {'a': np.array([None])}", "no real number"),
        ("return {'a': data}", "an object of class RecordedData"),
        ("return {'a': 'x' * 10**7}", "a text of 10000000 characters"),
        ("return {'a' * 10**7: 1}", "no text of 1 to 64 characters"),
        ("return {'a': 10**30}", "more than 64 bits"),
        ("return {'a': np.zeros(10**6)}", "8.0 MB in all; at most 4.2 MB"),
        ("return {'a': np.broadcast_to(0.0, 10**9)}", "8000.0 MB in all"),
        ("return {str(n): n for n in range(10**4)}", "10000 values; at most 1000"),
        ("return 1 / 0", "line 10, in prepare\n.*\nZeroDivisionError"),
        ("return {'a': Long(2)}", IS_A),
        ("return {'a': Real(2)}", IS_A),
        ("return {'a': Text('x')}", IS_A),
        ("return {'a': [Text('x')]}", IS_A),
        ("return {'a': Long(10**99)}", IS_A),
        ("return {Text('a'): 1}", "a name in it is an object of class Text"),
    ],
)
def test_what_cannot_be_kept_is_said_in_words(host, body, why):
    with pytest.raises(PolicyError, match=f"(?s){why}") as caught:
        run(host, f"{OWN}    {body}\n")
    assert len(caught.value.message) < 3000


def test_numbers_of_a_class_of_its_own_become_plain_ones(host):
    body = "return {'a': Double(2.5), 'b': [Long(2), Long(3)], 'c': (Real(2), 3),"
    found = values(host, f"{OWN}    {body} 'd': np.array([Long(2)]), 'e': np.str_('x')}}\n")
    assert (type(found["a"]), type(found["e"])) == (float, str)
    plain = {n: v.tolist() if isinstance(v, np.ndarray) else v for n, v in found.items()}
    assert repr(plain) == repr({"a": 2.5, "b": [2, 3], "c": [2.0, 3.0], "d": [2], "e": "x"})


def test_a_file_that_could_be_written_to_is_refused(host):
    with tempfile.TemporaryFile() as file:
        sandbox.write_recorded(file, EPISODES)
        with pytest.raises(ValueError, match="reading only"):
            run(host, "return {}", file.fileno())


def test_the_file_counts_to_no_limit_of_memory(host, monkeypatch):
    def put(file, places, arrays, put=recorded_module._put):
        """A hole in the file where there are zeros."""
        put(file, places, {name: arrays[name] for name in {"ends", "episode"} & {*arrays}})

    monkeypatch.setattr(recorded_module, "_put", put)
    steps, size = 4000, 8000
    seen, ends = np.zeros((steps + 1, size)), (False, True, None)
    wide = Episode(seen, np.zeros((steps, 1)), np.zeros(steps), *ends, {}, "a", 1)
    interface, limits = Interface(size, None, Box((1,))), Limits(memory_mb=64)
    with recording([wide]) as data:
        assert os.fstat(data).st_size > 2 * 8 * steps * size
        body = "return {'n': data.observations[:, 7].sum()}"
        assert values(host, body, data, interface, limits) == {"n": 0.0}
