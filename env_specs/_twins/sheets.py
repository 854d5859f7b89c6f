"""Data sheets of MuJoCo bodies, as the twins of their tasks have them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from promptpo.spec import BodySheet

from ..mujoco_halfcheetah import BODY as CHEETAH_BODY
from ..mujoco_hopper import BODY as HOPPER_BODY
from ..mujoco_inverted_double_pendulum import BODY as POLES_BODY
from ..mujoco_reacher import BODY as REACHER_BODY
from ..mujoco_swimmer import BODY as SWIMMER_BODY
from .bodies import Body, model_of
from .recipe import Facts, View, World
from .rewriting import renamed


def body_facts(file: str, body: BodySheet, group: str) -> Callable[[World, View], Facts]:
    """A recipe's ``facts`` for a body of the model ``file``, in the original's words.

    Its joints stand in the order of ``group``.
    """

    def facts(world: World, view: View) -> Facts:
        def told(words: Mapping[str, str]) -> dict[str, str]:
            return {name: renamed(word, view.names) for name, word in words.items()}

        ordered = dict(view.ordered(group, list(told(body.joints).items())))
        zero = renamed(body.zero, view.names)
        parts, others = told(body.parts), told(body.others)
        sheet = BodySheet(parts, ordered, zero, body.origin, body.axes, others, full=True)
        rows = "".join(f"        {name}={value!r},\n" for name, value in vars(sheet).items())
        model = model_of(file, Body(**world["body"])).compile()
        measured = f"BodySheet(\n{rows}    ).text(env.unwrapped.model)"
        return Facts(sheet.text(model), measured, "from promptpo.spec import BodySheet")

    return facts


HOPPER = body_facts("hopper.xml", HOPPER_BODY, "joints")
CHEETAH = body_facts("half_cheetah.xml", CHEETAH_BODY, "joints")
SWIMMER = body_facts("swimmer.xml", SWIMMER_BODY, "joints")
REACHER = body_facts("reacher.xml", REACHER_BODY, "joints")
POLES = body_facts("inverted_double_pendulum.xml", POLES_BODY, "poles")

# Of these the originals tell the legs together.

WALKER = body_facts(
    "walker2d_v5.xml",
    BodySheet(
        parts={
            "torso_geom": "torso",
            "thigh_geom": "right thigh",
            "leg_geom": "right shin",
            "foot_geom": "right foot",
            "thigh_left_geom": "left thigh",
            "leg_left_geom": "left shin",
            "foot_left_geom": "left foot",
        },
        joints={
            "thigh_joint": "right hip",
            "leg_joint": "right knee",
            "foot_joint": "right ankle",
            "thigh_left_joint": "left hip",
            "leg_left_joint": "left knee",
            "foot_left_joint": "left ankle",
        },
        zero="the torso's middle",
        origin="torso",
    ),
    "joints",
)

#: The legs of the ant: their numbers in joints' names, and the geoms of link, upper, lower leg.
_ANT_LEGS = {
    "front left": (1, "aux_1_geom", "left_leg_geom", "left_ankle_geom"),
    "back left": (2, "aux_2_geom", "right_leg_geom", "right_ankle_geom"),
    "back right": (3, "aux_3_geom", "back_leg_geom", "third_ankle_geom"),
    "front right": (4, "aux_4_geom", "rightback_leg_geom", "fourth_ankle_geom"),
}

ANT = body_facts(
    "ant.xml",
    BodySheet(
        parts={
            "torso_geom": "torso",
            **{
                geom: f"{leg} {part}"
                for leg, (_, *geoms) in _ANT_LEGS.items()
                for part, geom in zip(("link", "upper leg", "lower leg"), geoms, strict=True)
            },
        },
        joints={
            f"{joint}_{number}": f"{leg} {joint}"
            for leg, (number, *_) in _ANT_LEGS.items()
            for joint in ("hip", "ankle")
        },
        zero="the torso's centre",
        origin="torso",
        axes="xyz",
    ),
    "joints",
)
