"""The data sheets of the shipped MuJoCo bodies: those of the live model, and compact."""

import re
from dataclasses import replace

import pytest

from promptpo.checks.description import check_facts
from promptpo.spec import Task, load_spec

BODIES = [
    "mujoco_ant",
    "mujoco_halfcheetah",
    "mujoco_hopper",
    "mujoco_humanoid",
    "mujoco_inverted_double_pendulum",
    "mujoco_inverted_pendulum",
    "mujoco_reacher",
    "mujoco_swimmer",
    "mujoco_walker2d",
]


def finding(task, **parts):
    """What the check says of the spec with other parts."""
    task.spec = replace(task.spec, **parts)
    (found,) = check_facts(task)
    return found


@pytest.fixture
def hopper():
    task = Task.open(load_spec("mujoco_hopper"))
    yield task
    task.close()


@pytest.mark.parametrize("name", BODIES)
def test_they_are_those_of_the_live_model(name):
    task = Task.open(load_spec(name))
    found = finding(task)
    task.close()
    assert found.verdict == "ok", found
    assert len(task.spec.facts) < (3200 if name == "mujoco_humanoid" else 1850)


@pytest.mark.parametrize(("name", "joints"), [("mujoco_walker2d", 6), ("mujoco_humanoid", 17)])
def test_every_joint_has_its_number_in_one_row(name, joints):
    rows = re.findall(r"^(\d+(?:, \d+)*) \w", load_spec(name).facts, re.MULTILINE)
    numbers = [int(number) for row in rows for number in row.split(", ")]
    assert sorted(numbers) == list(range(joints))


@pytest.mark.parametrize(("right", "wrong"), [("3.67", "3.76"), ("0.008 s", "0.012 s")])
def test_a_wrong_number_is_refused(hopper, right, wrong):
    assert right in hopper.spec.facts
    found = finding(hopper, facts=hopper.spec.facts.replace(right, wrong))
    assert found.verdict == "FAIL"
    assert wrong in found.more[0]
    assert right in found.more[1]


def test_another_body_is_refused(hopper):
    hopper.env.model.dof_damping[:] *= 2.0
    found = finding(hopper)
    assert found.verdict == "FAIL"
    assert "damping 1," in found.more[0]
    assert "damping 2," in found.more[1]


def test_limbs_that_are_not_alike_are_told_apart():
    facts = load_spec("mujoco_humanoid").facts
    assert re.search(r"^5 hip, swing .* 0.008 ", facts, re.MULTILINE)
    assert re.search(r"^9 hip, swing .* 0.01 ", facts, re.MULTILINE)
