"""Bodies with legs in a vertical plane: Hopper, Walker2d, HalfCheetah."""

from __future__ import annotations

from collections.abc import Sequence

from . import sheets
from .bodies import Body, bottoms, start_height
from .chance import Chance
from .drawing import drawn_body, lengths_of, made, scaled
from .recipe import Group, Recipe, View, World
from .wording import directions, either, listing, number, numbers, which

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
_JOINT_FIELDS = {"joint_angles": True, "joint_velocities": True}

_SWING = "a positive joint angle swings the lower end of a hanging part"
_FORWARD, _BACKWARD = "forward (the toes up)", "backward (the toes down)"

# --- Hopper -----------------------------------------------------------------------------------

_HOPPER = ("torso", "thigh", "leg", "foot")
_HOPPER_JOINTS = ("thigh_joint", "leg_joint", "foot_joint")


def _hopper_world(chance: Chance) -> World:
    body = drawn_body(chance, _HOPPER, _HOPPER_JOINTS, (0.7, 1.4))
    height = start_height("hopper.xml", part="torso", lengths=lengths_of({"body": body}))
    return {
        "body": body,
        "frame_skip": chance.choice((3, 5, 6)),
        "lowest": round(0.56 * height, 2),
    }


def _hopper_passages(world: World, view: View) -> Sequence[str]:
    joints = view.ordered("joints", ("hip (thigh)", "knee (shin)", "ankle (foot)"))
    low, high = view.limits("joints", (-2.618, -2.618, -0.785), (0, 0, 0.785))
    step, lowest = number(0.002 * world["frame_skip"]), number(world["lowest"])
    torques = view.ordered("joints", scaled(world, "gears", _HOPPER_JOINTS, 200))
    return (
        "hop forward without falling" if not view.names else "travel forward without falling",
        f"Steps are {step} s apart",
        f"torso's height is not above {lowest} m",
        f"starts near {start_height('hopper.xml', part='torso', lengths=lengths_of(world)):.2f}",
        directions(view.signs["joints"], _SWING, _FORWARD, _BACKWARD),
        f"everywhere: {listing(joints)}",
        f"{numbers(low)} to {numbers(high)}",
        f"as shares of the largest torque{'' if len(set(torques)) == 1 else 's'} "
        f"({either(torques, 'N m')})",
        f"/ {step}",
        f"height > {lowest}",
    )


HOPPER = Recipe(
    original="mujoco_hopper",
    groups={"joints": Group(3, _JOINT_FIELDS)},
    action="joints",
    world={"body": {}, "frame_skip": 4, "lowest": 0.7},
    draw=_hopper_world,
    passages=_hopper_passages,
    make=made(
        "Hopper-v5",
        "hopper.xml",
        'healthy_z_range=(WORLD["lowest"], math.inf)',
        "exclude_current_positions_from_observation=False",
    ),
    imports=("bodies",),
    titles=("Monopod", "One leg", "Pogo"),
    words=_NAMES,
    withheld=("hopper",),
    facts=sheets.HOPPER,
)

# --- Walker2d ---------------------------------------------------------------------------------

_WALKER_FILE = "walker2d_v5.xml"
_WALKER = ("torso", "thigh thigh_left", "leg leg_left", "foot foot_left")
_WALKER_MOTORS = (
    "thigh_joint thigh_left_joint",
    "leg_joint leg_left_joint",
    "foot_joint foot_left_joint",
)
_WALKER_JOINTS = tuple(pair.split()[side] for side in (0, 1) for pair in _WALKER_MOTORS)


def _walker_world(chance: Chance) -> World:
    body = drawn_body(chance, _WALKER, _WALKER_MOTORS, (0.7, 1.4))
    height = start_height(_WALKER_FILE, part="torso", lengths=lengths_of({"body": body}))
    return {
        "body": body,
        "frame_skip": chance.choice((3, 5, 6)),
        "lowest": round(0.64 * height, 2),
        "highest": round(1.6 * height, 2),
    }


def _walker_joints(order: Sequence[int]) -> str:
    """The joints in an order, with the part that each kind of joint moves where it comes first."""
    kinds = (("hip", "thigh"), ("knee", "shin"), ("ankle", "foot"))
    items, told = [], set()
    for index in order:
        kind, part = kinds[index % 3]
        items.append(f"{('right', 'left')[index // 3]} {kind}" + f" ({part})" * (kind not in told))
        told.add(kind)
    return listing(items)


def _walker_limits(view: View) -> str:
    """The limits; those of hips and knees lie on the side of 0 that their sign says."""
    bent = [at for at, index in enumerate(view.orders["joints"]) if index % 3 < 2]
    low, high = [[at for at in bent if view.signs["joints"][at] == sign] for sign in (1, -1)]
    if low and high:
        bending = f"-2.618 to 0 for {which(low)}; 0 to 2.618 for {which(high)};"
    else:
        bending = f"{'-2.618 to 0' if low else '0 to 2.618'} at hips and knees,"
    return f"{bending} -0.785 to 0.785 at the ankles"


def _walker_passages(world: World, view: View) -> Sequence[str]:
    step, lowest, highest = number(0.002 * world["frame_skip"]), world["lowest"], world["highest"]
    torques = view.ordered("joints", scaled(world, "gears", _WALKER_JOINTS, 100))
    return (
        f"Steps are {step} s apart",
        f"height is not between {lowest} m and {highest} m",
        f"starts near {start_height(_WALKER_FILE, part='torso', lengths=lengths_of(world)):.2f}",
        directions(view.signs["joints"], _SWING, _FORWARD, _BACKWARD),
        f"everywhere: {_walker_joints(view.orders['joints'])}",
        _walker_limits(view),
        f"as shares of the largest torque{'' if len(set(torques)) == 1 else 's'} "
        f"({either(torques, 'N m')})",
        f"/ {step}",
        f"{lowest} < next_observation.height < {highest}",
    )


WALKER = Recipe(
    original="mujoco_walker2d",
    groups={"joints": Group(6, _JOINT_FIELDS)},
    action="joints",
    world={"body": {}, "frame_skip": 4, "lowest": 0.8, "highest": 2.0},
    draw=_walker_world,
    passages=_walker_passages,
    make=made(
        "Walker2d-v5",
        _WALKER_FILE,
        'healthy_z_range=(WORLD["lowest"], WORLD["highest"])',
        "exclude_current_positions_from_observation=False",
    ),
    imports=("bodies",),
    titles=("Biped", "Two legs", "Stepper"),
    words=_NAMES | {"walk": ("travel", "go")},
    withheld=("walker", "walk "),
    facts=sheets.WALKER,
)

# --- HalfCheetah ------------------------------------------------------------------------------

_CHEETAH_FILE = "half_cheetah.xml"
_CHEETAH_JOINTS = ("bthigh", "bshin", "bfoot", "fthigh", "fshin", "ffoot")
_CHEETAH = ("torso", *_CHEETAH_JOINTS)
_CHEETAH_LOW = (-0.52, -0.785, -0.4, -1.0, -1.2, -0.5)
_CHEETAH_HIGH = (1.05, 0.785, 0.785, 0.7, 0.87, 0.5)
_CHEETAH_TORQUES = (120, 90, 60, 120, 60, 30)


# Legs that hang to heights further apart, in m, would let the body fall over at the start.
_CHEETAH_SLOPE = 0.12


def _cheetah_world(chance: Chance) -> World:
    while True:
        body = drawn_body(chance, _CHEETAH, _CHEETAH_JOINTS, (0.7, 1.4))
        world = {"body": body, "frame_skip": chance.choice((3, 4, 6, 7, 8))}
        ends = bottoms(_CHEETAH_FILE, Body(dict(lengths_of(world))))
        if abs(ends["bfoot"] - ends["ffoot"]) < _CHEETAH_SLOPE:
            return world


def _cheetah_passages(world: World, view: View) -> Sequence[str]:
    step = number(0.01 * world["frame_skip"])
    low, high = view.limits("joints", _CHEETAH_LOW, _CHEETAH_HIGH)
    torques = view.ordered("joints", scaled(world, "gears", _CHEETAH_JOINTS, _CHEETAH_TORQUES))
    joints = [f"{end} {part}" for end in ("back", "front") for part in ("thigh", "shin", "foot")]
    height = start_height(_CHEETAH_FILE, part="torso", lengths=lengths_of(world))
    return (
        f"Steps are {step} s apart",
        f"in the upright model ({number(round(height, 3))} m)",
        directions(
            view.signs["joints"],
            "a positive joint angle swings the lower end of a part that hangs down",
            "to the back (-x)",
            "to the front (+x)",
        ),
        f"everywhere: {listing(view.ordered('joints', joints))}",
        f"{_decimals(low)} to {_decimals(high)}",
        f"({either(torques, 'N m')})",
        f"/ {step}",
    )


def _decimals(values: Sequence[float]) -> str:
    """A tuple as Python writes it: (-0.52, 1.0)."""
    return str(tuple(map(float, values)))


CHEETAH = Recipe(
    original="mujoco_halfcheetah",
    groups={"joints": Group(6, _JOINT_FIELDS)},
    action="joints",
    world={"body": {}, "frame_skip": 5},
    draw=_cheetah_world,
    passages=_cheetah_passages,
    make=made(
        "HalfCheetah-v5",
        _CHEETAH_FILE,
        "exclude_current_positions_from_observation=False",
    ),
    imports=("bodies",),
    titles=("Runner", "Front and back leg", "Bounder"),
    words=_NAMES | {"runner": ("body", "machine")},
    withheld=("cheetah",),
    facts=sheets.CHEETAH,
)
