"""Ant: a ball with four legs that are alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from promptpo.spec import Env, EnvSpec, Raw

from . import sheets
from .bodies import start_height
from .chance import Chance
from .drawing import drawn_body, factors, lengths_of, made, scaled
from .policies.mujoco_ant import Policy
from .recipe import Group, Moved, Recipe, View, World
from .reference import expert_in_words_of
from .wording import directions, either, number, which

_FILE = "ant.xml"
_HIPS = "hip_1 hip_2 hip_3 hip_4"
_ANKLES = "ankle_1 ankle_2 ankle_3 ankle_4"
#: Links, upper legs, lower legs; the last have no names but their joints'.
_LEGS = ("front_left_leg front_right_leg back_leg right_back_leg", "aux_1 aux_2 aux_3 aux_4")
_PARTS = ("torso", *_LEGS, _ANKLES)
#: The legs in the order of the original's joints, and in that of its actions.
_JOINTS = ("front left", "back left", "back right", "front right")
_ACTIONS = ("front right", "front left", "back left", "back right")
_SIDES = ("+x, +y", "-x, +y", "-x, -y", "+x, -y")
#: The joint that each of the original's actions drives.
_DRIVEN = (6, 7, 0, 1, 2, 3, 4, 5)


@dataclass(frozen=True)
class Rows(Group):
    """Bodies, for each of which a field holds a row.

    Attributes:
        widths: how many numbers a row has, by field.
    """

    signed: bool | str = False
    widths: Mapping[str, int] = field(default_factory=dict)

    def moved(self, name: str, group: Moved) -> Moved | None:
        """The numbers of a field, row by row."""
        if name not in self.widths:
            return None
        width = self.widths[name]
        columns = tuple(row * width + at for row in group.columns for at in range(width))
        return Group(len(columns)).plain()._replace(columns=columns)


def _world(chance: Chance) -> World:
    body = drawn_body(chance, _PARTS, (_HIPS, _ANKLES), (0.8, 1.3))
    # Hips stay at the ball's surface or outside of it. At the start the ankles snap to their
    # limits: long lower legs or a light ball would throw the body up by that alone.
    body["lengths"] |= {"torso": chance.factor(0.85, min(1.25, 1.13 * body["lengths"]["back_leg"]))}
    body["lengths"] |= factors(chance, (_ANKLES,), 0.7, 1.15)
    body["masses"] |= {"torso": chance.factor(1.1, 1.6)}
    height = start_height(_FILE, part="torso", lengths=lengths_of({"body": body}))
    return {
        "body": body,
        "frame_skip": chance.choice((3, 4, 6, 7, 8)),
        # As in the original: the first is less than where the ball lies on the floor.
        "lowest": round(0.2 * body["lengths"]["torso"], 2),
        "highest": round(1.6 * height, 2),
    }


def _pairs(order: Sequence[int]) -> list[str]:
    """Where an order of hips and ankles has each leg's."""
    return [f"{order.index(hip)} hip and {order.index(hip + 1)} ankle" for hip in (0, 2, 4, 6)]


def _joints(order: Sequence[int]) -> str:
    first, *others = zip(_pairs(order), _JOINTS, _SIDES, strict=True)
    rest = "".join(f", {pair} {leg} ({side})" for pair, leg, side in others)
    return f"{first[0]} of the {first[1]} leg (to {first[2]}){rest}"


def _bodies(order: Sequence[int]) -> str:
    """The sentence on the rows."""
    torso, link, upper, lower, *others = (order.index(body) for body in range(13))
    rest = [
        f"{', '.join(map(str, others[3 * nth : 3 * nth + 3]))} {leg}"
        for nth, leg in enumerate(_JOINTS[1:])
    ]
    return (
        f"{torso} torso (centre); front left leg: {link} its link to the torso (the torso's "
        f"centre), {upper} upper leg (hip), {lower} lower leg (ankle); then in the same way "
        f"{', '.join(rest)}"
    )


def _hips(view: View) -> str:
    hips = [at for at, joint in enumerate(view.orders["joints"]) if joint % 2 == 0]
    signs = [view.signs["joints"][at] for at in hips]
    subject = "A positive hip turns its leg"
    ways = directions(signs, subject, "anticlockwise", "clockwise", hips)
    return f"{ways}{'' if len(set(signs)) == 1 else ','} seen from above"


def _ankles(view: View) -> tuple[str, str]:
    """With which angles ankles bend down, and their limits."""
    order, signs = view.orders["joints"], view.signs["joints"]
    # With the original's signs front ankles bend with a positive angle, back ones with a negative.
    bends = {at: signs[at] if order[at] in (1, 7) else -signs[at] for at in range(8)}
    ups = [at for at in range(8) if order[at] % 2 and bends[at] > 0]
    downs = [at for at in range(8) if order[at] % 2 and bends[at] < 0]
    if not ups or not downs:
        word, limits = ("positive", "0.524 to 1.222") if ups else ("negative", "-1.222 to -0.524")
        return f"all with a {word} angle", f"ankles {limits}"
    front = {order[at] for at in ups} == {1, 7}
    up, down = ("front ones", "back ones") if front else (which(ups), which(downs))
    bending = f"{up} with a positive angle, {down} with a negative one"
    if front:
        return bending, "front ankles 0.524 to 1.222, back ankles -1.222 to -0.524"
    return bending, f"ankles 0.524 to 1.222 for {up}; -1.222 to -0.524 for {down}"


def _drives(view: View) -> str:
    """The sentence on how torques become an action."""
    joints, motors = view.orders["joints"], view.orders["motors"]
    driven = [joints.index(_DRIVEN[motor]) for motor in motors]
    shift = -driven[0] % 8
    if driven == [(at - shift) % 8 for at in range(8)]:
        return (
            f"So action[(j + {shift}) % 8] drives joint j: np.roll(torques, {shift}) turns torques"
        )
    return f"So action[k] drives joint {driven}[k]: torques[{driven}] turns torques"


def _torques(world: World) -> str:
    torques = scaled(world, "gears", ("hip_1", "ankle_1"), 150)
    if len(set(torques)) == 1:
        return f"largest torque ({either(torques, 'N m')})"
    return f"largest torques (hips {number(torques[0])}, ankles {number(torques[1])} N m)"


def _passages(world: World, view: View) -> Sequence[str]:
    step, lowest, highest = number(0.01 * world["frame_skip"]), world["lowest"], world["highest"]
    plain = (0.25, math.hypot(0.2, 0.2), math.hypot(0.2, 0.2), math.hypot(0.4, 0.4))
    parts = [names.split()[0] for names in _PARTS]
    ball, link, upper, lower = (
        f"{length:.2f}" for length in scaled(world, "lengths", parts, plain)
    )
    legs = f"both {link} m long" if link == upper else f"{link} m and {upper} m long"
    height = start_height(_FILE, part="torso", lengths=lengths_of(world))
    bend, limits = _ankles(view)
    torso = view.orders["bodies"].index(0)
    motors = zip(_pairs(view.orders["motors"]), _ACTIONS, strict=True)
    return (
        f"ball of {ball} m radius",
        legs,
        f"a lower leg of {lower} m",
        f"Steps are {step} s apart",
        f"is at height {height:.2f} m",
        f"is not within {lowest} m and {highest} m",
        f"everywhere: {_joints(view.orders['joints'])}",
        f"(their points in brackets): {_bodies(view.orders['bodies'])}",
        _hips(view),
        f"down, {bend}",
        limits,
        f"row {torso} is torso_position up to about {0.005 if world['body'] else 0.001} m",
        _torques(world),
        f"The order is: {', '.join(f'{pair} {leg}' for pair, leg in motors)}",
        _drives(view),
        f"next_observation.body_positions[{torso}, 0] - observation.body_positions[{torso}, 0]",
        f"/ {step}",
        f"{lowest} <= next_observation.torso_position[2] <= {highest}",
    )


def reference(original: EnvSpec) -> Callable[[Env], Callable[[Raw], Any]]:
    """The policy that shows what is possible, as the original's spec would have it."""
    return expert_in_words_of(original, Policy)


ANT = Recipe(
    original="mujoco_ant",
    groups={
        "joints": Group(8, {"joint_angles": True, "joint_velocities": True}),
        "motors": Group(8, signed=False, follows=("joints", _DRIVEN)),
        "bodies": Rows(13, widths={"contact_forces": 6, "body_positions": 3}),
    },
    action="motors",
    world={"body": {}, "frame_skip": 5, "lowest": 0.2, "highest": 1.0},
    draw=_world,
    passages=_passages,
    make=made(
        "Ant-v5",
        _FILE,
        'healthy_z_range=(WORLD["lowest"], WORLD["highest"])',
        "exclude_current_positions_from_observation=False",
    ),
    imports=("ant", "bodies"),
    expert=lambda _: "INTERFACE.played(ant.reference(original.SPEC))",
    tolerance=1e-6,  # the environment sums the squares of the torques in float32
    titles=("Quadruped", "Four legs", "Crawler"),
    words={
        "ant": ("machine", "robot"),
        "torso": ("trunk", "core"),
        "torso_position": ("trunk_place", "core_position"),
        "torso_orientation": ("trunk_attitude", "quaternion"),
        "joint_angles": ("hinge_angles", "angles_of_joints"),
        "torso_velocity": ("trunk_velocity", "core_rate"),
        "torso_angular_velocity": ("spin", "trunk_turning"),
        "joint_velocities": ("hinge_rates", "rates_of_joints"),
        "contact_forces": ("contacts", "pushes"),
        "body_positions": ("places", "points_of_bodies"),
    },
    withheld=(" ant ", "ant's", "ant:", "ant-v"),
    facts=sheets.ANT,
)
