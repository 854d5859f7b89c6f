"""What a MuJoCo body touches and moves in, in the sentences of its data sheet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from promptpo.spec.authoring.sheet_tables import Model, number

_INTEGRATORS = ("Euler, joint damping implicit", "fourth-order Runge-Kutta", "implicit", "implicit")


def touch(model: Model, a: int, b: int) -> bool:
    """Whether two geoms can touch: of bodies not joined, one of them a part of the sheet."""
    bodies = int(model.geom_bodyid[a]), int(model.geom_bodyid[b])
    if bodies[0] == bodies[1]:
        return False
    for body, other in (bodies, bodies[::-1]):
        if other and model.body_parentid[body] == other:
            return False
    types, affinities = model.geom_contype, model.geom_conaffinity
    return bool(types[a] & affinities[b] or types[b] & affinities[a])


def contacts(model: Model, parts: Sequence[int]) -> Iterator[str]:
    """What the geoms of a body collide with, and the friction of that."""
    if not any(touch(model, own, other) for own in parts for other in range(model.ngeom)):
        yield "Nothing collides with anything."
        return
    floors = [geom for geom in range(model.ngeom) if not model.geom_bodyid[geom]]
    floor = next((g for g in floors if any(touch(model, g, own) for own in parts)), None)
    pairs = [(a, b) for a, b in combinations(parts, 2) if touch(model, a, b)]
    smooth = all(max(model.geom_condim[list(pair)]) == 1 for pair in pairs)
    each_other = f"with each other{' without friction' if smooth else ''}, unless joined"
    others = f" and {each_other}" if pairs else ", not with each other"
    own = ""
    if floor is None:
        yield f"Parts collide {each_other}."
    else:
        own = f"; the floor's is {number(model.geom_friction[floor][0])}"
        yield f"Parts collide with the floor{others}."
    if floor is not None or not smooth:
        yield f"Of two that touch, the greater coefficient of sliding friction counts{own}."


def medium(model: Model, axes: Sequence[int], frame_skip: int) -> Iterator[str]:
    """Gravity, what surrounds the body, and the steps in which its motion is integrated.

    ``axes`` are those of the space or plane; ``frame_skip`` is 0 where it is not told.
    """
    option = model.opt
    pull = [number(abs(g)) if abs(g) > 1e-3 else "" for g in option.gravity]
    plane = {2: "downward", 1: "along -y", 0: "along -x"}
    acting = [f"{pull[a]} m/s^2 {plane[a]}" for a in axes if pull[a]]
    yield f"Gravity is {', '.join(acting)}." if acting else "Gravity acts across the plane."
    if option.density or option.viscosity:
        yield (
            f"The fluid has density {number(option.density)} kg/m^3 and viscosity"
            f" {number(option.viscosity)} Pa s; it acts on each part as on a box of the same"
            " mass and moments of inertia."
        )
    step, integrator = float(option.timestep), _INTEGRATORS[option.integrator]
    yield f"Motion is integrated in steps of {number(step)} s ({integrator})."
    if frame_skip:
        at_once = "" if model.actuator_dyntype.any() else ", and acts without lag"
        held = f"{frame_skip} of these, {number(frame_skip * step)} s"
        yield f"An action is held for {held}{at_once}."
