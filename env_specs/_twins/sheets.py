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
