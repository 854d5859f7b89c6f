"""Bodies with legs in a vertical plane: Hopper, Walker2d, HalfCheetah."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .bodies import start_height
from .chance import Chance
from .recipe import Group, Recipe, View, World
from .wording import directions, either, listing, number, numbers

_NAMES = {
    "x_position": ("travel", "forward_position", "distance_along_x"),
    "height": ("elevation", "trunk_height"),
    "pitch": ("lean", "tilt"),
    "joint_angles": ("hinge_angles", "angles_of_joints"),
    "x_velocity": ("forward_velocity", "travel_rate"),
    "z_velocity": ("climb_rate", "vertical_velocity"),
    "pitch_velocity": ("lean_rate", "tilt_rate"),
    "joint_velocities": ("hinge_rates", "rates_of_joints"),
    "torso": ("trunk",),
}


def _numbers_of(chance: Chance, names: Sequence[str]) -> dict[str, float]:
    return {name: chance.factor() for name in names}


def _drawn_body(
    chance: Chance, parts: Sequence[str], joints: Sequence[str], lengths: tuple[float, float]
) -> dict[str, object]:
    """What ``Body`` takes: a factor for each part, each joint, and the friction."""
    return {
        "lengths": {part: chance.factor(*lengths) for part in parts},
        "masses": _numbers_of(chance, parts),
        "gears": _numbers_of(chance, joints),
        "dampings": _numbers_of(chance, joints),
        "armatures": _numbers_of(chance, joints),
        "friction": chance.factor(),
    }


def _gears(world: World, joints: Sequence[str], torques: Sequence[float]) -> list[float]:
    gears: Mapping[str, float] = world["body"].get("gears", {})
    return [torque * gears.get(joint, 1.0) for joint, torque in zip(joints, torques, strict=True)]


def _lengths(world: World) -> tuple[tuple[str, float], ...]:
    return tuple(sorted(world["body"].get("lengths", {}).items()))


# --- Hopper -----------------------------------------------------------------------------------

_HOPPER = ("torso", "thigh", "leg", "foot")
_HOPPER_JOINTS = ("thigh_joint", "leg_joint", "foot_joint")


def _hopper_world(chance: Chance) -> World:
    body = _drawn_body(chance, _HOPPER, _HOPPER_JOINTS, (0.7, 1.4))
    height = start_height("hopper.xml", part="torso", lengths=_lengths({"body": body}))
    return {
        "body": body,
        "frame_skip": chance.choice((3, 5, 6)),
        "lowest": round(0.56 * height, 2),
    }


def _hopper_passages(world: World, view: View) -> Sequence[str]:
    joints = view.ordered("joints", ("hip (thigh)", "knee (shin)", "ankle (foot)"))
    low, high = view.limits("joints", (-2.618, -2.618, -0.785), (0, 0, 0.785))
    step, lowest = number(0.002 * world["frame_skip"]), number(world["lowest"])
    torques = view.ordered("joints", _gears(world, _HOPPER_JOINTS, (200, 200, 200)))
    swing = "a positive joint angle swings the lower end of a hanging part"
    return (
        "hop forward without falling" if not view.names else "travel forward without falling",
        f"Steps are {step} s apart",
        f"torso's height is not above {lowest} m",
        f"starts near {start_height('hopper.xml', part='torso', lengths=_lengths(world)):.2f}",
        directions(
            view.signs["joints"], swing, "forward (the toes up)", "backward (the toes down)"
        ),
        f"everywhere: {listing(joints)}",
        f"{numbers(low)} to {numbers(high)}",
        f"as shares of the largest torque{'' if len(set(torques)) == 1 else 's'} "
        f"({either(torques, 'N m')})",
        f"/ {step}",
        f"height > {lowest}",
    )


HOPPER = Recipe(
    original="mujoco_hopper",
    groups={"joints": Group(3, {"joint_angles": True, "joint_velocities": True})},
    action="joints",
    world={"body": {}, "frame_skip": 4, "lowest": 0.7},
    draw=_hopper_world,
    passages=_hopper_passages,
    make=lambda world: (
        """\
    env = bodies.make_env(
        "Hopper-v5",
        "hopper.xml",
        bodies.Body(**WORLD["body"]),
        frame_skip=WORLD["frame_skip"],
        healthy_z_range=(WORLD["lowest"], math.inf),
        exclude_current_positions_from_observation=False,
    )"""
    ),
    imports=("bodies",),
    titles=("Monopod", "One leg", "Pogo"),
    words=_NAMES,
    withheld=("hopper",),
)
