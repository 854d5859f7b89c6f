"""Twins of shipped specs: another world, truthfully described, that no model has seen.

``twin:NAME`` is the twin that ships; ``twin:NAME@SEED`` is drawn from another seed.
"""

from __future__ import annotations

import re
from pathlib import Path

from promptpo.spec import UnknownMember

from ._shared.references import references_source
from ._twins.module import module_text
from ._twins.recipe import Recipe
from ._twins.recipes import RECIPES
from ._twins.rewriting import text_of

_FOLDER = Path(__file__).with_name("_twins")

EXAMPLE = "mujoco_hopper"
INSTALL = "gymnasium[mujoco] metaworld>=3.1.1"


def members() -> list[str]:
    """The specs that have twins."""
    return list(RECIPES)


def source(member: str) -> str:
    """The text of a twin's spec module. Raises UnknownMember."""
    recipe, seed = _named(member)
    fields = text_of(recipe.original)[0].names
    shipped = seed == recipe.seed
    name = recipe.original
    world = recipe.drawn_world(seed)
    kept = shipped and (_FOLDER / "policies" / f"{name}.py").is_file()
    expert = f'expert_of("{name}", Observation)' if kept else ""
    if recipe.expert:
        expert, kept = recipe.expert(world), shipped
    return module_text(
        recipe,
        world,
        recipe.drawn_view(seed, fields),
        title=recipe.title(seed),
        expert=expert,
        references=references_source(_FOLDER / "references.json", f"twin:{name}") if kept else "",
    )


def _named(member: str) -> tuple[Recipe, int]:
    """The recipe and the seed of ``NAME`` or ``NAME@SEED``."""
    found = re.fullmatch(r"(\w+)(?:@(\d{1,9}))?", member)
    if not found or found[1] not in RECIPES:
        raise UnknownMember(member)
    recipe = RECIPES[found[1]]
    return recipe, recipe.seed if found[2] is None else int(found[2])
