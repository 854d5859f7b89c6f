"""The tasks that have twins."""

from __future__ import annotations

from .manipulation import DRAWER_OPEN, PICK_PLACE
from .planar import CHEETAH, HOPPER, WALKER
from .recipe import Recipe

RECIPES: dict[str, Recipe] = {
    recipe.original: recipe
    for recipe in (
        HOPPER,
        WALKER,
        CHEETAH,
        DRAWER_OPEN,
        PICK_PLACE,
    )
}
