"""The spec that docs/specs.md shows works as it stands."""

import re

import numpy as np
import pytest

from promptpo.spec import Task, load_spec, standalone_source
from promptpo.spec.catalog import SHIPPED_FOLDER

GUIDE = SHIPPED_FOLDER.parent / "docs" / "specs.md"


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "pendulum.py"
    path.write_text(re.search(r"```python\n(.+?)```", GUIDE.read_text(), re.DOTALL).group(1))
    return load_spec(path)


def test_its_reward_is_the_environments(spec):
    task = Task.open(spec)
    space: dict = {}
    exec(standalone_source(spec.observation), space)  # noqa: S102 - a spec of our own
    see = space["Observation"]
    rng = np.random.default_rng(0)
    deviation = 0.0
    for seed in range(50):
        before = task.reset(seed)
        over = False
        while not over:
            row = task.received(rng.uniform(-3, 3, 1))
            after, reward, _, over, _ = task.step(row)
            deviation = max(deviation, abs(reward - spec.reward(see(before), row, see(after))))
            before = after
    assert deviation <= spec.reward_tolerance


def test_every_argument_of_a_spec_is_in_the_guide():
    from dataclasses import fields

    from promptpo.spec import EnvSpec

    text = GUIDE.read_text()
    for item in fields(EnvSpec):
        if item.name not in ("name", "title", "path", "ref"):
            assert f"`{item.name}" in text or f"{item.name}=" in text, item.name
