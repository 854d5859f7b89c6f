"""The family of twins: seeds, crossings, references, and texts that do not name the original."""

import ast
from dataclasses import replace

import pytest

from env_specs._twins.module import interface_of, module_text
from env_specs._twins.recipes import RECIPES
from env_specs._twins.rewriting import Passages, Rewriting, text_of
from env_specs.family_twin import members
from promptpo.errors import SpecError
from promptpo.spec import layout, load_spec, prompt_parts
from promptpo.spec.importing import import_text


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


def test_no_twin_names_its_original():
    for name, recipe in RECIPES.items():
        for seed in range(3):
            prompt = prompt_parts(load_spec(f"twin:{name}@{seed}")).text.lower()
            assert not [word for word in recipe.withheld if word in prompt]


def words(text):
    """Return a text, or the parts of a prompt, without regard to where its lines break."""
    return " ".join(repr(text).replace("\\n", " ").split())


def prompt_words(spec):
    parts = prompt_parts(spec)
    code = [ast.unparse(ast.parse(text)) for text in (parts.observation, parts.reward)]
    return [" ".join(text.split()) for text in (parts.description, parts.action, *code)]


def test_the_original_in_its_own_world_and_view_has_its_own_text():
    for name, recipe in RECIPES.items():
        if name.startswith("mujoco_"):
            original = load_spec(name)
            plain = recipe.plain_view([item.name for item in layout(original.observation)])
            text = module_text(recipe, recipe.world, plain, title="", expert="", references="")
            module = import_text(text, f"twin:{name}@plain", f"plain_{name}", "env_specs")
            title, _, description = module.__doc__.partition("\n")
            assert title == original.title
            ours = replace(module.SPEC, description=description, facts="")
            assert prompt_words(ours) == prompt_words(original)
            continue
        text, _ = text_of(name)
        view = recipe.plain_view(text.names)
        passages = recipe.passages(recipe.world, view)
        bounds = {} if name.startswith("metaworld_") else recipe.bounds(recipe.world)
        both = Passages(passages, passages)
        rewriting = Rewriting(both, view.names, view.fields, bounds, {}, {}, {})
        assert words(rewriting(text)) == words(text)
        plain = interface_of(recipe, view, text)
        assert plain.columns == tuple(range(len(plain.columns)))
        assert {*plain.signs, *plain.action_signs} == {1}
        if not name.startswith("metaworld_"):
            assert plain.actions == tuple(range(len(plain.actions)))
            assert len(plain.columns) == len(text.names)
