"""Data sheets of MuJoCo bodies, as the twins of their tasks have them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .bodies import Body, model_of
from .facts import Sheet
from .recipe import Facts, View, World
from .rewriting import renamed


def body_facts(
    file: str,
    *,
    parts: Mapping[str, str],
    joints: Mapping[str, str],
    group: str,
    zero: str,
    origin: str = "",
    axes: str = "xz",
    others: Mapping[str, str] | None = None,
) -> Callable[[World, View], Facts]:
    """A recipe's ``facts`` for a body of the model ``file``.

    The words are the original's, as ``Sheet`` says; ``joints`` stand in the order of ``group``.
    """

    def facts(world: World, view: View) -> Facts:
        def told(words: Mapping[str, str]) -> dict[str, str]:
            return {name: renamed(word, view.names) for name, word in words.items()}

        ordered = dict(view.ordered(group, list(told(joints).items())))
        sheet = Sheet(
            told(parts), ordered, renamed(zero, view.names), origin, axes, told(others or {})
        )
        rows = "".join(f"        {name}={value!r},\n" for name, value in vars(sheet).items())
        model = model_of(file, Body(**world["body"])).compile()
        measured = f"facts.Sheet(\n{rows}    ).text(env.unwrapped.model)"
        return Facts(sheet.text(model), measured)

    return facts


HOPPER = body_facts(
    "hopper.xml",
    parts={"torso_geom": "torso", "thigh_geom": "thigh", "leg_geom": "shin", "foot_geom": "foot"},
    joints={
        "thigh_joint": "hip (thigh)",
        "leg_joint": "knee (shin)",
        "foot_joint": "ankle (foot)",
    },
    group="joints",
    zero="the torso's middle",
    origin="torso",
)

WALKER = body_facts(
    "walker2d_v5.xml",
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
    group="joints",
    zero="the torso's middle",
    origin="torso",
)

_CHEETAH_LEGS = {
    "bthigh": "back thigh",
    "bshin": "back shin",
    "bfoot": "back foot",
    "fthigh": "front thigh",
    "fshin": "front shin",
    "ffoot": "front foot",
}

CHEETAH = body_facts(
    "half_cheetah.xml",
    parts={"torso": "torso", "head": "head", **_CHEETAH_LEGS},
    joints=_CHEETAH_LEGS,
    group="joints",
    zero="the torso's middle",
    origin="torso",
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
    group="joints",
    zero="the torso's centre",
    origin="torso",
    axes="xyz",
)

SWIMMER = body_facts(
    "swimmer.xml",
    parts={"torso": "front link", "mid": "middle link", "back": "back link"},
    joints={"motor1_rot": "front hinge", "motor2_rot": "back hinge"},
    group="joints",
    zero="the point of the front link that is told as its position",
    origin="torso",
    axes="xy",
    others={"slider1": "way along x", "slider2": "way along y", "free_body_rot": "turn"},
)

REACHER = body_facts(
    "reacher.xml",
    parts={"link0": "upper link", "link1": "lower link", "fingertip": "tip"},
    joints={"joint0": "shoulder", "joint1": "elbow"},
    group="joints",
    zero="the shoulder",
    origin="body0",
    axes="xy",
)

POLES = body_facts(
    "inverted_double_pendulum.xml",
    parts={"cart": "cart", "cpole": "lower pole", "cpole2": "upper pole"},
    joints={"hinge": "lower pole", "hinge2": "upper pole"},
    group="poles",
    zero="the middle of the rail",
    others={"slider": "cart on its rail"},
)
