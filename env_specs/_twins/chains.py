"""Chains of links: Swimmer, Reacher and InvertedDoublePendulum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from . import sheets
from .chance import Chance
from .drawing import factors, made, scaled
from .recipe import Group, Recipe, View, World
from .wording import directions, either, listing, number, which


def _clockwise(view: View) -> str:
    """What is added to the rule that angles are positive anticlockwise, for those that are not."""
    turned = [at for at, sign in enumerate(view.signs["joints"]) if sign < 0]
    if not turned:
        return ""
    joints = f"joint{'' if len(turned) == 1 else 's'} {which(turned)}"
    return f" but for those of {joints}, which are positive clockwise"


def _largest(torques: Sequence[float]) -> str:
    """The words before and in the brackets that state the largest torques."""
    return f"largest torque{'' if len(set(torques)) == 1 else 's'} ({either(torques, 'N m')}"


# --- Swimmer ----------------------------------------------------------------------------------

_LINKS = ("torso", "mid", "back")
_HINGES = ("motor1_rot", "motor2_rot")


def _swimmer_world(chance: Chance) -> World:
    return {
        "body": {
            "lengths": factors(chance, _LINKS, 0.7, 1.5),
            "masses": factors(chance, _LINKS),
            "gears": factors(chance, _HINGES),
            "armatures": factors(chance, _HINGES),
            "fluid": chance.factor(),
        },
        "frame_skip": chance.choice((3, 5, 6)),
    }


def _swimmer_passages(world: World, view: View) -> Sequence[str]:
    step = number(0.01 * world["frame_skip"])
    lengths = scaled(world, "lengths", _LINKS, 1.0)
    front, middle, back = map(number, lengths)
    alike = len(set(lengths)) == 1
    hinges = ("between front and middle link", "between middle and back link")
    return (
        f"each {front} m long" if alike else f"{front}, {middle} and {back} m long from the front",
        f"Steps are {step} s apart",
        f"positive anticlockwise as seen from above{_clockwise(view).replace('joint', 'hinge')}",
        f"hinges: {listing(view.ordered('joints', hinges))}",
        f"{front} m behind its middle",
        f"starts near 0{', in the middle of the chain' if alike else ''}",
        _largest(view.ordered("joints", scaled(world, "gears", _HINGES, 150))),
        f"/ {step}",
    )


SWIMMER = Recipe(
    original="mujoco_swimmer",
    groups={"joints": Group(2, {"hinge_angles": True, "hinge_velocities": True})},
    action="joints",
    world={"body": {}, "frame_skip": 4},
    draw=_swimmer_world,
    passages=_swimmer_passages,
    make=made("Swimmer-v5", "swimmer.xml", "exclude_current_positions_from_observation=False"),
    imports=("bodies",),
    titles=("Eel", "Links in a fluid", "Chain"),
    words={
        "swim": ("move", "go"),
        "heading": ("bearing", "course"),
        "hinge_angles": ("bends", "joint_angles"),
        "heading_velocity": ("bearing_rate", "turning"),
        "hinge_velocities": ("bend_rates", "joint_rates"),
    },
    withheld=("swim",),
    facts=sheets.SWIMMER,
)

# --- Reacher ----------------------------------------------------------------------------------

_ARM = ("body0", "body1")
_ARM_JOINTS = ("joint0", "joint1")
#: Targets lie within this distance of the shoulder, in m: Gymnasium's own number.
_FARTHEST = 0.2


def _reacher_world(chance: Chance) -> World:
    while True:
        lengths = factors(chance, _ARM, 0.6, 1.6)
        upper, lower = 0.1 * lengths["body0"], 0.11 * lengths["body1"]
        # The arm reaches all targets but for those close to the shoulder.
        if upper + lower >= _FARTHEST + 0.01 and abs(upper - lower) <= 0.05:
            break
    return {
        "body": {
            "lengths": lengths,
            "masses": factors(chance, _ARM),
            "gears": factors(chance, _ARM_JOINTS),
            "dampings": factors(chance, _ARM_JOINTS),
            "armatures": factors(chance, _ARM_JOINTS),
        },
        "frame_skip": 3,  # the only other one between 0.6 and 1.6 times the original's
    }


def _reacher_lengths(world: World) -> list[float]:
    return scaled(world, "lengths", _ARM, (0.1, 0.11))


def _reacher_passages(world: World, view: View) -> Sequence[str]:
    upper, lower = (f"{length:.4f}".rstrip("0") for length in _reacher_lengths(world))
    shoulder, elbow = (view.orders["joints"].index(joint) for joint in (0, 1))
    names = view.ordered("joints", ("shoulder", "elbow"))
    against = view.ordered("joints", ("x", "upper link"))
    torques = view.ordered("joints", scaled(world, "gears", _ARM_JOINTS, 200))
    return (
        f"upper link is {upper.ljust(4, '0')} m long",
        f"tip it is {lower.ljust(4, '0')} m",
        f"Steps are {number(0.01 * world['frame_skip'])} s apart",
        f"positive anticlockwise as seen from above (x towards y){_clockwise(view)}",
        f"Joint {shoulder} is the shoulder, joint {elbow} the elbow",
        f"{names[0]}'s angle against {against[0]}, {names[1]}'s against {against[1]}",
        f"the torques on {names[0]} and {names[1]}",
        f"{_largest(torques)}; the joints are heavy",
    )


def _reacher_bounds(world: World) -> Mapping[str, tuple[float, float]]:
    farthest = round(sum(_reacher_lengths(world)) + _FARTHEST + 0.01, 2)
    return {"tip_offset": (-farthest, farthest)}


REACHER = Recipe(
    original="mujoco_reacher",
    groups={
        "joints": Group(2, {"cos_angles": False, "sin_angles": True, "joint_velocities": True})
    },
    action="joints",
    world={"body": {}, "frame_skip": 2},
    draw=_reacher_world,
    passages=_reacher_passages,
    make=made("Reacher-v5", "reacher.xml"),
    bounds=_reacher_bounds,
    imports=("bodies",),
    titles=("Two-link arm", "Planar arm", "Pointing arm"),
    words={
        "target": ("goal", "mark"),
        "tip": ("end", "point"),
        "cos_angles": ("cosines", "cos_of_angles"),
        "sin_angles": ("sines", "sin_of_angles"),
        "target_position": ("goal_place", "mark"),
        "joint_velocities": ("rates", "turning_rates"),
        "tip_offset": ("gap", "error"),
    },
    withheld=("reacher",),
    facts=sheets.REACHER,
)

# --- InvertedDoublePendulum -------------------------------------------------------------------

_POLES = ("pole", "pole2")
_CART_JOINTS = ("slider", "hinge", "hinge2")


def _poles_world(chance: Chance) -> World:
    while True:
        # Gymnasium's own numbers stay: the episode ends where the tip is no higher than 1 m, and
        # the reward asks for 2 m. So both poles together are well above the first and below the
        # second, and the upper one is not so short that it cannot be balanced.
        lengths = factors(chance, _POLES, 0.75, 1.6)
        if 1.15 <= 0.6 * sum(lengths.values()) <= 1.6:
            break
    return {
        "body": {
            "lengths": lengths,
            "masses": factors(chance, ("cart", *_POLES)),
            "gears": factors(chance, ("slider",)),
            "dampings": factors(chance, _CART_JOINTS),
        },
        "frame_skip": chance.choice((3, 4, 6)),
    }


def _poles_passages(world: World, view: View) -> Sequence[str]:
    lengths = scaled(world, "lengths", _POLES, 0.6)
    lower, upper = map(number, lengths)
    low, up = (view.orders["poles"].index(pole) for pole in (0, 1))
    names = view.ordered("poles", ("lower", "upper"))
    places = view.ordered("poles", ("the lower one", "the upper one"))
    ways = ("to the right (x)", "to the left (-x)")
    lean = directions(view.signs["poles"], "positive when leaning", *ways)
    push = "right" if view.sign("push") > 0 else "left"
    force = scaled(world, "gears", ("slider",), 500)[0]
    return (
        f"both are {lower} m long" if lower == upper else f"they are {lower} m and {upper} m long",
        f"Steps are {number(0.01 * world['frame_skip'])} s apart",
        f"Pole 0 is {places[0]}, pole 1 {places[1]}",
        f"The angle of pole {low} is measured from the vertical, that of pole {up} from pole {low}",
        lean,
        f"{number(round(sum(lengths), 3))} upright",
        f"units of {number(force)} N, positive to the {push}",
        f"{names[0]}, {names[1]} = next_observation.pole_velocities",
    )


POLES = Recipe(
    original="mujoco_inverted_double_pendulum",
    groups={
        "poles": Group(2, {"sin_angles": True, "cos_angles": False, "pole_velocities": True}),
        "push": Group(1),
    },
    action="push",
    world={"body": {}, "frame_skip": 5},
    draw=_poles_world,
    passages=_poles_passages,
    make=made("InvertedDoublePendulum-v5", "inverted_double_pendulum.xml"),
    imports=("bodies",),
    titles=("Stacked rods", "Balancer", "Two rods"),
    words={
        "pole": ("rod",),
        "poles": ("rods",),
        "cart": ("sledge", "carriage"),
        "cart_position": ("slide_position", "rail_position"),
        "sin_angles": ("sines", "sin_of_angles"),
        "cos_angles": ("cosines", "cos_of_angles"),
        "cart_velocity": ("slide_velocity", "rail_velocity"),
        "pole_velocities": ("rates", "rod_rates"),
        "end_force": ("stop_force", "buffer_force"),
        "tip_x": ("top_x", "end_x"),
        "tip_height": ("top_height", "end_height"),
    },
    withheld=("pendulum",),
    facts=sheets.POLES,
)
