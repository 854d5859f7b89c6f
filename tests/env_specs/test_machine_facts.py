"""The data sheets of the classics and the lander: those of the live environment."""

from dataclasses import replace

import pytest

from promptpo.checks.description import check_facts
from promptpo.spec import Task, load_spec

MACHINES = [
    "acrobot",
    "cartpole",
    "lunar_lander",
    "mountain_car",
    "mountain_car_continuous",
    "pendulum",
]


@pytest.mark.parametrize("name", MACHINES)
def test_they_are_those_of_the_live_environment(name):
    task = Task.open(load_spec(name))
    task.reset(0)
    (found,) = check_facts(task)
    task.close()
    assert found.verdict == "ok", found


def test_a_wrong_number_is_refused():
    task = Task.open(load_spec("mountain_car"))
    task.reset(0)
    task.spec = replace(task.spec, facts=task.spec.facts.replace("0.0025", "0.0026"))
    (found,) = check_facts(task)
    task.close()
    assert found.verdict == "FAIL"
    assert "0.0026" in found.more[0]
