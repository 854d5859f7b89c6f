"""Meta-World's 50 manipulation tasks; those with a file of their own are found there.

Of ``_metaworld/``, ``tasks.toml`` says what a task is, ``press.py``, ``carry.py`` and ``push.py``
hold the rewards, ``facts.json`` the data sheets, measured by ``measure.py``, and
``references.json`` the references, measured by
``python -m promptpo.spec.baselines metaworld: --episodes 30 --json FILE``. Facts are from
metaworld 3.1.1.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import textwrap
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from promptpo.spec import UnknownMember
from promptpo.spec.writing import docstring

from ._metaworld import carry, press, push
from ._metaworld.fields import extras_of, fields_of, size_of
from ._shared.references import references_source

_FOLDER = Path(__file__).with_name("_metaworld")

EXAMPLE = "push-v3"
INSTALL = "metaworld>=3.1.1"
SHIPPED = {
    "reach-v3": "metaworld_reach",
    "button-press-v3": "metaworld_button_press",
    "pick-place-v3": "metaworld_pick_place",
    "door-open-v3": "metaworld_door_open",
    "drawer-open-v3": "metaworld_drawer_open",
}

#: Tasks whose first observation would show the object where the draw before has put it.
PLACED_TWICE = {"dial-turn-v3", "faucet-open-v3", "lever-pull-v3", "window-close-v3"} | {
    "window-open-v3"
}

#: Rewards that serve several tasks.
_SHARED = {
    "coffee-pull-v3": "coffee",
    "coffee-push-v3": "coffee",
    "handle-press-side-v3": "handle_press",
}

#: What a reward takes that no field tells, as Meta-World's ``info`` calls it.
_HIDDEN = {"grip": "grasp_reward", "near": "in_place_reward", "aligned": "in_place_reward"}

_GRIP = (
    "``grip`` is the environment's own measure of the grasp, 0 to 1: how well the finger pads are "
    "on both sides of the object in y, with the fingertips at its x and z, and, once they are, "
    "how well the fingers close."
)

_ACTION = """
An array of 4 floats, each in [-1, 1] (values beyond are clipped):
action[0], action[1], action[2]: displacement of the hand's commanded position along world x, y, z
    in this step, in units of 0.01 m (so 1.0 asks for 0.01 m);
action[3]: effort of the gripper: positive closes the fingers, negative opens them.
"""

_TEMPLATE = '''\
{docstring}

import numpy as np

from promptpo.spec import Env, EnvSpec, Raw, Reference, field

from ._metaworld import world as family
from ._metaworld.shaping import {helpers}
from ._metaworld.sheet import ArmSheet


class Observation:
{class_docstring}

{fields}


ACTION = """{action}"""

FACTS = """
{facts}
"""


{functions}


def make() -> Env:
    """Meta-World's {task}, its goal observable."""
    return family.make_env("{task}")


def observe(raw: Raw, env: Env) -> np.ndarray:
    """Now and one step before, the goal, the fingertips, and what the reward needs beyond them."""
    return np.concatenate(
        (
            raw[:{now}],
            raw[18:{before}],
            {observed},
        )
    )

{reward_inputs}
SPEC = EnvSpec(
    make=make,
    observation=Observation,
    action=ACTION,
    facts=FACTS,
    measured_facts=ArmSheet({things}).measured,
    reward=reward,
    reward_helpers=({helpers},{local_helpers}),
{inputs_argument}    # Meta-World computes parts of its rewards in float32.
    reward_tolerance=1e-5,
    horizon=family.HORIZON,
    observe=observe,
    reset=family.{reset},
    success=family.success,
    expert=family.expert("{task}"),
    install="{install}",
    references={{{references}}},
)
'''


@cache
def _tasks() -> dict[str, dict[str, Any]]:
    return tomllib.loads((_FOLDER / "tasks.toml").read_text(encoding="utf-8"))


@cache
def _facts() -> dict[str, str]:
    found: dict[str, str] = json.loads((_FOLDER / "facts.json").read_text(encoding="utf-8"))
    return found


def _things(task: Mapping[str, Any]) -> tuple[str, ...]:
    """What the things are called whose positions are observed."""
    return tuple(task[name][0] for name in ("object", "second") if name in task)


def members() -> list[str]:
    """All 50 tasks."""
    return [*_tasks(), *SHIPPED]


def source(member: str) -> str:
    """The text of a task's spec module. Raises UnknownMember."""
    if member not in _tasks():
        raise UnknownMember(member)
    task = _tasks()[member]
    function = _reward_of(member)
    text = inspect.getsource(function)
    extras = extras_of(member, text)
    size = size_of(task)
    local = [push.sliding] if "sliding(" in text else []
    helpers = _helpers("".join([text, *map(inspect.getsource, local)]))
    hidden = [name for name in inspect.signature(function).parameters if name in _HIDDEN]
    functions = [inspect.getsource(helper).rstrip() for helper in local]
    module = _TEMPLATE.format(
        task=member,
        docstring=_module_docstring(member, task),
        class_docstring=_class_docstring(task),
        fields="\n".join(fields_of(task, extras)),
        action=_ACTION,
        facts=_facts().get(member, ""),
        things=_things(task),
        functions="\n\n\n".join([*functions, _reward_source(function, hidden)]),
        helpers=", ".join(helpers),
        local_helpers="".join(f" {helper.__name__}," for helper in local),
        now=size,
        before=18 + size,
        observed=",\n            ".join(
            ["raw[36:39]", "env.tcp_center", *(extras[name][0] for name in extras)]
        ),
        reward_inputs=_reward_inputs(hidden),
        inputs_argument="    reward_inputs=reward_inputs,\n" if hidden else "",
        reset="reset_twice" if member in PLACED_TWICE else "reset",
        install=INSTALL,
        references=references_source(_FOLDER / "references.json", f"metaworld:{member}"),
    )
    return _named(module, task)


def _reward_of(member: str) -> Callable[..., float]:
    name = _SHARED.get(member, member.removesuffix("-v3").replace("-", "_"))
    modules = (press, carry, push)
    found: Callable[..., float] = next(vars(m)[name] for m in modules if name in vars(m))
    return found


def _helpers(text: str) -> list[str]:
    known = ("distance", "gaussian_tolerance", "hamacher_product", "tolerance")
    return [name for name in known if re.search(rf"(?<!_)\b{name}\(", text)]


def _module_docstring(member: str, task: Mapping[str, Any]) -> str:
    x, y, z = task.get("hand", (0.0, 0.6, 0.2))
    near = 0.35 if member == "stick-pull-v3" else 0.4
    story = (
        f"A Sawyer arm stands behind a table{task['scene']}. At each step the policy moves the "
        "hand a little and sets the effort of the gripper, whose two fingers close along y. An "
        f"episode succeeds if, at any of its 500 steps, {task['success']}. Success does not end "
        f"the episode. {task['placement']} The hand starts near ({x:.2f}, {y:.2f}, {z:.2f}) with "
        f"the gripper open. The hand is kept inside x from -0.5 to 0.5, y from {near} to 1.0, z "
        f"from {task.get('floor', 0.05)} to 0.5."
    )
    frame = (
        "World frame, in metres: x to the robot's right as it looks over the table, y away from "
        "the robot's base, z up from the table top (z = 0)."
    )
    return docstring(f"Meta-World {member}: {task['title']}.", [story, frame])


def _class_docstring(task: Mapping[str, Any]) -> str:
    objects = " and ".join(["object", *(["second"] if "second" in task else [])])
    return docstring(
        f"Hand, gripper, {objects} and goal before each action; positions in the world frame.",
        [
            "The fields that begin with ``previous_`` hold what the field without that word held "
            "one step before (at the first step: the same values)."
        ],
        indent=4,
    ).replace("second and", "second_object and")


def _reward_source(function: Callable[..., float], hidden: list[str]) -> str:
    """The source of a reward as the spec has it: by the names of a spec's reward function."""
    text = inspect.getsource(function)
    node = ast.parse(text).body[0]
    assert isinstance(node, ast.FunctionDef)  # noqa: S101 - getsource of a function
    lines = text.rstrip().splitlines()
    body = "\n".join(lines[(node.body[1].lineno - 1) :])
    title, _, rest = (ast.get_docstring(node) or "").partition("\n")
    paragraphs = [" ".join(part.split()) for part in rest.strip().split("\n\n") if part.strip()]
    if "grip" in hidden:
        paragraphs.append(_GRIP)
    names = ["observation: Observation", "action: np.ndarray", "next_observation: Observation"]
    if hidden:
        names += ["*", *(f"{name}: float" for name in hidden)]
        head = "def reward(\n" + "".join(f"    {name},\n" for name in names) + ") -> float:"
    else:
        head = f"def reward({', '.join(names)}) -> float:"
    after = "    after = next_observation"
    return "\n".join([head, docstring(title, paragraphs, indent=4), after, body])


def _reward_inputs(hidden: list[str]) -> str:
    if not hidden:
        return ""
    pairs = ", ".join(f'"{name}": info["{_HIDDEN[name]}"]' for name in hidden)
    return textwrap.dedent(f'''
        def reward_inputs(info: dict[str, float]) -> dict[str, float]:
            """What Meta-World's reward depends on and no field tells."""
            return {{{pairs}}}

    ''')


def _named(module: str, task: Mapping[str, Any]) -> str:
    """The fields are called after what the task's objects are."""
    noun = task["object"][0]
    module = module.replace("$object", noun)
    module = re.sub(r"\b(previous_)?object_(position|rotation|start)\b", rf"\1{noun}_\2", module)
    if "second" in task:
        second = task["second"][0]
        module = re.sub(
            r"\b(previous_)?second_(position|rotation|start)\b", rf"\1{second}_\2", module
        )
        module = module.replace("object and second_object", f"{noun}, {second}")
    return module.replace("Hand, gripper, object", f"Hand, gripper, {noun}")
