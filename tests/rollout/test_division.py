"""However a job's episodes are divided into groups, the same is told of them."""

import itertools

import gymnasium
import numpy as np
import pytest

import sandbox
from promptpo.rollout.division import BASE, best_width, divided, first_failure, joined
from promptpo.rollout.jobs import BYSTANDER, Moment, Phase, PlayJob
from promptpo.rollout.lockstep import Lockstep
from promptpo.spec import EnvSpec, Task, field

LENGTHS = (4, 7, 1, 5, 3, 6, 7, 2)
SEEDS = tuple(range(100, 100 + len(LENGTHS)))


class Observation:
    """The room."""

    count: float = field(doc="steps so far")


class Room:
    """An episode of seed 100 + i lasts LENGTHS[i] steps; ``faults`` are seeds and their steps."""

    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,))
    observation_space = gymnasium.spaces.Box(0.0, 99.0, (1,), np.float64)

    def __init__(self, faults=()):
        self.faults = dict(faults)

    def reset(self, *, seed=None, options=None):
        self.seed, self.count = seed, 0
        if self.faults.get(seed) == 0:
            raise RuntimeError("no reset")
        return np.zeros(1), {}

    def step(self, action):
        self.count += 1
        if self.faults.get(self.seed) == self.count:
            raise RuntimeError("no step")
        over = self.count == LENGTHS[self.seed - SEEDS[0]]
        seen = np.full(1, float(self.count))
        if self.faults.get(self.seed) == -self.count:
            seen[0] = np.nan
        return seen, float(self.seed), over, False, {}


class Failing:
    """Fails in the acts of slots that are told, with the exceptions that are told."""

    may_trace = False

    def __init__(self, acts):
        self.acts = dict(acts)

    def reset(self, slots, seeds, fresh=True):
        self.count = dict.fromkeys(slots, 0)
        for slot in slots:
            if self.acts.get((slot, 0)):
                raise sandbox.PolicyError("no object", slot=slot)

    def act(self, slots, rows):
        for slot in slots:
            self.count[slot] += 1
        for kind in (sandbox.PolicyError, sandbox.BadAction):  # in this order, as the sandbox does
            for slot in slots:
                if self.acts.get((slot, self.count[slot])) is kind:
                    raise kind(f"{kind.__name__} in slot {slot}", slot=slot)
        return np.full((len(slots), 1), 2.0)


def spec():
    return EnvSpec(
        make=Room,
        observation=Observation,
        action="a number",
        reward=lambda observation, action, next_observation: 0.0,
        horizon=1000,
        name="room",
    )


def played(groups, acts=(), faults=(), keep=SEEDS):
    """The whole job in so many groups, one after the other, as a worker plays it."""
    runs = []
    for part in divided(PlayJob("", SEEDS, keep=keep), groups):
        failed = first_failure(runs)
        tasks = [Task(spec(), Room(faults)) for _ in part.seeds]
        lockstep = Lockstep(tasks, part.seeds, part.keep, part.first)
        before = failed.failed_at if failed else None
        runs.append(lockstep.play(Failing(acts), before=before))
    return joined(runs)


def told(run):
    """All that is told of a run, comparable: NaN is no number."""
    results = [
        (r.seed, None if r.error == BYSTANDER else r.return_, r.length, r.success, r.error)
        for r in run.results
    ]
    kept = [episode.seed for episode in run.episodes]
    return results, run.steps, run.clipped, run.error, run.error_kind, run.failed_at, kept


EXCEPTION, BAD = sandbox.PolicyError, sandbox.BadAction
FAILURES = {
    "none": {},
    "one act": {"acts": {(5, 3): EXCEPTION}},
    "a later group fails earlier": {"acts": {(0, 4): EXCEPTION, (6, 2): EXCEPTION}},
    "in the same round": {"acts": {(1, 3): BAD, (6, 3): EXCEPTION, (7, 2): BAD}},
    "the same in the same round": {"acts": {(6, 3): BAD, (1, 3): BAD}},
    "no object": {"acts": {(4, 0): EXCEPTION, (1, 1): EXCEPTION}},
    "the environment": {"faults": {102: 1, 104: 3}},
    "the environment's reset": {"faults": {104: 0}, "acts": {(0, 1): EXCEPTION}},
    "an observation is NaN": {"faults": {103: -2}},
    "NaN is found late": {"faults": {101: -2}, "acts": {(5, 4): EXCEPTION}},
    "act before step": {"acts": {(6, 3): EXCEPTION}, "faults": {101: 3}},
}


@pytest.mark.parametrize("failure", FAILURES)
def test_groups_of_any_size_tell_the_same(failure):
    whole = played(1, **FAILURES[failure])
    assert (whole.error is None) == (failure == "none")
    for groups in range(2, len(SEEDS) + 1):
        assert told(played(groups, **FAILURES[failure])) == told(whole), groups


def test_after_a_failure_it_is_known_which_episodes_ended():
    run = played(1, acts={(3, 3): EXCEPTION})
    ended = [r.seed for r in run.results if r.error is None]
    assert ended == [102, 107]
    assert [r.error for r in run.results if r.seed == 103] == ["PolicyError in slot 3"]
    assert [r.length for r in run.results] == [2, 2, 1, 2, 2, 2, 2, 2]
    assert run.steps == 15
    assert [e.seed for e in run.episodes] == ended


def test_what_was_clipped_in_whole_episodes_is_counted():
    assert played(1).clipped == played(3).clipped == LENGTHS
    assert played(3, acts={(3, 3): EXCEPTION}).clipped == (0, 0, 1, 0, 0, 0, 0, 2)


@pytest.mark.parametrize(("count", "groups"), [(8, 3), (8, 8), (8, 20), (5, 2)])
def test_parts_are_of_nearly_equal_size_and_know_their_slots(count, groups):
    parts = divided(PlayJob("", SEEDS[:count], keep=SEEDS[1:3]), groups)
    sizes = [len(part.seeds) for part in parts]
    assert sum((part.seeds for part in parts), ()) == SEEDS[:count]
    assert max(sizes) - min(sizes) <= 1
    assert [part.first for part in parts] == [0, *itertools.accumulate(sizes)][:-1]
    assert sum((part.keep for part in parts), ()) == SEEDS[1:3]


@pytest.mark.parametrize("groups", [1, 2, 3, 9])
def test_episodes_on_one_object_stay_together(groups):
    seeds = tuple(range(12, 26))
    parts = divided(PlayJob("", seeds, life=4, keep=seeds[3:]), groups)
    assert sum((part.seeds for part in parts), ()) == seeds
    assert len(parts) == min(groups, 4)
    assert all(part.seeds[0] % 4 == 0 for part in parts)
    assert [seeds[part.first] for part in parts] == [part.seeds[0] for part in parts]
    assert sum((part.keep for part in parts), ()) == seeds[3:]


@pytest.mark.parametrize(
    ("name", "opened", "opening", "horizon", "numbers", "width"),
    [
        ("CartPole", 5, 0.0002, 500, 4, 50),
        ("HalfCheetah", 5, 0.006, 1000, 18, 15),
        ("reach", 5, 0.4, 500, 28, BASE),
        ("reach, opened before", 12, 0.4, 500, 28, 12),
        ("wide observations", 5, 0.0002, 500, 1000, 8),
        ("wider observations", 5, 0.0002, 500, 100_000, BASE),
    ],
)
def test_environments_that_cost_more_than_they_save_are_not_opened(
    name, opened, opening, horizon, numbers, width
):
    assert best_width(50, opened, opening, horizon, numbers) == width
    assert best_width(3, opened, opening, horizon, numbers) == 3
    assert best_width(1000, opened, opening, horizon, numbers) <= 64


def test_moments_are_in_the_order_in_which_things_happen():
    moments = [
        Moment(0, Phase.LOAD, 0),
        Moment(0, Phase.ENV_RESET, 7),
        Moment(0, Phase.POLICY_RESET, 0),
        Moment(1, Phase.ACT, 7),
        Moment(1, Phase.ACTION, 0),
        Moment(1, Phase.ENV_STEP, 0),
        Moment(1, Phase.ENV_STEP, 1),
        Moment(2, Phase.ACT, 0),
    ]
    assert sorted(moments, reverse=True) == moments[::-1]
    assert [moment.steps_before(1) for moment in moments] == [0, 0, 0, 0, 0, 0, 0, 1]
    assert [moment.steps_before(0) for moment in moments] == [0, 0, 0, 0, 0, 0, 1, 1]
