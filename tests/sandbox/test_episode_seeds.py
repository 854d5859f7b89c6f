"""What a program can find out about the seed of its episode: nothing."""

import random

import numpy as np
from acting import acts
from gymnasium.utils import seeding

from sandbox import Box, Interface
from sandbox.host.policy import episode_seed

#: Gathers every number that generators show, and takes each for the environment's seed: is a draw
#: in the observation that of an environment so seeded, or its own first draw? Returns how many are.
DETECTIVE = """
import random, time

BITS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")

def numbers(found, value, depth=0):
    if isinstance(value, (int, np.integer)):
        found.append(int(value))
    elif isinstance(value, (tuple, list, np.ndarray)):
        if len(value) < 50 or depth == 0:
            for item in list(value)[:700]:
                numbers(found, item, depth + 1)
    elif isinstance(value, dict):
        for item in value.values():
            numbers(found, item, depth)

def looks():
    r = np.random
    yield from (lambda: r.get_state(), lambda: r.get_state(legacy=False), lambda: random.getstate())
    yield from (lambda: r.randint(0, 2**31), lambda: random.getrandbits(64), lambda: hash(r))
    yield from (lambda: r.RandomState().get_state(), lambda: random.Random().getstate())
    yield from (lambda: r.SeedSequence().entropy, lambda: time.time_ns(), lambda: id(r))
    for name in BITS:
        def look(name=name):
            made = getattr(r, name)()
            seq = made.seed_seq
            return [seq.entropy, seq.spawn_key, seq.pool, seq.generate_state(4), made.state,
                    seq.spawn(1)[0].entropy, made.random_raw()]
        yield look
    yield lambda: getattr(r.default_rng(), "bit_generator").seed_seq.entropy
    yield lambda: r.default_rng().spawn(1)[0].integers(0, 2**63)
    yield lambda: [r.default_rng().integers(0, 2**31) for _ in range(9)]

def candidates():
    found = []
    for look in looks():
        try:
            numbers(found, look())
        except Exception:
            pass
    words = list(found)
    found += [low | high << 32 for low, high in zip(words, words[1:])]
    for n in list(found):
        found += [n & 0xFFFFFFFF, n >> 32, n & 0x7FFFFFFF, n >> 33, n ^ 0xFFFFFFFF]
    return sorted({n for n in found if 0 <= n < 2**64})

class Policy:
    def __init__(self):
        self.first = [random.random(), np.random.random()]
        self.tried = candidates()
    def act(self, obs):
        right = sum(seen in self.first for seen in obs)
        for n in self.tried:
            np.random.seed(n & 0xFFFFFFFF)
            draws = (np.random.Generator(np.random.PCG64(np.random.SeedSequence(n))).random(),
                     np.random.random(), random.Random(n).random())
            right += any(draw == seen for draw in draws for seen in obs)
        return [right, len(self.tried)]
"""


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
