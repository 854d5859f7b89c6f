"""Twins that ship: what is possible on them is known."""

import pytest

from env_specs.family_twin import members
from promptpo.spec import load_spec


@pytest.mark.parametrize("name", members())
def test_each_that_ships_has_a_reference_that_beats_doing_nothing(name):
    spec = load_spec(f"twin:{name}")
    scores = spec.reference_scores
    assert spec.expert is not None
    best, *others = (scores[key] for key in ("expert", "random", "zero action"))
    for other in others:
        assert (best.success_rate or 0, best.mean_return) > (
            other.success_rate or 0,
            other.mean_return,
        )
