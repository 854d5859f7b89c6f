"""The loop over episodes, with real processes: what becomes of one depends on itself alone."""

import math
import re

import gymnasium
import numpy as np
import pytest

import sandbox
from promptpo.rollout.jobs import UNPLAYED, InstancesJob, PlayJob, divided, joined
from promptpo.rollout.playing import pace, play
from promptpo.spec import EnvSpec, Task, field

LENGTHS = (4, 7, 1, 5, 3, 6, 7, 2)
SEEDS = tuple(range(120, 120 + len(LENGTHS)))


class Observation:
    """The room."""

    seed: float = field(doc="which room")
    count: float = field(doc="steps so far")


class Room:
    """An episode of the i-th seed lasts ``lengths[i]`` steps.

    ``faults``: at which step a seed fails. At a negative step its observation is NaN, at step 0
    there is no reset.
    """

    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,))
    observation_space = gymnasium.spaces.Box(0.0, 999.0, (2,), np.float64)

    def __init__(self, faults=(), reward=1.0, value=math.nan, lengths=LENGTHS):
        self.faults, self.reward, self.value = dict(faults), reward, value
        self.lengths = lengths
        self.taken = 0

    def reset(self, *, seed=None, options=None):
        self.seed, self.count = seed, 0
        if self.faults.get(seed) == 0:
            raise RuntimeError("no reset")
        return np.array([float(seed), 0.0]), {}

    def step(self, action):
        self.count += 1
        self.taken += 1
        if self.faults.get(self.seed) == self.count:
            raise RuntimeError("no step")
        over = self.count == self.lengths[self.seed - SEEDS[0]]
        seen = np.array([float(self.seed), float(self.count)])
        if self.faults.get(self.seed) == -self.count:
            seen[1] = self.value
        return seen, self.reward * float(action[0]), over, False, {}


SPEC = EnvSpec(
    make=Room,
    observation=Observation,
    action="a number",
    reward=lambda observation, action, next_observation: 0.0,
    horizon=1000,
    name="room",
)
POLICY = """
seen = []
class Policy:
    def __init__(self):
        seen.append(1)
        self.acts, self.episodes = 0, 0
    def reset(self):
        self.episodes += 1
    def act(self, obs):
        self.acts += 1
        FAILS
        return [2.0]
"""


def policy(fails="pass"):
    return POLICY.replace("FAILS", fails)


@pytest.fixture(scope="module")
def host():
    with sandbox.Host() as running:
        yield running


class Pool:
    """Rooms, and processes of one program."""

    def __init__(self, host, source, places=(), **room):
        limits = sandbox.Limits(act_seconds=0.5)
        interface = sandbox.Interface(2, None, sandbox.Box((1,)))
        self.program = sandbox.Program(source, interface, limits, places=places)
        self.host, self.room = host, room
        self.free, self.made, self.opened = [], [], 0

    def take_task(self):
        if not self.free:
            self.made.append(Room(**self.room))
            self.free.append(Task(SPEC, self.made[-1]))
        return self.free.pop()

    def give_task(self, task, sound):
        if sound:
            self.free.append(task)

    def open_policy(self):
        self.opened += 1
        return self.host.open(self.program)

    def open_lockstep(self, count):
        made = self.host.lockstep(self.program, count)
        self.opened += made is not None
        return made


def played(host, source, *, width=5, parts=1, seeds=SEEDS, room=None, **job):
    runs, pools = [], []
    for part in divided(PlayJob(source, seeds, **job), parts):
        pools.append(Pool(host, source, **(room or {})))
        runs += play(part, width, pools[-1])
    run = joined(runs)
    assert run.steps == sum(room.taken for pool in pools for room in pool.made)
    return run


def told(run):
    results = [repr(episode) for episode in run.results]  # a return may be NaN
    return results, run.steps, run.clipped, run.error, run.error_kind, run.output


FAILING = {
    "none": (policy("print(obs[0])"), {}),
    "an exception": (policy("assert obs[0] != 125 or self.acts < 3"), {}),
    "two of them": (policy("1 / (obs[0] not in (121, 126) or self.acts < 2)"), {}),
    "no action": (policy("if obs[0] == 123: return None"), {}),
    "no number": (policy("if obs[0] == 123: return [np.nan]"), {}),
    "no object": (policy().replace("seen.append(1)", "assert np.random.rand() < 0.7"), {}),
    "a loop": (policy("while obs[0] == 124 and self.acts == 2: pass"), {}),
    "the environment": (policy(), {"faults": {122: 1, 124: 3}}),
    "its reset": (policy(), {"faults": {124: 0}}),
    "NaN": (policy(), {"faults": {121: -2, 126: -1}}),
}


@pytest.mark.parametrize("name", FAILING)
def test_how_episodes_are_played_changes_nothing(host, name):
    source, room = FAILING[name]
    whole = played(host, source, room=room)
    assert (whole.error is None) == (name == "none")
    for how in ({"width": 1}, {"width": 16, "parts": 3}, {"alone": True, "parts": 2}):
        run = played(host, source, room=room, **how)
        assert told(run) == told(whole), how


def test_an_episode_that_fails_stops_no_other_and_the_first_one_is_told(host):
    run = played(host, FAILING["two of them"][0])
    assert [r.length for r in run.results] == [4, 1, 1, 5, 3, 6, 1, 2]
    assert [r.error is None for r in run.results] == [s not in (121, 126) for s in SEEDS]
    assert run.error.startswith("in act() number 1 of episode slot 1:\nTraceback")
    assert run.error_kind == "exception"
    assert run.clipped == tuple(r.length for r in run.results)


def test_what_does_not_compile_is_not_played(host):
    run = played(host, "import os")
    assert run.error_kind == "compile"
    assert {r.error for r in run.results} == {UNPLAYED}
    assert run.steps == 0


@pytest.mark.parametrize("alone", [True, False])
def test_lives_follow_each_other_on_one_object_and_end_with_a_failure(host, alone):
    source = policy("assert self.episodes < 2 or obs[0] < 123")
    seeds = SEEDS[:6]
    run = played(host, source, seeds=seeds, life=3, alone=alone)
    assert [r.error is None for r in run.results] == [True, True, True, True, True, False]
    source = policy("assert self.episodes == 0 or obs[0] > 123")
    run = played(host, source, seeds=seeds, life=3, alone=alone)
    assert run.results[1].error.endswith("AssertionError")
    assert run.results[2].error == UNPLAYED
    assert [r.error is None for r in run.results[3:]] == [True] * 3


def test_alone_each_episode_has_a_process_and_else_they_share(host):
    printing = policy("print(1)")
    for source, alone, opened in (
        (policy(), True, len(SEEDS)),
        (policy(), False, 1),
        (printing, True, len(SEEDS)),
        (printing, False, 2),
    ):
        pool = Pool(host, source)
        play(PlayJob(source, SEEDS, alone=alone), 2, pool)
        assert pool.opened == opened


def test_where_the_process_of_many_episodes_ends_they_are_played_anew_and_count_again(host):
    source = policy("if obs[0] == 124 and self.acts == 3: raise MemoryError")
    pool = Pool(host, source)
    (run,) = play(PlayJob(source, SEEDS), 16, pool)
    assert run.error_kind == "memory"
    assert [r.error is None for r in run.results] == [seed != 124 for seed in SEEDS]
    taken = sum(map(min, LENGTHS, [2] * len(LENGTHS)))
    assert run.steps == taken + sum(LENGTHS) - 1
    assert pool.opened == 1 + len(SEEDS)


def test_in_one_process_the_module_is_executed_anew_for_each_episode(host):
    run = played(host, policy("assert len(seen) == 1 and self.episodes == 0"), width=1)
    assert run.error is None


@pytest.mark.parametrize("value", [math.nan, -math.inf])
@pytest.mark.parametrize("at", [1, 6, 7])
def test_one_number_of_one_step_is_found(host, at, value):
    run = played(host, policy(), room={"faults": {121: -at}, "value": value})
    assert run.error_kind == "environment"
    assert f"the observation's field 'count' is {value:g} after step {at}" in run.error
    assert "episode slot 1" in run.error
    assert [r.error is None for r in run.results] == [seed != 121 for seed in SEEDS]


def test_rewards_that_add_up_to_an_infinity_are_no_return(host):
    run = played(host, policy(), room={"reward": 1e308})
    assert "the rewards of an episode add up to inf" in run.error


@pytest.mark.parametrize("width", [1, 4, 16])
def test_a_vector_of_constants_fails_as_a_whole_and_leaves_the_others(host, width):
    faults = "if GAIN > 2 and obs[0] == 121: [1 / (GAIN - 3)]\n        while GAIN == 4: pass"
    source = "GAIN = 0.5\n" + policy(faults).replace("[2.0]", "[GAIN / 10 if GAIN != 5 else None]")
    vectors = tuple((float(n),) for n in (1, 3, 2, 4, 5))
    job = InstancesJob(source, ((1, 7, 1, 10, False),), vectors, SEEDS[:3])
    places = [sandbox.Place(*place) for place in job.places]
    one, failed, two, *others = play(job, width, Pool(host, source, places))
    assert [r.return_ for r in one.results] == pytest.approx([0.4, 0.7, 0.1])
    assert [r.return_ for r in two.results] == pytest.approx([0.8, 1.4, 0.2])
    assert {episode.error is None for episode in failed.results} == {False}
    words = ("ZeroDivisionError", "in act", "every number of an action|finite number")
    for run, why in zip((failed, *others), words, strict=True):
        assert re.search(why, run.error)


@pytest.mark.parametrize(
    ("lengths", "life", "bar"), [((10, 20), 1, 1000), ((10, 9, 20, 9), 2, 800)]
)
def test_an_episode_that_ends_as_its_vector_is_looked_at_keeps_its_return(host, lengths, life, bar):
    """It brings more than the pace; were that forgotten, the vector would be given up."""
    source = "GAIN = 0.5\n" + policy().replace("[2.0]", "[GAIN]")
    place, seeds = (1, 7, 1, 10, False), SEEDS[: 2 * life]
    job = InstancesJob(source, (place,), ((1.0,),), seeds, life, bar=bar, pace=0.5)
    pool = Pool(host, source, [sandbox.Place(*place)], lengths=lengths, reward=100.0)
    (run,) = play(job, 5, pool)
    assert run.bound is None
    assert [r.length for r in run.results] == list(lengths)


@pytest.mark.parametrize(
    ("rewards", "expected"),
    [([], -math.inf), ([1.0, 2.0], 1.5), ([0.0] * 50 + [10.0], 1.0), ([1.0] * 30, 1.0)],
)
def test_a_pace_is_the_most_that_ten_steps_in_a_row_bring(rewards, expected):
    assert pace(rewards) == pytest.approx(expected)
