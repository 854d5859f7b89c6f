"""Data sheets of bodies, machines, arms and twins: those of the live environment, and compact."""

import re
from dataclasses import replace
from types import SimpleNamespace

import pytest

from env_specs._twins.recipes import RECIPES
from env_specs.family_metaworld import SHIPPED
from promptpo.checks.description import check_facts
from promptpo.spec import Task, load_spec, shipped_specs

pytestmark = pytest.mark.filterwarnings("ignore:Constant:UserWarning")

MEASURED = [name for name in shipped_specs() if load_spec(name).measured_facts]
QUICK = [name for name in MEASURED if not name.startswith("metaworld_")]
ARMS = [*SHIPPED.values(), "metaworld:hammer-v3", "metaworld:dial-turn-v3"]
TWINS = [
    f"twin:{name}@{seed}" for name, recipe in RECIPES.items() if recipe.facts for seed in (0, 1)
]


def finding(name, change=lambda env: None):
    """Return a spec and what the check says of it once its environment is changed."""
    task = Task.open(load_spec(name))
    task.reset(0)
    change(task.env)
    (found,) = check_facts(task)
    task.close()
    return task.spec, found


def test_there_are_facts_of_every_body_machine_and_arm():
    bodies = [name for name in shipped_specs() if name.startswith("mujoco_")]
    machines = ["acrobot", "bipedal_walker", "cartpole", "lunar_lander", "mountain_car"]
    others = ["mountain_car_continuous", "pendulum", *SHIPPED.values()]
    assert {*bodies, *machines, *others} <= set(MEASURED)


@pytest.mark.parametrize(
    "name", [*QUICK, *[pytest.param(n, marks=pytest.mark.slow) for n in ARMS], *TWINS]
)
def test_they_are_those_of_the_live_environment(name):
    spec, found = finding(name)
    assert found.verdict == "ok", found
    if name in QUICK:
        assert len(spec.facts) < (3200 if name == "mujoco_humanoid" else 1850)


def test_a_wrong_number_and_another_body_are_refused():
    for name, *pairs in (
        ("mujoco_hopper", ("3.67", "3.76"), ("0.008 s", "0.012 s")),
        ("mountain_car", ("0.0025", "0.0026")),
        (
            "metaworld_drawer_open",
            ("39 mm behind", "37 mm behind"),
            ("0.019", "0.021"),
            ("0.38", "0.4"),
        ),
    ):
        spec = load_spec(name)
        for right, wrong in pairs:
            assert right in spec.facts
            facts = spec.facts.replace(right, wrong, 1)
            changed = replace(spec, facts=facts, measured_facts=lambda env, text=spec.facts: text)
            (found,) = check_facts(SimpleNamespace(spec=changed, env=None))
            assert found.verdict == "FAIL"
            assert wrong in found.more[0]
            assert right in found.more[1]

    def damped(env):
        env.model.dof_damping[:] *= 2.0

    _, found = finding("mujoco_hopper", damped)
    assert found.verdict == "FAIL"
    assert "damping 1," in found.more[0]
    assert "damping 2," in found.more[1]


def test_every_joint_has_its_number_in_one_row_and_limbs_that_differ_have_their_own():
    for name, joints in (("mujoco_walker2d", 6), ("mujoco_humanoid", 17)):
        rows = re.findall(r"^(\d+(?:, \d+)*) \w", load_spec(name).facts, re.MULTILINE)
        numbers = [int(number) for row in rows for number in row.split(", ")]
        assert sorted(numbers) == list(range(joints))
    facts = load_spec("mujoco_humanoid").facts
    assert re.search(r"^5 hip, swing .* 0.008 ", facts, re.MULTILINE)
    assert re.search(r"^9 hip, swing .* 0.01 ", facts, re.MULTILINE)


def test_those_of_a_twin_follow_its_order_and_names():
    spec = load_spec("twin:mujoco_hopper@1")
    view = RECIPES["mujoco_hopper"].drawn_view(1, [])
    joints = re.findall(r"^(\d) (hip|knee|ankle)", spec.facts, re.MULTILINE)
    order = [("hip", "knee", "ankle")[index] for index in view.orders["joints"]]
    assert joints == [(str(number), name) for number, name in enumerate(order)]
    assert "trunk" in spec.facts
    assert "torso" not in spec.facts
