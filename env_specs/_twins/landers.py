"""What flies: LunarLander."""

from __future__ import annotations

from collections.abc import Sequence

from . import machines
from .chance import Chance
from .classics import either_way
from .recipe import Group, Recipe, View, World
from .wording import number

_STANDARD_RATE = 50


def _lander_world(chance: Chance) -> World:
    rate = chance.choice((32, 40, 64, 80))  # of which the step and all units have few digits
    gravity = round(10 * chance.factor(0.6, 1.19), 2)  # Gymnasium allows less than 12
    share = _STANDARD_RATE / rate
    return {
        "gravity": gravity,
        # Its thrust is 1.4 to 2.8 times the weight of the lander; the original's 1.75.
        "main_power": round(1.3 * gravity * share * chance.factor(0.8), 2),
        "side_power": round(0.6 * share * chance.factor(), 3),
        "push": round(1000 / share * chance.factor()),
        "steps_per_second": rate,
    }


def _lander_passages(world: World, view: View) -> Sequence[str]:
    rate = world["steps_per_second"]
    across, up, turn = view.sign("across"), view.sign("up"), view.sign("turn")
    fuel = view.ordered("choices", ("0.0", "0.03", "0.3", "0.03"))
    return (
        f"gravity is {number(world['gravity'])} m/s^2, steps are {number(1 / rate)} s apart",
        f"positive {either_way(across, 'right', 'left')}",
        f"positive {either_way(up, 'up', 'down')}; {either_way(up, '', '-')}1.4 first",
        f"positive to the {either_way(across, 'right', 'left')}",
        f"positive {either_way(up, 'up', 'down')}",
        f"positive when leaning to the {either_way(turn, 'left', 'right')}",
        f"positive {either_way(turn, 'anticlockwise', 'clockwise')}",
        f"{number(0.1 * rate)} m/s",
        f"{number(0.15 * rate)} m/s",
        f"{number(0.05 * rate)} rad/s",
        _engines(view.orders["choices"], turn),
        f"({', '.join(fuel)})[action]",
    )


def _engines(order: Sequence[int], turn: int) -> str:
    """What each int does: ``0 fires no engine. 1 fires the engine that ..., 2 ..., 3 ...``."""
    grows, falls = either_way(turn, "grows", "falls"), either_way(turn, "falls", "grows")
    effects = (
        "no engine",
        f"the engine that pushes {{}} to its left and turns it anticlockwise (angle {grows})",
        "the main engine, which pushes {} towards its top",
        f"the engine that pushes {{}} to its right and turns it clockwise (angle {falls})",
    )
    text, name = "", "the lander"
    for index, which in enumerate(order):
        lead = f"{index} fires" if not index or text.endswith("no engine. ") else f"{index}"
        text += f"{lead} {effects[which].format(name)}"
        text += ". " if index == which == 0 else ", "
        name = "it" if which else name
    return text.removesuffix(", ")


LUNAR_LANDER = Recipe(
    original="lunar_lander",
    groups={
        "across": Group(1, {"x": True, "velocity_x": True}, signed="together"),
        "up": Group(1, {"y": True, "velocity_y": True}, signed="together"),
        "turn": Group(1, {"angle": True, "spin": True}, signed="together"),
        "choices": Group(4, signed=False),
    },
    action="",
    world={
        "gravity": 10.0,
        # Its thrust is 1.4 to 2.8 times the weight of the lander; the original's 1.75.
        "main_power": 13.0,
        "side_power": 0.6,
        "push": 1000.0,
        "steps_per_second": _STANDARD_RATE,
    },
    draw=_lander_world,
    passages=_lander_passages,
    make=lambda world: (
        """\
    env = classic_worlds.make_lander(**WORLD)"""
    ),
    imports=("classic_worlds",),
    titles=("Probe", "Descent", "Touchdown"),
    words={
        "lander": ("probe",),
        "pad": ("platform",),
        "leg": ("strut",),
        "legs": ("struts",),
        "left_leg": ("left_strut",),
        "right_leg": ("right_strut",),
        "an engine": ("a thruster",),
        "engine": ("thruster",),
        "engines": ("thrusters",),
        "x": ("sideways", "horizontal"),
        "y": ("vertical", "plumb"),
        "velocity_x": ("sideways_rate", "horizontal_velocity"),
        "velocity_y": ("vertical_rate", "vertical_velocity"),
        "angle": ("tilt", "attitude"),
        "spin": ("turn_rate", "turning"),
        "crashed": ("collided", "struck"),
        "at_rest": ("settled", "resting"),
    },
    withheld=("lunar", "lander"),
    facts=machines.LANDER,
)
