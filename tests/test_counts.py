"""Numbers of episodes where policies live through several."""

import pytest

from promptpo.config import RunConfig
from promptpo.errors import UsageError
from promptpo.spec import load_spec

CARTPOLE = load_spec("cartpole")


@pytest.fixture
def config():
    return RunConfig(policy_lifetime="evaluation", evaluation_episodes=8).for_spec(CARTPOLE)


def test_numbers_of_episodes_are_rounded_up_to_whole_lives(config):
    assert (config.life, config.first_episodes) == (8, 8)
    assert config.selection == (24, 64)
    assert config.held_out == 56


def test_where_policies_live_for_one_episode_numbers_are_what_they_are():
    config = RunConfig().for_spec(CARTPOLE)
    assert config == RunConfig()
    assert (config.life, config.first_episodes, config.selection) == (1, 5, (20, 60))
    assert config.held_out == config.test_episodes


def test_the_length_of_a_life_is_the_specs_unless_it_is_set():
    asked = RunConfig(policy_lifetime="evaluation").for_spec(CARTPOLE)
    assert asked.life == CARTPOLE.evaluation_episodes == 10


def test_a_length_of_a_life_that_no_policy_lives_is_refused():
    with pytest.raises(UsageError, match="--policy-lifetime evaluation"):
        RunConfig(evaluation_episodes=8).for_spec(CARTPOLE)


def test_an_explicit_lifetime_of_an_episode_wins():
    config = RunConfig(policy_lifetime="episode", evaluation_episodes=8)
    assert config.for_spec(CARTPOLE).life == 1
