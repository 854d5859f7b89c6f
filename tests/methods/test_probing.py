"""What happens without a policy, before the first round."""

import numpy as np
import pytest
from fake_services import plays, services

from promptpo.methods import Search
from promptpo.policies import Actions
from promptpo.policies.parametric import random_policy, zero_policy
from promptpo.prompts.promptpo import probes_of
from promptpo.run.settings import build
from promptpo.types import Key

FIRST = 100 + (1 << 28)


def probing(*rounds, **settings):
    return services(*(rounds or ([plays(1)],)), probe=2, **settings)


def test_zero_and_random_actions_are_played_before_the_first_round_as_candidates_of_none():
    fake = probing()
    fake.search()
    assert [seeds for _, seeds, _ in fake.played] == [(FIRST, FIRST + 1)] * 2 + [(100, 101)]
    assert ["Zero" in fake.played[0][0], "random" in fake.played[1][0]] == [True, True]
    search = fake.search()
    assert {(c.key, c.kind) for c in fake.candidates() if c.key.round == 0} == {
        (Key(0, 1), "probe"), (Key(0, 2), "probe"),
    }  # fmt: skip
    assert [r.number for r in search.rounds] == [1]
    assert [c.name for c in search.finalists] == ["r01_c01"]
    prompt = fake.prompt(1, 1, role="policy")
    assert f"seed {FIRST} of r00_c01, by Feedback" in prompt
    assert "Zero action at every step: return 0" in prompt

    fake = probing([plays(1)], [plays(2)])
    fake.search()
    prompt = fake.prompt(2, 1, role="policy")
    assert "Zero action at every step: return 0" in prompt
    assert f"seed {FIRST}" not in prompt
    fake.steps = 0
    assert isinstance(fake.search(), Search)
    assert "Without any policy" not in fake.prompt(1, 1, role="policy")


# The policies

BOX = Actions((2,), (-1.0, -2.0), (1.0, 2.0))
SPACES = {
    "box": BOX,
    "unbounded": Actions((2,), (-np.inf, -1e30), (np.inf, 1e30)),
    "discrete": Actions(counts=(3,), starts=(1,)),
    "multi": Actions((2,), counts=(3, 2), starts=(0, 5)),
}


def acted(source, times=50):
    space = {}
    exec(source, space)  # noqa: S102 - the policy is the project's own
    policy = space["Policy"]()
    return [policy.act(None) for _ in range(times)]


@pytest.mark.parametrize("name", SPACES)
def test_zero_actions_are_all_alike(name):
    actions = acted(zero_policy(SPACES[name]))
    assert len({np.asarray(a).tobytes() for a in actions}) == 1
    assert np.shape(actions[0]) == SPACES[name].shape
    if SPACES[name].starts:
        assert np.array_equal(actions[0], np.reshape(SPACES[name].starts, SPACES[name].shape))


@pytest.mark.parametrize("name", SPACES)
def test_random_actions_lie_in_the_space_and_reach_its_ends(name):
    space, actions = SPACES[name], np.array(acted(random_policy(SPACES[name]), 200))
    assert actions.shape[1:] == space.shape
    if space.counts:
        values = actions.reshape(len(actions), -1)
        for column, start, count in zip(values.T, space.starts, space.counts, strict=True):
            assert set(column) == set(range(start, start + count))
    elif name == "box":
        assert (np.abs(actions) <= (1, 2)).all()
        assert (np.abs(actions).max(axis=0) > (0.9, 1.8)).all()
    else:
        assert 0.5 < actions.std() < 2


@pytest.mark.parametrize(
    ("asked", "episodes"),
    [
        ({}, 2),
        ({"prepare_time": 0}, 0),
        ({"prepare_time": 0, "probe": 3}, 3),
        ({"probe": 0}, 0),
        ({"preset": "paper"}, 0),
        ({"method": "best-of-n"}, 0),
    ],
)
def test_there_are_some_by_default_where_policies_may_prepare(asked, episodes):
    assert probes_of(build(asked)) == episodes
