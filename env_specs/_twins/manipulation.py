"""What the twins of Meta-World tasks share: an arm moves its hand over a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from . import machines
from .chance import Chance
from .frame import Axes, Frame
from .recipe import Facts, Group, Recipe, View, World
from .wording import decimal, number

#: Words for the arm's parts and for kinds of numbers.
_NAMES = {
    "hand": ("flange", "palm"),
    "gripper": ("claw", "clamp"),
    "position": ("location", "place"),
    "rotation": ("orientation", "attitude"),
    "fingertip": ("pinch", "fingers_middle"),
}

#: Where the axes of the original point to, and where they would point to if they were turned.
_WAYS = {
    0: (
        "to the robot's right as it looks over the table",
        "to the robot's left as it looks over the table",
    ),
    1: ("away from the robot's base", "towards the robot's base"),
}


def arm_recipe(
    original: str,
    *,
    draw: Callable[[Chance], World],
    passages: Callable[[World, View, Axes], Sequence[str]],
    frame: Frame,
    titles: tuple[str, ...],
    words: Mapping[str, tuple[str, ...]],
    groups: Mapping[str, Group] | None = None,
    facts: Callable[[World, View], Facts] = machines.HAND,
) -> Recipe:
    """The recipe of a task, given what is its own; ``groups`` are beside frame and gripper."""
    task = original.removeprefix("metaworld_")
    return Recipe(
        original=original,
        groups={"frame": frame, "gripper": Group(1), **(groups or {})},
        action=("frame", "gripper"),
        world={"action_scale": 0.01, "frame_skip": 5},
        draw=draw,
        passages=lambda world, view: _passages(world, view, passages),
        make=lambda world: "    env = arms.in_world(original.make(), **WORLD)",
        imports=("arms",),
        titles=titles,
        words=_NAMES | dict(words),
        withheld=("meta-world", "metaworld", "sawyer", task, task.replace("_", "-")),
        expert=_expert,
        facts=facts,
    )


def frame_of(
    *positions: str,
    rotations: Mapping[str, int],
    coordinates: Mapping[str, int] | None = None,
) -> Frame:
    """The frame of a task that has these positions beside those of the hand."""
    known = ["hand_position", "previous_hand_position", "fingertip_position"]
    return Frame(
        fields=dict.fromkeys((*known, *positions), True),
        rotations=rotations,
        coordinates=coordinates or {},
    )


def decimals(values: Sequence[float], digits: int | None = None) -> str:
    """Numbers with so many decimals; with as many as they need, where that is not given."""
    parts = [decimal(value) if digits is None else f"{value:.{digits}f}" for value in values]
    return ", ".join(parts)


def less(value: float, digits: int | None = None) -> str:
    """What subtracts a number: - 0.5, + 0.2."""
    return f"{'-' if value >= 0 else '+'} {decimals([abs(value)], digits)}"


def drawn_motion(chance: Chance, skips: Sequence[int]) -> dict[str, object]:
    """Drawn numbers of a world that are about the hand."""
    return {
        "action_scale": round(0.01 * chance.factor(), 4),
        "frame_skip": chance.choice(skips),
    }


def _passages(
    world: World, view: View, own: Callable[[World, View, Axes], Sequence[str]]
) -> tuple[str, ...]:
    """The passages that all tasks have, and those that one has."""
    axes = Axes(view)
    unit, grip = number(world["action_scale"]), view.sign("gripper")
    table = decimal(axes.at(2, 0.0))
    box = {0: (-0.5, 0.5), 1: (0.4, 1.0), 2: (0.05, 0.5)}
    return (
        f"{'A robot' if view.names else 'A Sawyer'} arm stands behind a table",
        f"starts near ({decimals(axes.point((0.0, 0.6, 0.2)), 2)})",
        f"kept inside {axes.region(box)}",
        f"World frame, in metres: {axes.axes(_WAYS)}, z up "
        + (
            "from the table top (z = 0)" if table == "0.0" else f"(the table top is at z = {table})"
        ),
        f"in units of {unit} m (so 1.0 asks for {unit} m)",
        "positive closes the fingers, negative opens them"
        if grip > 0
        else "negative closes the fingers, positive opens them",
        *own(world, view, axes),
    )


def _expert(world: World) -> str:
    unit = number(0.01 / world["action_scale"])
    return f"INTERFACE.played(original.SPEC.expert, ({unit}, {unit}, {unit}, 1.0))"
