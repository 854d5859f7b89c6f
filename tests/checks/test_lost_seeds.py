"""What a failing check of the seeds says: how episodes differ, and the remedy."""

import re
from typing import get_args

import pytest

from promptpo.checks import QUICK
from promptpo.checks.episodes import SEEDS, check_seeds
from promptpo.rollout.seeds import episode_seeds
from promptpo.spec import Task, load_spec
from promptpo.types import Stream

DRAW = "self.np_random.uniform(-1, 1)"
SUPER = "super().reset(seed=seed)"
STEP = "    def step(self, action):"
UNLIKE = "in two new environments of one process, seed 0 differs from its first observation on"
REMEDY = "begin the environment's reset with super().reset(seed=seed)"

CASES = {
    "numpy's generator": (
        [(DRAW, "np.random.uniform(-1, 1)")],
        f"{UNLIKE} (position): it draws from the generators of numpy.random or random",
    ),
    "unseeded": (
        [(SUPER, "self.own = np.random.default_rng(), seed"), (DRAW, "self.own[0].uniform(-1, 1)")],
        f"{UNLIKE} (position)",
    ),
    "left over": (
        [
            (DRAW, f"{DRAW} + self.bonus"),
            (STEP, f"    bonus = 0.0\n\n{STEP}\n        self.bonus += 0.001"),
        ],
        "after an episode of seed 0, seed 0 differs from its first observation on (position): "
        "something is left of it; let reset set all that step changes",
    ),
    "a text's hash": (
        [(DRAW, f"{DRAW} + hash('walker') % 10 / 10")],
        "within one process it repeats: what differs is the process's own, such as the order",
    ),
    "later": (
        [
            ("self.seen[0] + action[0]", "self.seen[0] + action[0] + time.time() % 1"),
            ("import gymnasium\n", "import time\nimport gymnasium\n"),
        ],
        "in two new environments of one process, seed 0 differs from step 1 on (position)",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_how_episodes_differ_is_told_with_the_remedy(walk, case):
    replacements, how = CASES[case]
    task = Task.open(load_spec(walk(*replacements)))
    found = next(iter(check_seeds(task, ["of a new process"] * len(SEEDS), QUICK)))
    task.close()
    assert found.failed
    assert found.detail.startswith("seeds 0, 1, 2, 3, 1000003, 2000000011 play differently")
    difference, remedy = found.more
    assert difference.startswith(how)
    assert remedy.startswith(REMEDY)


def test_an_environment_beside_another_plays_as_it_does_alone(verdicts):
    found = verdicts(
        (SUPER, "np.random.seed(seed)"),
        (DRAW, "np.random.uniform(-1, 1)"),
        ("action[0], action[0]])", "action[0] + np.random.uniform(0, 1e-3), action[0]])"),
    )["seeds"]
    assert found.failed
    beside = "beside another environment of the same process, seed 0 differs from"
    assert found.more[0].startswith(beside)


@pytest.mark.slow
def test_a_seed_that_is_always_the_same_is_told_with_what_else_it_may_mean(verdicts):
    found = verdicts((SUPER, "super().reset(seed=0)"))["seeds"]
    assert found.detail.startswith("6 seeds all give the same episode")
    remedy, sure = found.more
    assert remedy.startswith(REMEDY)
    assert re.fullmatch(
        r"if the task has one start and no chance, give EnvSpec deterministic=True \(\S+:45\)", sure
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
