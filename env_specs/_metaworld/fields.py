"""The observation of a Meta-World task: its fields, and what fills those that are not in all.

Which objects a task has stands in ``tasks.toml``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from promptpo.spec import Field
from promptpo.spec.writing import field_source

#: Where each task has it otherwise: the start of its object.
_STARTS = {
    "dial-turn-v3": "env.dial_push_position - np.array([0.05, 0.02, 0.09])",
    "handle-press-v3": "env._handle_init_pos",
    "handle-press-side-v3": "env._handle_init_pos",
    "window-open-v3": "env.window_handle_pos_init",
    "window-close-v3": "env.window_handle_pos_init",
    "stick-pull-v3": "env.stick_init_pos",
    "stick-push-v3": "env.stick_init_pos",
}

#: Fields that only some rewards need: what fills them, and what they are.
_EXTRAS = {
    "object_start": (
        "env.obj_init_pos",
        "x, y, z of the $object at the start of the episode, as the environment placed it",
    ),
    "second_start": ("env.obj_init_pos", "x, y, z of the container's bottom at the start"),
    "fingertip_start": ("env.init_tcp", "fingertip_position at the start of the episode"),
    "far_pad_position": (
        'env.get_body_com("leftpad")',
        "x, y, z of the finger pad that is further from the robot",
    ),
    "hinge_position": ("env.obj_init_pos", "x, y, z of the lever's axis"),
    "base_position": ("env.obj_init_pos", "x, y, z of the box's bottom"),
    "ring_position": ('env._get_site_pos("RoundNut")', "x, y, z of the centre of the ring"),
    "head_position": ('env._get_site_pos("pegHead")', "x, y, z of the peg's left end, its head"),
    "stick_tip_position": ('env._get_site_pos("stick_end")', "x, y, z of the stick's right end"),
}

_HAND = Field(
    shape=(3,),
    unit="m",
    low=(-0.525, 0.348, -0.0525),
    high=(0.525, 1.025, 0.7),
    frame="world",
    doc="x, y, z of the hand (the wrist end of the gripper)",
)
_OPENING = Field(low=0.0, high=1.0, doc="distance between the fingers / 0.1 m, cut at 1: 1 open")

Task = Mapping[str, Any]


def fields_of(task: Task, extras: Mapping[str, tuple[str, str]]) -> list[str]:
    now = [("hand_position", _HAND), ("gripper_opening", _OPENING), *_object_fields(task)]
    rows = [field_source(name, _kind(field), field) for name, field in now]
    for name, field in now:
        before = replace(field, doc=f"{name} one step before")
        rows.append(field_source(f"previous_{name}", _kind(field), before))
    doc, *bounds = task["goal"]
    doc += "; constant during an episode"
    goal = Field((3,), "m", tuple(bounds[:3]), tuple(bounds[3:]), "world", doc)
    tips = "x, y, z of the midpoint between the finger pads, about 0.045 m below the hand"
    points = [("goal_position", goal), ("fingertip_position", _point(tips))]
    points += [(name, _point(words)) for name, (_, words) in extras.items()]
    return rows + [field_source(name, "np.ndarray", field) for name, field in points]


def _object_fields(task: Task) -> list[tuple[str, Field]]:
    fields = [("object_position", _point(task["object"][1]))]
    if task["rotation"] != "none":
        order = ", ".join(task["rotation"])
        fields.append(("object_rotation", _rotation(order, task["object"][0])))
    if "second" in task:
        fields.append(("second_position", _point(task["second"][1])))
        if size_of(task) == 18:
            fields.append(("second_rotation", _rotation("w, x, y, z", task["second"][0])))
    return fields


def _point(doc: str) -> Field:
    return Field(shape=(3,), unit="m", frame="world", doc=doc)


def _rotation(order: str, of: str) -> Field:
    doc = f"the {of}'s unit quaternion ({order})"
    return Field(shape=(4,), low=-1.0, high=1.0, frame="world", doc=doc)


def _kind(field: Field) -> str:
    return "np.ndarray" if field.shape else "float"


def size_of(task: Task) -> int:
    """How many of the 18 numbers of a moment an observation keeps."""
    if "second" in task:
        return 18 if task["second"][0] == "nail" else 14
    return 7 if task["rotation"] == "none" else 11


def extras_of(member: str, reward: str) -> dict[str, tuple[str, str]]:
    """Name, expression and description of the fields that this reward needs beyond the others."""
    found = {name: _EXTRAS[name] for name in _EXTRAS if re.search(rf"\bafter\.{name}\b", reward)}
    if "sliding(" in reward:
        found["fingertip_start"] = _EXTRAS["fingertip_start"]
    if member in _STARTS:
        found["object_start"] = (_STARTS[member], _EXTRAS["object_start"][1])
    return found
