"""Where prompts say that they begin like others."""

import pytest

from promptpo.prompts import promptpo as prompts
from promptpo.prompts.task import task_text
from promptpo.run.settings import build
from promptpo.spec import load_spec


@pytest.fixture(scope="module")
def spec():
    return load_spec("cartpole")


@pytest.fixture(scope="module")
def stages(spec):
    return dict(prompts.render_all(spec, build()))


def test_all_that_are_asked_about_a_task_share_it(spec, stages):
    task = task_text(spec, build())
    for name, messages in stages.items():
        asked = messages[1]
        assert asked.content[: asked.shared[0]] == task, name


def test_candidates_of_a_round_share_all_but_their_turn(stages):
    ends = set()
    for name in ("policy, round 2 and later", "policy, from the second line of attack"):
        asked = stages[name][1]
        ends.add(asked.content[: asked.shared[-1]])
        assert asked.content[asked.shared[-1] :].startswith("## Your turn")
    assert len(ends) == 1


def test_they_share_with_their_reflection_what_has_been_found(stages):
    asked = [stages[name][1] for name in ("reflection, after round 1", "policy, round 2 and later")]
    found = {message.content[: message.shared[1]] for message in asked}
    assert len(found) == 1
    assert "r01_c01" in found.pop()
