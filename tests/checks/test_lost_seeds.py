"""What a failing check of the seeds says: how episodes differ, and which line loses the seed."""

import re
from typing import get_args

import pytest

from promptpo.checks import QUICK
from promptpo.checks.replay import SEEDS
from promptpo.checks.seeds import check_seeds
from promptpo.rollout.seeds import episode_seeds
from promptpo.spec import Task, load_spec
from promptpo.types import Stream

DRAW = "self.np_random.uniform(-1, 1)"
SUPER = "super().reset(seed=seed)"
OWN = "draw from self.np_random, which super().reset(seed=seed) seeds"
UNLIKE = "in two new environments of one process, seed 0 differs from its first observation on"


@pytest.fixture
def told(walk):
    """What follows the finding on seeds that play differently in a new process."""

    def check(*replacements):
        task = Task.open(load_spec(walk(*replacements)))
        found = next(iter(check_seeds(task, ["of a new process"] * len(SEEDS), QUICK)))
        task.close()
        assert found.failed
        assert found.detail.startswith("seeds 0, 1, 2, 3, 1000003, 2000000011 play differently")
        how, *lines = found.more
        return how, [re.sub(r"^\S+/walk\.py:", "", line) for line in lines]

    return check


IMPORT = "import gymnasium\n"
STEP = "    def step(self, action):"
MOVE = "self.seen[0] + action[0]"

CASES = {
    "numpy's generator": (
        [(DRAW, "np.random.uniform(-1, 1)")],
        f"{UNLIKE} (position): it draws from the generators of numpy.random or random",
        "33: `np.random.uniform(-1, 1)` draws from a generator that reset does not seed; " + OWN,
    ),
    "another name": (
        [(DRAW, "npr.rand()"), (IMPORT, "import numpy.random as npr\n" + IMPORT)],
        f"{UNLIKE} (position): it draws from",
        "34: `npr.rand()` draws from a generator that reset does not seed; " + OWN,
    ),
    "python's generator": (
        [(DRAW, "uniform(-1, 1)"), (IMPORT, "from random import uniform\n" + IMPORT)],
        f"{UNLIKE} (position): it draws from",
        "34: `uniform(-1, 1)` draws from a generator that reset does not seed; " + OWN,
    ),
    "unseeded": (
        [(SUPER, "self.own = np.random.default_rng(), seed"), (DRAW, "self.own[0].uniform(-1, 1)")],
        f"{UNLIKE} (position)",
        "32: `np.random.default_rng()` is a generator without a seed; " + OWN,
    ),
    "not passed on": (
        [(SUPER, "super().reset()")],
        f"{UNLIKE} (position)",
        "32: `super().reset()` does not pass the seed on; write super().reset(seed=seed)",
    ),
    "not used": (
        [(SUPER, "pass")],
        f"{UNLIKE} (position)",
        "31: reset does not use its seed; begin it with super().reset(seed=seed)",
    ),
    "kept elsewhere": (
        [(SUPER, "self.seed = seed")],
        f"{UNLIKE} (position)",
        "31: reset does not seed self.np_random; begin it with super().reset(seed=seed)",
    ),
    "the spec's reset": (
        [
            ("def make():", "def begin(env, number):\n    return env.reset()[0]\n\n\ndef make():"),
            ("horizon=20", "horizon=20, reset=begin"),
        ],
        f"{UNLIKE} (position)",
        "42: `env.reset()` does not pass the seed on; write env.reset(seed=number)",
    ),
    "left over": (
        [
            (DRAW, f"{DRAW} + self.bonus"),
            (STEP, f"    bonus = 0.0\n\n{STEP}\n        self.bonus += 0.001"),
        ],
        "after an episode of seed 0, seed 0 differs from its first observation on (position): "
        "something is left of it; let reset set all that step changes",
        "39: step changes self.bonus; let reset set it",
    ),
    "a text's hash": (
        [(DRAW, f"{DRAW} + hash('walker') % 10 / 10")],
        "within one process it repeats: what differs is the process's own, such as the order",
        "33: `hash('walker')` differs from process to process where it hashes a text; let the seed "
        "decide",
    ),
    "later": (
        [(MOVE, f"{MOVE} + time.time() % 1"), (IMPORT, f"import time\n{IMPORT}")],
        "in two new environments of one process, seed 0 differs from step 1 on (position)",
        "38: `time.time()` reads the clock; let the seed decide",
    ),
    "another's environment": (
        [
            ("return Line()", "return gymnasium.make('CartPole-v1')"),
            ("    position:", "    a: int = field()\n    b: int = field()\n    position:"),
            ('info["right"]', "terminated"),
        ],
        "within one process it repeats",
        "CartPoleEnv comes from gymnasium.envs.classic_control.cartpole: give EnvSpec a "
        "reset(env, seed) that sets its generator, and returns the observation of its own reset",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_how_episodes_differ_is_told_with_the_line_to_change(told, case):
    replacements, how, line = CASES[case]
    found, lines = told(*replacements)
    assert found.startswith(how)
    assert lines == [line]


def test_what_an_expert_draws_is_its_own_affair(told):
    expert = "def expert(env):\n    return lambda raw: np.random.uniform(-1, 1, 1)\n\n\ndef make():"
    lambda_ = "lambda env: lambda raw: np.array([1.0])"
    _, lines = told((lambda_, "expert"), ("def make():", expert))
    assert lines == []


def test_an_environment_beside_another_plays_as_it_does_alone(verdicts):
    found = verdicts(
        (SUPER, "np.random.seed(seed)"),
        (DRAW, "np.random.uniform(-1, 1)"),
        ("action[0], action[0]])", "action[0] + np.random.uniform(0, 1e-3), action[0]])"),
    )["seeds"]
    assert found.failed
    how, first, *_ = found.more
    assert how.startswith("beside another environment of the same process, seed 0 differs from")
    assert "`np.random.seed(seed)` seeds what all environments of a process share" in first


@pytest.mark.slow
def test_a_seed_that_is_always_the_same_is_told_with_what_else_it_may_mean(verdicts):
    same, *others = verdicts((SUPER, "super().reset(seed=0)"))["seeds"].more
    assert same.endswith(
        "walk.py:32: `super().reset(seed=0)` gives every episode the same seed; write "
        "super().reset(seed=seed)"
    )
    assert re.fullmatch(
        r"if the task has one start and no chance, give EnvSpec deterministic=True \(\S+:45\)",
        others[0],
    )


def test_a_task_with_chance_that_says_it_has_none_is_told_where(verdicts):
    found = verdicts(("    horizon=20,", "    deterministic=True,\n    horizon=20,"))["seeds"]
    assert re.fullmatch(r"take out deterministic=True \(\S+walk\.py:50\)", found.more[0])


def test_starts_that_a_part_of_the_seed_decides_are_met_again(walk):
    start = "self.np_random.uniform(-1, 1)", "1 / (3 + seed % PERIOD)"
    streams = [set(episode_seeds(0, name, QUICK.start_seeds)) for name in get_args(Stream)]
    search, selection, test, _ = streams
    period = next(  # search and selection begin apart, test as one of them
        n
        for n in range(20, 100)
        if len({seed % n for seed in search | selection}) == len(search | selection)
        and {seed % n for seed in search | selection} & {seed % n for seed in test}
    )
    task = Task.open(load_spec(walk(start, ("PERIOD", str(period)))))
    _, found = check_seeds(task, "another process failed", QUICK)
    task.close()
    assert found.failed
    assert found.detail.endswith(
        "test episodes begin as search episodes do; let the whole seed decide the start, not a "
        "part of it (such as seed % 100)"
    )
