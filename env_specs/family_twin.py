"""Twins of shipped specs: another world, truthfully described, that no model has seen.

``twin:NAME`` is the twin that ships; ``twin:NAME@SEED`` is drawn from another seed. A world may be
met behind the order, signs and names of another, as ``promptpo eval --on`` needs it:
``twin:NAME@SEED+original`` (or ``+SEED``, ``+shipped``), and ``twin:NAME@original+SEED``.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from promptpo.spec import UnknownMember

from ._shared.references import references_source
from ._twins import module
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
    if "+" in member:
        return _crossed(member)
    recipe, seed = _named(member)
    fields = text_of(recipe.original)[0].names
    shipped = seed == recipe.seed
    name = recipe.original
    world = recipe.drawn_world(seed)
    kept = shipped and (_FOLDER / "policies" / f"{name}.py").is_file()
    expert = module.EXPERT if kept else ""
    if recipe.expert:
        expert, kept = recipe.expert(world), shipped
    return module_text(
        recipe,
        world,
        recipe.drawn_view(seed, fields),
        title=recipe.title(seed),
        expert=expert,
        references=_references(recipe) if kept else "",
    )


def _crossed(member: str) -> str:
    """The text of ``NAME@WORLD+INTERFACE``, whose parts are seeds, or those of the original."""
    found = re.fullmatch(r"(\w+)(?:@(\d{1,9}|original))?\+(\d{1,9}|original|shipped)", member)
    if not found or found[1] not in RECIPES:
        raise UnknownMember(member)
    recipe = RECIPES[found[1]]
    fields = text_of(recipe.original)[0].names
    if found[2] == "original":
        world, references = recipe.world, "**original.SPEC.references"
    else:
        seed = recipe.seed if found[2] is None else int(found[2])
        world, shipped = recipe.drawn_world(seed), seed == recipe.seed
        references = _references(recipe) if shipped else ""
    if found[3] == "original":
        title, view = "", recipe.plain_view(fields)
        recipe = replace(recipe, withheld=())
    else:
        seed = recipe.seed if found[3] == "shipped" else int(found[3])
        title, view = recipe.title(seed), recipe.drawn_view(seed, fields)
    return module_text(recipe, world, view, title=title, expert="", references=references)


def _references(recipe: Recipe) -> str:
    """What was measured of the twin that ships."""
    return references_source(_FOLDER / "references.json", f"twin:{recipe.original}")


def _named(member: str) -> tuple[Recipe, int]:
    """The recipe and the seed of ``NAME`` or ``NAME@SEED``."""
    found = re.fullmatch(r"(\w+)(?:@(\d{1,9}))?", member)
    if not found or found[1] not in RECIPES:
        raise UnknownMember(member)
    recipe = RECIPES[found[1]]
    return recipe, recipe.seed if found[2] is None else int(found[2])
