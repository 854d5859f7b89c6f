"""``prepare(data)``: once, on what was recorded; policies get what it returned."""

import os
import tempfile

import numpy as np
import pytest

import sandbox
import sandbox.recorded as recorded_module
from sandbox import Box, Discrete, Interface, Limits, PolicyError, RecordedEpisode

INTERFACE = Interface(3, None, Box((1,)))
GOOD_POLICY = "class Policy:\n    def act(self, obs):\n        return [0.0]\n"


@pytest.fixture(scope="module")
def host():
    with sandbox.Host() as running:
        yield running


def episode(steps, candidate="r01_c01", number=1, terminated=False, success=None):
    rng = np.random.default_rng(steps)
    seen, done = rng.normal(size=(steps + 1, 3)), rng.normal(size=(steps, 1))
    ends = terminated, not terminated, success
    return RecordedEpisode(seen, done, rng.normal(size=steps), *ends, candidate, number)


EPISODES = [
    episode(4, "random", 0),
    episode(6, terminated=True, success=True),
    episode(0),
    episode(2, "r01_c02", success=False),
]
COLUMNS = {"angle": 0, "speed": slice(1, 3)}


@pytest.fixture(scope="module")
def recorded():
    with recording(EPISODES, COLUMNS) as file:
        yield file


class recording:  # noqa: N801 - used as a function
    """A descriptor, open for reading only, of episodes in a file that has no name any more."""

    def __init__(self, *args, **options):
        self._given = args, options

    def __enter__(self):
        args, options = self._given
        with tempfile.NamedTemporaryFile() as file:
            self.transitions = sandbox.write_recorded(file, *args, **options)
            self.fd = os.open(file.name, os.O_RDONLY)
        return self.fd

    def __exit__(self, *_):
        os.close(self.fd)


def run(host, body, data=None, interface=INTERFACE, limits=None, **options):
    """What ``prepare`` with this body, or this whole source, gave."""
    source = body if "def prepare" in body else f"def prepare(data):\n    {body}\n"
    return host.prepare(source + GOOD_POLICY, data, interface, limits, **options)


def values(*args, **options):
    return sandbox.unpack(run(*args, **options).values)


def test_data_is_what_was_recorded(host, recorded):
    found = values(
        host,
        """def prepare(data):
    e = data.episodes[1]
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
""",
        recorded,
    )
    assert np.array_equal(found["observations"], np.vstack([e.observations[:-1] for e in EPISODES]))
    assert np.array_equal(found["next"], np.vstack([e.observations[1:] for e in EPISODES]))
    assert np.array_equal(found["actions"], np.vstack([e.actions for e in EPISODES]))
    assert np.array_equal(found["rewards"], np.concatenate([e.rewards for e in EPISODES]))
    assert np.flatnonzero(found["terminals"]).tolist() == [9]
    assert found["episode"].tolist() == [0] * 4 + [1] * 6 + [3] * 2
    assert np.array_equal(found["seen"], EPISODES[1].observations)
    assert np.array_equal(found["done"], EPISODES[1].actions)
    assert found["total"] == EPISODES[1].rewards.sum()
    assert found["lengths"].tolist() == [4, 6, 0, 2]
    assert found["players"] == "random r01_c01 r01_c01 r01_c02"
    assert found["rounds"].tolist() == [0, 1, 1, 1]
    assert found["flags"].tolist() == [[False, True], [True, False], [False, True], [False, True]]
    assert found["success"] == "[None, True, None, False]"
    assert np.array_equal(found["speed"], found["observations"][:, 1:])
    assert (found["angle"], found["last"], found["part"]) == (0, 2, 3)


def test_the_newest_whole_episodes_are_kept():
    for transitions, expected in ((12, 12), (11, 8), (8, 8), (7, 2), (2, 2), (1, 0)):
        made = recording(EPISODES, COLUMNS, transitions)
        with made:
            assert made.transitions == expected


def test_without_episodes_there_are_arrays_without_rows(host):
    body = (
        "return {'n': len(data.episodes), 'o': data.observations, 'a': data.actions,"
        " 'x': data.next_observations, 't': data.terminals, 'c': len(data.columns)}"
    )
    with recording([]) as empty:
        for data in (None, empty):
            found = values(host, body, data)
            assert (found["n"], found["c"]) == (0, 0)
            assert [found[k].shape for k in "oaxt"] == [(0, 3), (0, 1), (0, 3), (0,)]


RAGGED = Interface(
    None,
    "class Observation:\n    def __init__(self, flat):\n        self.rays = flat\n",
    Discrete(2),
)


def test_ragged_observations_come_as_objects(host):
    rows = [np.arange(n, dtype=float) for n in (3, 1, 2)]
    episodes = [RecordedEpisode(rows, np.zeros((2, 1)), np.ones(2), True, False, None, "a", 1)] * 2
    with recording(episodes) as data:
        found = values(
            host,
            "return {'last': data.episodes[1].observations[-1].rays, 'n': [len(o.rays) for e in"
            " data.episodes for o in e.observations], 'flat': hasattr(data, 'observations')}",
            data,
            RAGGED,
        )
        with pytest.raises(PolicyError, match="differ in length"):
            run(host, "return {'o': data.next_observations}", data, RAGGED)
    assert found["last"].tolist() == [0.0, 1.0]
    assert found["n"].tolist() == [3, 1, 2, 3, 1, 2]
    assert found["flat"] is False


def test_it_says_what_it_printed_and_how_long_it_took(host):
    done = run(host, "print('residual', 0.5); sum(range(10**6)); return {}")
    assert done.output == "residual 0.5\n"
    assert 0.005 < done.seconds < 2
    assert sandbox.unpack(done.values) == {}


def test_the_same_program_and_data_give_the_same_bytes(host, recorded):
    body = (
        "import random; import numpy as np; return {'a': np.random.random(3), 'b':"
        " random.random(), 'c': np.random.default_rng().random(), 'd': data.rewards}"
    )
    first = run(host, body, recorded, seed_key=b"k")
    assert run(host, body, recorded, seed_key=b"k").values == first.values
    assert run(host, body, recorded, seed_key=b"other").values != first.values
    assert run(host, body + "  # another text", recorded, seed_key=b"k").values != first.values


GETS = """
import numpy as np
def prepare(data):
    return {"K": np.arange(3.0), "to": "left", "gain": 2}
class Policy:
    SCALE = 1.0
    def __init__(self, prepared):
        self.prepared = prepared
    def act(self, obs):
        p = self.prepared
        assert "K" in p and "no" not in p and p.get("no") is None and list(p) == sorted(p.keys())
        return [self.SCALE * p["gain"] * p["K"] @ obs + len(p["to"])]
"""


@pytest.mark.parametrize("role", ["policy", "counting"])
def test_every_policy_gets_what_was_prepared(host, role):
    prepared = host.prepare(GETS, None, INTERFACE).values
    with host.policy(GETS, INTERFACE, prepared=prepared, role=role) as policy:
        policy.begin(0)
        actions = [policy.act(np.array(row)).item() for row in ([1.0, 1.0, 1.0], [0.0, 0.0, 1.0])]
    assert actions == [10.0, 8.0]


def test_policies_with_constants_and_in_every_process_get_it_too(host):
    prepared = host.prepare(GETS, None, INTERFACE).values
    place = sandbox.Place(6, 12, 6, 15)
    program = sandbox.Program(GETS, INTERFACE, prepared=prepared, places=[place])
    found = []
    for scale in (1.0, 3.0):
        with host.open(program) as policy:
            policy.begin(0, constants=(scale,))
            found += policy.act(np.ones(3)).tolist()
    assert found == [10.0, 22.0]


def test_a_traced_policy_gets_it_too(host):
    source = GETS.replace("    def __init__", '    TRACE = ("gain",)\n    def __init__')
    with host.policy(source, INTERFACE, prepared=sandbox.pack({"K": np.ones(3)})) as policy:
        policy.begin(0, traced=True)
        with pytest.raises(PolicyError, match=r"prepare\(\) returned no 'gain', but K"):
            policy.act(np.ones(3))


@pytest.mark.parametrize(
    "init", ["", "    def __init__(self):\n        self.x = 1\n"], ids=["none", "empty"]
)
def test_a_policy_that_takes_no_argument_is_made_without(host, init):
    source = "def prepare(data):\n    return {}\nclass Policy:\n" + init
    source += "    def act(self, obs):\n        return [1.0]\n"
    with host.policy(source, INTERFACE, prepared=sandbox.pack({})) as policy:
        policy.begin(0)
        assert policy.act(np.ones(3)).tolist() == [1.0]


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
        ("return 1 / 0", "line 2, in prepare\n.*\nZeroDivisionError"),
    ],
)
def test_what_cannot_be_kept_is_said_in_words(host, body, why):
    with pytest.raises(PolicyError, match=f"(?s){why}") as caught:
        run(host, body)
    assert len(caught.value.message) < 3000


OWN = """
import numpy as np
class Long(int):
    def __repr__(self): return "1"
class Real(float): pass
class Text(str):
    def __str__(self): return self
class Double(np.float64): pass
"""


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("Double(2.5)", 2.5),
        ("[Long(2), Long(3)]", [2, 3]),
        ("(Real(2), 3)", [2.0, 3.0]),
        ("np.array([Long(2)])", [2]),
        ("np.str_('x')", "x"),
    ],
)
def test_numbers_of_a_class_of_its_own_become_plain_ones(host, value, found):
    got = values(host, OWN + f"def prepare(data):\n    return {{'a': {value}}}\n")["a"]
    got = got.tolist() if isinstance(got, np.ndarray) else got
    assert (got, type(got)) == (found, type(found))


@pytest.mark.parametrize(
    "value", ["Long(2)", "Real(2)", "Text('x')", "[Text('x')]", "Long(10**99)"]
)
def test_a_value_of_a_class_of_its_own_is_refused(host, value):
    with pytest.raises(PolicyError, match="prepare\\(\\) returned 'a'"):
        run(host, OWN + f"def prepare(data):\n    return {{'a': {value}}}\n")


def test_a_name_of_a_class_of_its_own_is_refused(host):
    with pytest.raises(PolicyError, match="a name in it is an object of class Text"):
        run(host, OWN + "def prepare(data):\n    return {Text('a'): 1}\n")


def test_an_error_has_its_line_its_output_and_its_time(host):
    with pytest.raises(PolicyError) as caught:
        run(host, "print('before'); sum(range(10**6)); return 1 / len(data.episodes)")
    assert (caught.value.line, caught.value.output) == (2, "before\n")
    assert caught.value.seconds > 0.005


def test_a_file_that_could_be_written_to_is_refused(host):
    with tempfile.TemporaryFile() as file:
        sandbox.write_recorded(file, EPISODES)
        with pytest.raises(ValueError, match="reading only"):
            run(host, "return {}", file.fileno())


def test_limits_hold(host):
    with pytest.raises(sandbox.TimeLimit) as caught:
        run(host, "\n    while True: pass", limits=Limits(prepare_seconds=0.2))
    assert caught.value.line == 3


def test_the_file_counts_to_no_limit_of_memory(host, monkeypatch):
    put = recorded_module._put
    nonzero = {"ends", "episode"}
    monkeypatch.setattr(
        recorded_module,
        "_put",  # a hole in the file where there are zeros
        lambda file, places, arrays: put(file, places, {n: arrays[n] for n in nonzero & {*arrays}}),
    )
    steps, size = 4000, 8000
    wide = RecordedEpisode(
        np.zeros((steps + 1, size)),
        np.zeros((steps, 1)),
        np.zeros(steps),
        False,
        True,
        None,
        "a",
        1,
    )
    interface = Interface(size, None, Box((1,)))
    with recording([wide]) as data:
        assert os.fstat(data).st_size > 2 * 8 * steps * size
        found = values(
            host,
            "return {'n': data.observations[:, 7].sum()}",
            data,
            interface,
            Limits(memory_mb=64),
        )
    assert found == {"n": 0.0}
