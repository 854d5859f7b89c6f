"""Meta-World's tasks in which an arm opens something: drawer-open, door-open."""

from __future__ import annotations

from collections.abc import Sequence

from . import machines
from .chance import Chance
from .frame import Axes
from .manipulation import arm_recipe, decimals, drawn_motion, frame_of, less
from .recipe import Group, View, World

# --- drawer-open ------------------------------------------------------------------------------

#: The midpoint of the finger pads at the start, which the reward counts from.
_TIPS = (0.004285731, 0.601488729, 0.150189280)


def _drawer_world(chance: Chance) -> World:
    motion = drawn_motion(chance, (3, 4, 7, 8))
    return motion | {"dampings": {"goal_slidey": chance.factor()}}


def _drawer_passages(world: World, view: View, axes: Axes) -> Sequence[str]:
    closed, opened = axes.at(1, 0.73), axes.at(1, 0.57)
    return (
        f"Pulling the handle along {axes.towards(1, -1)}",
        f"elsewhere in the next: {axes.region({0: (-0.1, 0.1)})}",
        f"only {axes.name(1)} changes, from about {closed:.2f} when closed to about {opened:.2f}",
        f"start = np.array([{decimals(axes.point(_TIPS), 9)}])",
        f"closed = goal + np.array([{decimals(axes.vector((0.0, 0.2, 0.0)))}])",
    )


DRAWER_OPEN = arm_recipe(
    "metaworld_drawer_open",
    draw=_drawer_world,
    passages=_drawer_passages,
    frame=frame_of(
        "handle_position",
        "previous_handle_position",
        "open_position",
        rotations={"handle_rotation": 0, "previous_handle_rotation": 0},
    ),
    titles=("Chest", "Tray", "Cabin"),
    words={
        "handle": ("bar", "lug"),
        "at_handle": ("reached",),
        "drawer": ("tray", "sliding box"),
        "cabinet": ("chest", "rack"),
    },
    facts=machines.DRAWER,
)


# --- door-open --------------------------------------------------------------------------------


def _door_world(chance: Chance) -> World:
    # With 7 simulator steps and small steps of the hand the original's controller fails at times.
    motion = drawn_motion(chance, (3, 4))
    return motion | {"dampings": {"doorjoint": chance.factor()}}


def _door_passages(world: World, view: View, axes: Axes) -> Sequence[str]:
    across, x = axes.index(0), axes.name(0)
    handle = axes.region({0: (0.19, 0.29), 1: (0.64, 0.75)})
    beside = axes.vector((0.05, 0.0, 0.0))[:2]
    table = axes.at(2, 0.0)
    ajar, closing = view.sign("hinge") > 0, view.sign("gripper") > 0
    return (
        f"0.107 m beyond it ({axes.name(1)})",
        f"the handle's {x} is within 0.08 m of that of",
        f"the handle starts at {handle}",
        f"z is always {decimals([axes.at(2, 0.15)])}",
        f"the handle's {x} is within 0.08 m of this {x}",
        f"0 closed, {'negative' if ajar else 'positive'} when open",
        f"soft limits at {'-2 and 0' if ajar else '0 and 2'}",
        f"abs(handle[{across}] - next_observation.open_position[{across}])",
        f"np.array([{decimals(beside)}])",
        f"np.array([{decimals(axes.vector((0.0, 0.03, -0.01)))}])",
        f"hand[2] {less(table)} < floor" if table else "hand[2] < floor",
        f"floor - float(hand[2]) {less(-table)}, bound"
        if table
        else "floor - float(hand[2]), bound",
        f"grip = ({'float(action[3]) + 1.0' if closing else '1.0 - float(action[3])'})",
        f"angle = {'-' if ajar else ''}next_observation.door_angle",
    )


DOOR_OPEN = arm_recipe(
    "metaworld_door_open",
    draw=_door_world,
    passages=_door_passages,
    frame=frame_of(
        "handle_position",
        "previous_handle_position",
        "open_position",
        rotations={"handle_rotation": 3, "previous_handle_rotation": 3},
    ),
    groups={"hinge": Group(1, {"door_angle": True})},
    titles=("Locker", "Hatch", "Booth"),
    words={"handle": ("bar", "lug"), "door": ("flap", "shutter"), "box": ("cupboard", "housing")},
    facts=machines.DOOR,
)
