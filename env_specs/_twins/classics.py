"""The classics of control: CartPole, MountainCarContinuous, Acrobot."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from promptpo.spec import Bound

from . import machines
from .chance import Chance
from .recipe import Group, Recipe, View, World
from .wording import number


def either_way(sign: int, plus: str, minus: str) -> str:
    """What a positive number means: ``plus`` where it has the original's sign."""
    return plus if sign > 0 else minus


def _rounded_up(value: float, digits: int) -> float:
    return math.ceil(value * 10.0**digits - 1e-9) / 10.0**digits


# --- CartPole ---------------------------------------------------------------------------------


def _cart_world(chance: Chance) -> World:
    return {
        "gravity": round(9.8 * chance.factor(), 2),
        "cart_mass": chance.factor(),
        "pole_mass": round(0.1 * chance.factor(), 3),
        "half_length": round(0.5 * chance.factor(), 2),
        "force": round(10 * chance.factor(), 1),
        "step": round(0.02 * chance.factor(), 3),
        "track": round(2.4 * chance.factor(), 1),
        "lean": round(12 * chance.factor()),
    }


def _cart_passages(world: World, view: View) -> Sequence[str]:
    along, lean = view.sign("along"), view.sign("lean")
    first, second = view.ordered("choices", ("left", "right"))
    end = _rounded_up(math.radians(world["lean"]), 4)
    return (
        f"steps are {number(world['step'])} s apart",
        f"more than {number(world['track'])} m from the centre",
        f"more than {world['lean']} degrees ({end} rad)",
        f"positive to the {either_way(along, 'right', 'left')}",
        f"positive when leaning to the {either_way(lean, 'right', 'left')}",
        f"0 pushes the cart to the {first}, 1 to the {second},",
        f"a force of {number(world['force'])} N",
    )


def _cart_bounds(world: World) -> Mapping[str, tuple[Bound, Bound]]:
    track, lean = 2 * world["track"], _rounded_up(2 * math.radians(world["lean"]), 3)
    return {"cart_position": (-track, track), "pole_angle": (-lean, lean)}


CARTPOLE = Recipe(
    original="cartpole",
    groups={
        "along": Group(1, {"cart_position": True, "cart_velocity": True}, signed="together"),
        "lean": Group(1, {"pole_angle": True, "pole_velocity": True}, signed="together"),
        "choices": Group(2, signed=False),
    },
    action="",
    world={
        "gravity": 9.8,
        "cart_mass": 1.0,
        "pole_mass": 0.1,
        "half_length": 0.5,
        "force": 10.0,
        "step": 0.02,
        "track": 2.4,
        "lean": 12,
    },
    draw=_cart_world,
    passages=_cart_passages,
    bounds=_cart_bounds,
    make=lambda world: (
        """\
    env = classic_worlds.make_env("CartPole-v1", classic_worlds.CartAndPole, **WORLD)"""
    ),
    imports=("classic_worlds",),
    titles=("Broomstick", "Mast", "Upright"),
    words={
        "cart": ("sled",),
        "pole": ("mast",),
        "track": ("rail",),
        "cart_position": ("sled_place", "sled_offset"),
        "cart_velocity": ("sled_rate", "sled_drift"),
        "pole_angle": ("mast_lean", "mast_tilt"),
        "pole_velocity": ("mast_rate", "mast_turning"),
    },
    withheld=("cartpole", "cart", "pole"),
    facts=machines.CART,
)


# --- MountainCarContinuous --------------------------------------------------------------------


def _valley_world(chance: Chance) -> World:
    """The flag is on the slope, the engine too weak to climb to it from anywhere in ``start``."""
    steepness = round(3 * chance.factor(), 1)
    scale = 3 / steepness
    goal = round(0.45 * scale * chance.factor(0.88, 1.12), 2)
    start = (round(-0.6 * scale, 2), round(-0.4 * scale, 2))
    gravity = round(0.0025 * chance.factor(), 5)
    climb = gravity / steepness * (math.sin(steepness * goal) + 1.0)
    needed = gravity / steepness * (math.sin(steepness * goal) - math.sin(steepness * start[0]))
    return {
        "gravity": gravity,
        "power": round(needed / (goal - start[0]) * chance.factor(0.6, 0.9), 5),
        "steepness": steepness,
        "left": round(-1.2 * scale, 2),
        "right": round(0.6 * scale, 2),
        "goal": goal,
        "start": start,
        # Fast enough to roll from the bottom up to the flag.
        "fastest": round(math.sqrt(2 * climb) * chance.factor(1.15, 1.6), 3),
    }


def _valley_passages(world: World, view: View) -> Sequence[str]:
    sign, mirror = view.sign("along"), view.sign("mirror")
    positive = either_way(sign * mirror, "right", "left")
    pushed = either_way(view.sign("engine") * mirror, "right", "left")
    low, high = sorted(sign * end for end in world["start"])
    goal, at_least = number(sign * world["goal"]), either_way(sign, ">=", "<=")
    bottom = f"{-sign * math.pi / 2 / world['steepness']:.2f}"
    return (
        f"sin({number(sign * world['steepness'])} * position)",
        f"climb the {either_way(mirror, 'right', 'left')} hill",
        f"drawn uniformly from {number(low)} to {number(high)}",
        f"position reaches {goal}",
        f"bottom of the valley at {bottom}, flag at {goal}; positive to the {positive}",
        f"in a step, positive to the {positive}",
        f"of the largest, positive to the {pushed}",
        f"position {at_least} {goal}",
        f"velocity {at_least} 0",
    )


MOUNTAIN_CAR_CONTINUOUS = Recipe(
    original="mountain_car_continuous",
    groups={
        "along": Group(1, {"position": True, "velocity": True}, signed="together"),
        "engine": Group(1, signed="together"),
        # What is called left and right.
        "mirror": Group(1, signed="together"),
    },
    action="engine",
    world={
        "gravity": 0.0025,
        "power": 0.0015,
        "steepness": 3,
        "left": -1.2,
        "right": 0.6,
        "goal": 0.45,
        "start": (-0.6, -0.4),
        "fastest": 0.07,
    },
    draw=_valley_world,
    passages=_valley_passages,
    bounds=lambda world: {
        "position": (world["left"], world["right"]),
        "velocity": (-world["fastest"], world["fastest"]),
    },
    make=lambda world: (
        """\
    env = classic_worlds.make_env(
        "MountainCarContinuous-v0", classic_worlds.CarInValley, **WORLD
    )"""
    ),
    imports=("classic_worlds",),
    titles=("Trough", "Hollow", "Out of the dip"),
    words={
        "car": ("trolley",),
        "valley": ("trough",),
        "hill": ("slope",),
        "flag": ("gate",),
        "at_flag": ("at_gate",),
        "engine": ("motor",),
        "position": ("place", "coordinate"),
        "velocity": ("rate", "drift"),
    },
    withheld=("mountain",),
    facts=machines.CAR,
)


# --- Acrobot ----------------------------------------------------------------------------------


def _chain_world(chance: Chance) -> World:
    lengths = chance.factor(), chance.factor()
    masses = chance.factor(), chance.factor()
    gravity = round(9.8 * chance.factor(), 2)
    # What the original's motor can lift is a fifth of the second link; a weak one can no more here.
    weight = masses[1] * gravity * lengths[1] / 2
    return {
        "lengths": lengths,
        "masses": masses,
        "inertias": (chance.factor(), chance.factor()),
        "gravity": gravity,
        "torque": round(weight / 4.9 * chance.factor(), 2),
        "step": chance.choice((0.12, 0.16, 0.25)),
        "height": round(sum(lengths) / 2 * chance.factor(0.7, 1.5), 2),
    }


def _chain_passages(world: World, view: View) -> Sequence[str]:
    first, second = view.sign("first"), view.sign("second")
    upper, lower = (number(length) for length in world["lengths"])
    ways = [either_way(sign, "anticlockwise", "clockwise") for sign in (first, second)]
    sizes = view.ordered("choices", (-second * world["torque"], 0, second * world["torque"]))
    reach, height = number(sum(world["lengths"])), world["height"]
    sines = either_way(first * second, "-", "+")
    return (
        f"Two links of {upper} m hang"
        if upper == lower
        else f"Two links, the first of {upper} m, the second of {lower} m, hang",
        f"Steps are {number(world['step'])} s apart",
        f"more than {number(height)} m above",
        f"Angles turn {ways[0]} and are 0 when all hangs down"
        if first == second
        else f"Angle 1 turns {ways[0]}, angle 2 {ways[1]}; both are 0 when all hangs down",
        f"points to the {either_way(first, 'right', 'left')}",
        f"when bent {ways[1]}",
        f"rate of angle 1, positive {ways[0]}",
        f"rate of angle 2, positive {ways[1]}",
        f"in m, -{reach} to {reach}",
        f"self.cos_angle_1 * self.cos_angle_2 {sines} self.sin_angle_1 * self.sin_angle_2",
        f"{_times(upper)}self.cos_angle_1 - {_times(lower)}cos_sum",
        ", ".join(f"{index} is {number(size)} N m" for index, size in enumerate(sizes)),
        f"tip_height() > {float(height)}",
    )


def _times(factor: str) -> str:
    return "" if factor == "1" else f"{factor} * "


ACROBOT = Recipe(
    original="acrobot",
    groups={
        "first": Group(
            1,
            {"cos_angle_1": False, "sin_angle_1": True, "velocity_1": True},
            signed="together",
        ),
        "second": Group(
            1,
            {"cos_angle_2": False, "sin_angle_2": True, "velocity_2": True},
            signed="together",
        ),
        "choices": Group(3, signed=False),
    },
    action="",
    world={
        "lengths": (1.0, 1.0),
        "masses": (1.0, 1.0),
        "inertias": (1.0, 1.0),
        "gravity": 9.8,
        "torque": 1.0,
        "step": 0.2,
        "height": 1.0,
    },
    draw=_chain_world,
    passages=_chain_passages,
    make=lambda world: (
        """\
    env = classic_worlds.make_env("Acrobot-v1", classic_worlds.Chain, **WORLD)"""
    ),
    imports=("classic_worlds",),
    titles=("Two rods", "Whip", "Over the top"),
    words={
        "link": ("rod",),
        "links": ("rods",),
        "chain": ("arm",),
        "bar": ("line",),
        "cos_angle_1": ("inner_cos", "cos_inner"),
        "sin_angle_1": ("inner_sin", "sin_inner"),
        "cos_angle_2": ("outer_cos", "cos_outer"),
        "sin_angle_2": ("outer_sin", "sin_outer"),
        "velocity_1": ("inner_rate", "inner_turning"),
        "velocity_2": ("outer_rate", "outer_turning"),
        "tip_height": ("end_height",),
    },
    withheld=("acrobot",),
    facts=machines.CHAIN,
)
