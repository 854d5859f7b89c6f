"""What a program can find out about the seed of its episode: nothing."""

import random

import numpy as np
from acting import acts
from gymnasium.utils import seeding
from restricted import programs

from sandbox import Box, Interface
from sandbox.host.policy import episode_seed

#: Gathers every number that generators show, and takes each for the environment's seed: is a draw
#: in the observation that of an environment so seeded, or its own first draw? Returns how many are.
DETECTIVE = programs("attempts")["takes what generators show for the seed of the environment"]


def found(host, seed, key):
    """What the detective finds; it observes the first draws of environments with this seed."""
    of_gymnasium = seeding.np_random(seed)[0].random()
    of_numpy = np.random.RandomState(seed % 2**32).random()
    of_python = random.Random(seed).random()
    draws = np.array([of_gymnasium, of_numpy, of_python])
    interface = Interface(3, None, Box((2,)))
    return acts(host, DETECTIVE, interface, [draws], seed, seed_key=key)[0]


def test_no_state_of_a_generator_foretells_an_environment(host, monkeypatch):
    for key in (b"", b"secret"):
        right, tried = found(host, 1_234_567_890, key)
        assert tried > 1000
        assert right == 0

    monkeypatch.setattr("sandbox.host.policy.episode_seed", lambda seed, key: seed)
    assert found(host, 1_234_567_890, b"")[0] > 0  # started from the seed itself it would


def test_the_seed_of_an_episode_depends_on_seed_and_key_and_is_the_same_everywhere():
    several = {episode_seed(seed, key) for seed in (0, 1, 2**64 - 1) for key in (b"", b"a", b"b")}

    assert len(several) == 9
    assert episode_seed(7, b"a") == 7770750648043657408
