"""The family of twins: seeds, crossings, references, and texts that do not name the original."""

import pytest

from env_specs._twins.recipes import RECIPES
from env_specs.family_twin import members
from promptpo.errors import SpecError
from promptpo.spec import layout, load_spec


def fields(ref):
    return [(f.name, f.kind, f.start, f.stop) for f in layout(load_spec(ref).observation)]


@pytest.mark.slow
def test_a_policy_behind_another_interface_meets_the_fields_that_it_knows():
    for name in RECIPES:
        assert fields(f"twin:{name}@3+original") == fields(name)
        assert fields(f"twin:{name}@original+3") == fields(f"twin:{name}@3")
        assert fields(f"twin:{name}@4+3") == fields(f"twin:{name}@3")
        assert fields(f"twin:{name}@4+shipped") == fields(f"twin:{name}")


def test_references_are_those_of_the_world():
    original, twin = load_spec("mujoco_hopper"), load_spec("twin:mujoco_hopper")
    assert load_spec("twin:mujoco_hopper@original+3").references == original.references
    assert load_spec("twin:mujoco_hopper@3+original").references == {}
    assert load_spec("twin:mujoco_hopper+original").references == twin.references
    for member in ("nim@3+original", "cartpole+", "cartpole@3+4+5", "cartpole+x"):
        with pytest.raises(SpecError, match="the family has no such member"):
            load_spec(f"twin:{member}")


def test_each_that_ships_has_a_reference_that_beats_doing_nothing():
    for name in members():
        spec = load_spec(f"twin:{name}")
        assert spec.expert is not None
        scores = [spec.reference_scores[key] for key in ("expert", "random", "zero action")]
        best, *others = [(score.success_rate or 0, score.mean_return) for score in scores]
        assert all(best > other for other in others), name
