"""What the recipes of MuJoCo bodies share: factors of a body, what follows from them, their make.

Names that stand in one text, with spaces between, belong to parts that are alike, as the two feet
of a walker do: they have one factor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .chance import LEAST, MOST, Chance
from .recipe import World


def factors(
    chance: Chance, names: Sequence[str], low: float = LEAST, high: float = MOST
) -> dict[str, float]:
    """A factor for each name."""
    drawn: dict[str, float] = {}
    for alike in names:
        drawn.update(dict.fromkeys(alike.split(), chance.factor(low, high)))
    return drawn


def drawn_body(
    chance: Chance, parts: Sequence[str], joints: Sequence[str], lengths: tuple[float, float]
) -> dict[str, Any]:
    """What ``Body`` takes for a body with damped joints that stands on a floor."""
    return {
        "lengths": factors(chance, parts, *lengths),
        "masses": factors(chance, parts),
        "gears": factors(chance, joints),
        "dampings": factors(chance, joints),
        "armatures": factors(chance, joints),
        "friction": chance.factor(),
    }


def scaled(
    world: World, what: str, names: Sequence[str], plain: float | Sequence[float]
) -> list[float]:
    """The original's numbers of so many parts or joints, by the factors of the world's body."""
    found: Mapping[str, float] = world["body"].get(what, {})
    numbers = [plain] * len(names) if isinstance(plain, int | float) else plain
    return [value * found.get(name, 1.0) for name, value in zip(names, numbers, strict=True)]


def lengths_of(world: World) -> tuple[tuple[str, float], ...]:
    """The factors of the lengths, as ``start_height`` takes them."""
    return tuple(sorted(world["body"].get("lengths", {}).items()))


def made(env_id: str, file: str, *arguments: str) -> Callable[[World], str]:
    """The body of a ``make()``: the environment of that id with the world's body and time step."""
    lines = (
        f'"{env_id}"',
        f'"{file}"',
        'bodies.Body(**WORLD["body"])',
        'frame_skip=WORLD["frame_skip"]',
        *arguments,
    )
    source = "".join(f"        {line},\n" for line in lines)
    return lambda world: f"    env = bodies.make_env(\n{source}    )"
