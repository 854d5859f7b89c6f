"""Data sheets of what is no MuJoCo body of Gymnasium's: the classics, the lander, the arm's tasks.

Each kind has sentences, given its numbers, and what reads these numbers off a live environment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from promptpo.spec import Env
from promptpo.spec.writing import wrapped

from .._shared.machines import CAR as VALLEY
from .._shared.machines import CART as CART_AND_POLE
from .._shared.machines import CHAIN as TWO_LINKS
from .._shared.machines import LANDER as MOON_LANDER
from .._shared.machines import Machine, Numbers
from .recipe import Facts, View, World
from .rewriting import renamed


def machine_facts(kind: str, numbers: Callable[[World], Numbers]) -> Callable[[World, View], Facts]:
    """A recipe's ``facts``, of a kind that this module has; ``numbers`` are those of a world."""

    def facts(world: World, view: View) -> Facts:
        text = _sentences(kind, numbers(world), view.names)
        measured = f"machines.measured({kind!r}, env, {dict(view.names)!r})"
        return Facts(text, measured, "from ._twins import machines")

    return facts


def measured(kind: str, env: Env, names: Mapping[str, str]) -> str:
    """What a live environment, which has been reset, says of itself; ``names`` are the twin's."""
    return _sentences(kind, _KINDS[kind].read(env.unwrapped), names)


def _sentences(kind: str, numbers: Numbers, names: Mapping[str, str]) -> str:
    return wrapped(renamed(_KINDS[kind].text(numbers), names))


def _step(env: Any) -> Numbers:  # noqa: ANN401 - Meta-World's
    return {"step": env.frame_skip * env.model.opt.timestep}


def _damped(joint: str) -> Callable[[Any], Numbers]:
    return lambda env: {**_step(env), "damping": env.model.joint(joint).damping[0]}


_STEP = "A step takes {step} s. "

_KINDS = {
    "cart": CART_AND_POLE,
    # In these worlds all numbers are attributes.
    "car": Machine(
        VALLEY.words,
        lambda env: {
            "power": env.power,
            "gravity": env.gravity,
            "steepness": env.steepness,
        },
    ),
    "chain": Machine(
        TWO_LINKS.words,
        lambda env: {
            "mass_1": env.LINK_MASS_1,
            "mass_2": env.LINK_MASS_2,
            "inertia_1": env.inertias[0],
            "inertia_2": env.inertias[1],
            "gravity": env.gravity,
        },
    ),
    "lander": MOON_LANDER,
    "hand": Machine(_STEP, _step),
    "puck": Machine(
        _STEP + "The puck weighs {mass} kg.",
        lambda env: {**_step(env), "mass": env.model.body("obj").mass[0]},
    ),
    "drawer": Machine(
        _STEP + "The drawer slides with a damping of {damping} N s/m.", _damped("goal_slidey")
    ),
    "door": Machine(
        _STEP + "The door's hinge has a damping of {damping} N m s/rad.", _damped("doorjoint")
    ),
}

# --- The numbers of a world -------------------------------------------------------------------


def _held(world: World) -> Numbers:
    """Seconds of a step, whose parts the simulator takes."""
    return {"step": 0.0025 * world["frame_skip"]}


def _factor(world: World, kind: str, name: str) -> float:
    return float(world.get(kind, {}).get(name, 1.0))


CART = machine_facts(
    "cart",
    lambda world: {
        "cart_mass": world["cart_mass"],
        "pole_mass": world["pole_mass"],
        "length": 2 * world["half_length"],
        "gravity": world["gravity"],
    },
)
CAR = machine_facts(
    "car", lambda world: {name: world[name] for name in ("power", "gravity", "steepness")}
)
CHAIN = machine_facts(
    "chain",
    lambda world: {
        "mass_1": world["masses"][0],
        "mass_2": world["masses"][1],
        "inertia_1": world["inertias"][0],
        "inertia_2": world["inertias"][1],
        "gravity": world["gravity"],
    },
)
LANDER = machine_facts(
    "lander",
    lambda world: {
        "mass": 4.82,
        "leg": 0.0711,
        "inertia": 0.833,
        # The engines are 4/30 m and 12/30 m away from the body's middle.
        "main": world["main_power"] * 4 / 30,
        "side": world["side_power"] * 12 / 30,
    },
)
HAND = machine_facts("hand", _held)
PUCK = machine_facts(
    "puck", lambda world: {**_held(world), "mass": 0.75 * _factor(world, "masses", "obj")}
)
DRAWER = machine_facts(
    "drawer",
    lambda world: {**_held(world), "damping": 2.0 * _factor(world, "dampings", "goal_slidey")},
)
DOOR = machine_facts(
    "door",
    lambda world: {**_held(world), "damping": 2.0 * _factor(world, "dampings", "doorjoint")},
)
