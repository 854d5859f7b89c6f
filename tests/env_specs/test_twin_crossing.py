"""A twin's world behind the original's interface, and the original's behind a twin's."""

import pytest

from env_specs._twins.recipes import RECIPES
from promptpo.errors import SpecError
from promptpo.spec import layout, load_spec


def fields(ref):
    return [(f.name, f.kind, f.start, f.stop) for f in layout(load_spec(ref).observation)]


@pytest.mark.slow
@pytest.mark.parametrize("name", RECIPES)
def test_the_policy_meets_the_fields_that_it_knows(name):
    assert fields(f"twin:{name}@3+original") == fields(name)
    assert fields(f"twin:{name}@original+3") == fields(f"twin:{name}@3")
    assert fields(f"twin:{name}@4+3") == fields(f"twin:{name}@3")
    assert fields(f"twin:{name}@4+shipped") == fields(f"twin:{name}")


def test_references_are_those_of_the_world():
    crossed = load_spec("twin:mujoco_hopper@original+3")
    assert crossed.references == load_spec("mujoco_hopper").references
    assert load_spec("twin:mujoco_hopper@3+original").references == {}
    assert (
        load_spec("twin:mujoco_hopper+original").references
        == load_spec("twin:mujoco_hopper").references
    )


@pytest.mark.parametrize("member", ["nim@3+original", "cartpole+", "cartpole@3+4+5", "cartpole+x"])
def test_what_is_no_crossing_is_an_unknown_member(member):
    with pytest.raises(SpecError, match="the family has no such member"):
        load_spec(f"twin:{member}")
