"""Meta-World's tasks in which an arm goes or brings something somewhere: reach, pick-place."""

from __future__ import annotations

from collections.abc import Sequence

from . import machines
from .chance import Chance
from .frame import Axes
from .manipulation import arm_recipe, decimals, drawn_motion, frame_of, less
from .recipe import View, World
from .wording import number

_ROTATIONS = {"puck_rotation": 3, "previous_puck_rotation": 3}
_WORDS = {"puck": ("disc", "token"), "goal": ("target", "mark")}

#: Where puck and goal are, by axis.
_PUCK = {0: (-0.1, 0.1), 1: (0.6, 0.7)}
_GOAL = {0: (-0.1, 0.1), 1: (0.8, 0.9), 2: (0.05, 0.3)}


# --- reach ------------------------------------------------------------------------------------


def _reach_world(chance: Chance) -> World:
    return drawn_motion(chance, (3, 4, 7, 8))


def _reach_passages(world: World, view: View, axes: Axes) -> Sequence[str]:
    return (
        f"differs from one to the next: {axes.region(_GOAL)}",
        f"at a random place ({axes.region(_PUCK)})",
        f"np.array([{decimals(axes.point((0.0, 0.6, 0.2)))}]) - goal",
    )


REACH = arm_recipe(
    "metaworld_reach",
    draw=_reach_world,
    passages=_reach_passages,
    frame=frame_of(
        "puck_position", "previous_puck_position", "goal_position", rotations=_ROTATIONS
    ),
    titles=("Pointer", "Touch", "Crane"),
    words=_WORDS,
)


# --- pick-place -------------------------------------------------------------------------------

#: The midpoint of the finger pads at the start, which the reward counts from.
_TIPS = (0.004285731, 0.601488729, 0.150189277)


def _puck_world(chance: Chance) -> World:
    radius = round(0.02 * chance.factor(0.8, 1.3), 4)
    # With 3, 7 or 8 simulator steps the original's controller scores much less.
    motion = drawn_motion(chance, (4, 6))
    return motion | {"radii": {"objGeom": radius}, "masses": {"obj": chance.factor()}}


def _puck_passages(world: World, view: View, axes: Axes) -> Sequence[str]:
    across, along = axes.index(0), axes.index(1)
    radius = number(world.get("radii", {}).get("objGeom", 0.02))
    tips = axes.point(_TIPS)
    far, near = (f"far - puck[{along}]", f"puck[{along}] - near")
    if axes.sign(1) < 0:
        far, near = (f"puck[{along}] - far", f"near - puck[{along}]")
    return (
        f"a cylinder of {radius} m radius",
        f"fingers close along {axes.name(1)}",
        f"puck {axes.region(_PUCK)}; goal {axes.region(_GOAL)}",
        f"{axes.name(1)} of the finger pads",
        f"abs(puck[{along}] - far)",
        f"abs(puck[{along}] - near)",
        f"tolerance_between({far},",
        f"tolerance_between({near},",
        f"tips[{across}] - puck[{across}]",
        f"start[{across}] {less(tips[across], 9)}",
        f"start[2] {less(tips[2], 9)}",
        f"closing = min(max({'' if view.sign('gripper') > 0 else '-'}float(action[3])",
    )


PICK_PLACE = arm_recipe(
    "metaworld_pick_place",
    draw=_puck_world,
    passages=_puck_passages,
    frame=frame_of(
        "puck_position",
        "previous_puck_position",
        "goal_position",
        "puck_start",
        rotations=_ROTATIONS,
        coordinates={"finger_pads": 1},
    ),
    titles=("Assembly table", "Workbench", "Loader"),
    words=_WORDS | {"near_goal": ("closeness",), "in_hand": ("held",)},
    facts=machines.PUCK,
)
