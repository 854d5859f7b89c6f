"""The data sheets of Meta-World's tasks: measured in the live environment, and compact."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from env_specs.family_metaworld import SHIPPED, members
from promptpo.checks.description import check_facts
from promptpo.spec import Task, layout, load_spec

FAMILY = [f"metaworld:{member}" for member in members() if member not in SHIPPED]


def finding(spec, env):
    (found,) = check_facts(SimpleNamespace(spec=spec, env=env))
    return found


@pytest.fixture(scope="module")
def drawer():
    """The drawer's spec, which measures itself once."""
    task = Task.open(load_spec("metaworld_drawer_open"))
    text = task.spec.measured_facts(task.env)
    task.close()
    return replace(task.spec, measured_facts=lambda env: text)


def test_they_are_what_is_measured(drawer):
    found = finding(drawer, None)
    assert found.verdict == "ok", found


@pytest.mark.parametrize(
    ("right", "wrong"), [("39 mm behind", "37 mm behind"), ("0.019", "0.021"), ("0.38", "0.4")]
)
def test_a_wrong_number_is_refused(drawer, right, wrong):
    assert right in drawer.facts
    found = finding(replace(drawer, facts=drawer.facts.replace(right, wrong, 1)), None)
    assert found.verdict == "FAIL"
    assert wrong in found.more[0]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Constant:UserWarning")
@pytest.mark.parametrize(
    "name", [*SHIPPED.values(), "metaworld:hammer-v3", "metaworld:dial-turn-v3"]
)
def test_they_are_those_of_the_live_environment(name):
    task = Task.open(load_spec(name))
    found = finding(task.spec, task.env)
    task.close()
    assert found.verdict == "ok", found


@pytest.mark.parametrize("name", [*SHIPPED.values(), *FAMILY[::9]])
def test_they_are_short_and_speak_of_the_spec_s_own_fields(name):
    spec = load_spec(name)
    assert 1000 < len(spec.facts) < 2000
    fields = {field.name for field in layout(spec.observation)}
    counted = {line.split()[1] for line in spec.facts.splitlines() if line.startswith("from ")}
    assert "fingertip_position" in counted
    assert len(counted) >= 2
    assert counted <= fields
