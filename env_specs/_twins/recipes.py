"""The tasks that have twins."""

from __future__ import annotations

from .ant import ANT
from .carrying import PICK_PLACE, REACH
from .chains import POLES, REACHER, SWIMMER
from .classics import ACROBOT, CARTPOLE, MOUNTAIN_CAR_CONTINUOUS
from .landers import LUNAR_LANDER
from .opening import DOOR_OPEN, DRAWER_OPEN
from .planar import CHEETAH, HOPPER, WALKER
from .recipe import Recipe

RECIPES: dict[str, Recipe] = {
    recipe.original: recipe
    for recipe in (
        HOPPER,
        WALKER,
        CHEETAH,
        ANT,
        SWIMMER,
        REACHER,
        POLES,
        CARTPOLE,
        MOUNTAIN_CAR_CONTINUOUS,
        ACROBOT,
        LUNAR_LANDER,
        DRAWER_OPEN,
        PICK_PLACE,
        REACH,
        DOOR_OPEN,
    )
}
