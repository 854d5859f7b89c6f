"""Meta-World tasks: an arm moves its hand over a table; drawer-open, pick-place."""

from __future__ import annotations

from collections.abc import Sequence

from .chance import Chance
from .frame import Axes, Frame
from .recipe import Group, Recipe, View, World
from .wording import decimal, number

_NAMES = {
    "hand": ("flange", "palm"),
    "gripper": ("claw", "clamp"),
    "position": ("location", "place"),
    "rotation": ("orientation", "attitude"),
    "fingertip": ("pinch", "fingers_middle"),
}
_WITHHELD = ("meta-world", "metaworld", "sawyer")

#: The midpoint of the finger pads at the start, which rewards count from, as drawer-open and
#: pick-place have it.
_DRAWER_TIPS = (0.004285731, 0.601488729, 0.150189280)
_PUCK_TIPS = (0.004285731, 0.601488729, 0.150189277)

#: Where the axes of the original point to, and where they would point to if they were turned.
_WAYS = {
    0: (
        "to the robot's right as it looks over the table",
        "to the robot's left as it looks over the table",
    ),
    1: ("away from the robot's base", "towards the robot's base"),
}


def _vector(values: Sequence[float], digits: int | None = None) -> str:
    parts = [decimal(value) if digits is None else f"{value:.{digits}f}" for value in values]
    return ", ".join(parts)


def _motion(chance: Chance, skips: Sequence[int]) -> dict[str, object]:
    """Drawn numbers of a world that are about the hand."""
    return {
        "action_scale": round(0.01 * chance.factor(), 4),
        "frame_skip": chance.choice(skips),
    }


def _common(world: World, view: View, axes: Axes) -> tuple[str, ...]:
    """The passages that all tasks have."""
    unit, grip = number(world["action_scale"]), view.sign("gripper")
    table = decimal(axes.at(2, 0.0))
    box = {0: (-0.5, 0.5), 1: (0.4, 1.0), 2: (0.05, 0.5)}
    return (
        f"{'A robot' if view.names else 'A Sawyer'} arm stands behind a table",
        f"starts near ({_vector(axes.point((0.0, 0.6, 0.2)), 2)})",
        f"kept inside {axes.region(box)}",
        f"World frame, in metres: {axes.axes(_WAYS)}, z up "
        + (
            "from the table top (z = 0)" if table == "0.0" else f"(the table top is at z = {table})"
        ),
        f"in units of {unit} m (so 1.0 asks for {unit} m)",
        "positive closes the fingers, negative opens them"
        if grip > 0
        else "negative closes the fingers, positive opens them",
    )


def _make(world: World) -> str:
    return "    env = arms.in_world(original.make(), **WORLD)"


def _expert(world: World) -> str:
    unit = number(0.01 / world["action_scale"])
    return f"INTERFACE.played(original.SPEC.expert, ({unit}, {unit}, {unit}, 1.0))"


# --- drawer-open ------------------------------------------------------------------------------


def _drawer_world(chance: Chance) -> World:
    motion = _motion(chance, (3, 4, 7, 8))
    return motion | {"dampings": {"goal_slidey": chance.factor()}}


def _drawer_passages(world: World, view: View) -> Sequence[str]:
    axes = Axes(view)
    closed, opened = axes.at(1, 0.73), axes.at(1, 0.57)
    return (
        *_common(world, view, axes),
        f"Pulling the handle along {axes.towards(1, -1)}",
        f"elsewhere in the next: {axes.region({0: (-0.1, 0.1)})}",
        f"only {axes.name(1)} changes, from about {closed:.2f} when closed to about {opened:.2f}",
        f"start = np.array([{_vector(axes.point(_DRAWER_TIPS), 9)}])",
        f"closed = goal + np.array([{_vector(axes.vector((0.0, 0.2, 0.0)))}])",
    )


_DRAWER = Frame(
    fields=dict.fromkeys(
        (
            "hand_position",
            "handle_position",
            "previous_hand_position",
            "previous_handle_position",
            "open_position",
            "fingertip_position",
        ),
        True,
    ),
    rotations={"handle_rotation": 0, "previous_handle_rotation": 0},
)

DRAWER_OPEN = Recipe(
    original="metaworld_drawer_open",
    groups={"frame": _DRAWER, "gripper": Group(1)},
    action=("frame", "gripper"),
    world={"action_scale": 0.01, "frame_skip": 5},
    draw=_drawer_world,
    passages=_drawer_passages,
    make=_make,
    imports=("arms",),
    titles=("Chest", "Tray", "Cabin"),
    words=_NAMES
    | {"handle": ("bar", "lug"), "drawer": ("tray", "sliding box"), "cabinet": ("chest", "rack")},
    withheld=(*_WITHHELD, "drawer-open", "drawer_open", "drawer open"),
    expert=_expert,
)


# --- pick-place -------------------------------------------------------------------------------


def _puck_world(chance: Chance) -> World:
    radius = round(0.02 * chance.factor(0.8, 1.3), 4)
    motion = _motion(chance, (4, 6))
    return motion | {"radii": {"objGeom": radius}, "masses": {"obj": chance.factor()}}


def _puck_passages(world: World, view: View) -> Sequence[str]:
    axes = Axes(view)
    across, along = axes.index(0), axes.index(1)
    puck = axes.region({0: (-0.1, 0.1), 1: (0.6, 0.7)})
    goal = axes.region({0: (-0.1, 0.1), 1: (0.8, 0.9), 2: (0.05, 0.3)})
    radius = number(world.get("radii", {}).get("objGeom", 0.02))
    tips = axes.point(_PUCK_TIPS)
    forward = axes.sign(1) > 0
    return (
        *_common(world, view, axes),
        f"a cylinder of {radius} m radius",
        f"fingers close along {axes.name(1)}",
        f"puck {puck}; goal {goal}",
        f"{axes.name(1)} of the finger pads",
        f"abs(puck[{along}] - far)",
        f"abs(puck[{along}] - near)",
        f"tolerance_between({f'far - puck[{along}]' if forward else f'puck[{along}] - far'},",
        f"tolerance_between({f'puck[{along}] - near' if forward else f'near - puck[{along}]'},",
        f"tips[{across}] - puck[{across}]",
        f"start[{across}] {_less(tips[across])}",
        f"start[2] {_less(tips[2])}",
        f"closing = min(max({'' if view.sign('gripper') > 0 else '-'}float(action[3])",
    )


def _less(value: float) -> str:
    """What subtracts a number."""
    return f"{'-' if value >= 0 else '+'} {abs(value):.9f}"


_PUCK = Frame(
    fields=dict.fromkeys(
        (
            "hand_position",
            "puck_position",
            "previous_hand_position",
            "previous_puck_position",
            "goal_position",
            "fingertip_position",
            "puck_start",
        ),
        True,
    ),
    rotations={"puck_rotation": 3, "previous_puck_rotation": 3},
    coordinates={"finger_pads": 1},
)

PICK_PLACE = Recipe(
    original="metaworld_pick_place",
    groups={"frame": _PUCK, "gripper": Group(1)},
    action=("frame", "gripper"),
    world={"action_scale": 0.01, "frame_skip": 5},
    draw=_puck_world,
    passages=_puck_passages,
    make=_make,
    imports=("arms",),
    titles=("Assembly table", "Workbench", "Loader"),
    words=_NAMES | {"puck": ("disc", "token"), "goal": ("target", "mark")},
    withheld=(*_WITHHELD, "pick-place", "pick_place", "pick and place"),
    expert=_expert,
)
