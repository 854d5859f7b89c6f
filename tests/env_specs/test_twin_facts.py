"""The data sheets of twins: of the body that is simulated, in the twin's own words and order."""

import re

import pytest

from env_specs._twins.recipes import RECIPES
from promptpo.checks.description import check_facts
from promptpo.spec import Task, load_spec

TOLD = [name for name, recipe in RECIPES.items() if recipe.facts]


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", TOLD)
def test_they_are_those_of_the_live_environment(name, seed):
    task = Task.open(load_spec(f"twin:{name}@{seed}"))
    task.reset(0)
    (found,) = check_facts(task)
    task.close()
    assert found.verdict == "ok", found


def test_they_follow_the_twins_order_and_names():
    spec = load_spec("twin:mujoco_hopper@1")
    recipe = RECIPES["mujoco_hopper"]
    view = recipe.drawn_view(1, [])
    joints = re.findall(r"^(\d) (hip|knee|ankle)", spec.facts, re.MULTILINE)
    order = [("hip", "knee", "ankle")[index] for index in view.orders["joints"]]
    assert joints == [(str(number), name) for number, name in enumerate(order)]
    assert "trunk" in spec.facts
    assert "torso" not in spec.facts
