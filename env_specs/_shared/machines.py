"""Data sheets of machines that are no MuJoCo body: the classics of control, the lander."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from promptpo.spec import Env
from promptpo.spec.writing import wrapped

Numbers: TypeAlias = Mapping[str, float]


@dataclass(frozen=True)
class Machine:
    """Sentences with the numbers of a machine, and what reads these off a live environment.

    ``words`` have the numbers' names in braces; ``read`` takes the environment without wrappers.
    """

    words: str
    read: Callable[[Any], Numbers]

    def text(self, numbers: Numbers) -> str:
        """The sentences, in one line, with these numbers to three digits."""
        shown = {name: f"{float(f'{float(value):.6g}'):.3g}" for name, value in numbers.items()}
        return self.words.format(**shown)

    def measured(self, env: Env) -> str:
        """Those of an environment that has been reset: a spec's ``measured_facts``."""
        return wrapped(self.text(self.read(env.unwrapped)))


CART = Machine(
    "The cart weighs {cart_mass} kg. The pole weighs {pole_mass} kg, spread evenly along it, "
    "and is {length} m long. Gravity is {gravity} m/s^2. Nothing rubs. In each step positions "
    "change by the speeds before it, then speeds by what the force does.",
    lambda env: {
        "cart_mass": env.masscart,
        "pole_mass": env.masspole,
        "length": 2 * env.length,
        "gravity": env.gravity,
    },
)

PENDULUM = Machine(
    "The pendulum is a rod of {length} m and {mass} kg, its weight spread evenly along it, that "
    "turns about one of its ends. Gravity is {gravity} m/s^2. Nothing rubs.",
    lambda env: {"length": env.l, "mass": env.m, "gravity": env.g},
)


def _car(env: Any) -> Numbers:  # noqa: ANN401 - Gymnasium's
    """Power and valley; what is a literal in Gymnasium's step is measured, from rest."""
    discrete = hasattr(env, "force")

    def slowed(position: float) -> float:
        env.state = np.array([position, 0.0])
        return -float(env.step(1 if discrete else np.zeros(1))[0][1])

    steep = 0.2
    gravity = slowed(0.0)
    return {
        "power": env.force if discrete else env.power,
        "gravity": gravity,
        "steepness": math.acos(slowed(steep) / gravity) / steep,
    }


CAR = Machine(
    "The engine's full force changes the velocity by {power} in a step. Gravity changes it by "
    "{gravity} * abs(cos({steepness} * position)) in a step, towards the bottom of the valley.",
    _car,
)


def _chain(env: Any) -> Numbers:  # noqa: ANN401 - Gymnasium's
    """Masses and inertias; gravity from how the chain falls when it is held out straight."""
    mass_1, mass_2, inertia = env.LINK_MASS_1, env.LINK_MASS_2, env.LINK_MOI
    length, middle_1, middle_2 = env.LINK_LENGTH_1, env.LINK_COM_POS_1, env.LINK_COM_POS_2
    first, second = env._dsdt(np.array([math.pi / 2, 0.0, 0.0, 0.0, 0.0]))[2:4]
    coupled = mass_2 * (middle_2**2 + length * middle_2) + inertia
    both = mass_1 * middle_1**2 + mass_2 * (length + middle_2) ** 2 + 2 * inertia
    lever = mass_1 * middle_1 + mass_2 * (length + middle_2)
    return {
        "mass_1": mass_1,
        "mass_2": mass_2,
        "inertia_1": inertia,
        "inertia_2": inertia,
        "gravity": -(both * first + coupled * second) / lever,
    }


CHAIN = Machine(
    "The first link weighs {mass_1} kg, the second {mass_2} kg; the centre of mass of each is "
    "in its middle, and about that its moment of inertia is {inertia_1} and {inertia_2} "
    "kg m^2. Gravity is {gravity} m/s^2. Nothing rubs.",
    _chain,
)


def _lander(env: Any) -> Numbers:  # noqa: ANN401 - Gymnasium's
    constants = type(env).step.__globals__
    scale = constants["SCALE"]
    return {
        "mass": env.lander.mass,
        "leg": env.legs[0].mass,
        "inertia": env.lander.inertia,
        "main": constants["MAIN_ENGINE_POWER"] * constants["MAIN_ENGINE_Y_LOCATION"] / scale,
        "side": constants["SIDE_ENGINE_POWER"] * constants["SIDE_ENGINE_AWAY"] / scale,
    }


LANDER = Machine(
    "The lander weighs {mass} kg, each leg {leg} kg. Its moment of inertia is {inertia} "
    "kg m^2. In a step the main engine gives {main} N s, the engines at its sides {side} N s; "
    "the first is off by up to a half, the others by up to a quarter, each time by chance.",
    _lander,
)


def _walker(env: Any) -> Numbers:  # noqa: ANN401 - Gymnasium's
    """Masses, inertias and lengths; a leg's parts are the same on both sides."""
    thigh, shin = env.legs[:2]
    return {
        "hull": env.hull.mass,
        "hull_inertia": env.hull.inertia,
        "thigh": thigh.mass,
        "thigh_inertia": thigh.inertia,
        "shin": shin.mass,
        "shin_inertia": shin.inertia,
        "length": type(env).step.__globals__["LEG_H"],
        "below": -type(env).step.__globals__["LEG_DOWN"],
        "gravity": -env.world.gravity.y,
        "friction": math.sqrt(shin.fixtures[0].friction * env.terrain[0].fixtures[0].friction),
    }


WALKER = Machine(
    "The hull weighs {hull} kg, each thigh {thigh} kg, each shin {shin} kg; their moments of "
    "inertia about their middles are {hull_inertia}, {thigh_inertia} and {shin_inertia} kg m^2. "
    "Thighs and shins are {length} m long; both hips are {below} m below the hull's middle. "
    "Gravity is {gravity} m/s^2. Shins and ground have a coefficient of friction of {friction}.",
    _walker,
)
