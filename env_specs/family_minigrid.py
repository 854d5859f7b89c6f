"""MiniGrid's grid worlds with missions, seen as the agent sees them.

Facts are from minigrid 3 (``minigrid_env.py``, ``core/constants.py``, each task's docstring).
References are measured at a few members (``_minigrid/references.json``), by
``python -m promptpo.spec.baselines minigrid:MEMBER --episodes 500 --json FILE``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from promptpo.spec import Field, UnknownMember
from promptpo.spec.writing import (
    docstring,
    field_source,
    prose_of,
    section,
    sections_of,
    wrapped,
)

from ._shared.references import references_source

_REFERENCES = Path(__file__).parent / "_minigrid" / "references.json"

EXAMPLE = "MiniGrid-Empty-5x5-v0"
INSTALL = "promptpo[minigrid]"

_OBJECTS = (
    "0 unseen, 1 empty, 2 wall, 3 floor, 4 door, 5 key, 6 ball, 7 box, 8 goal, 9 lava; "
    "view_object[row, column] as described above"
)
_COLORS = "0 red, 1 green, 2 blue, 3 purple, 4 yellow, 5 grey; 0 where there is no object"
_STATES = "of doors: 0 open, 1 closed, 2 locked; 0 where there is no door"

_ACTIONS = (
    "0 turns left",
    "1 turns right",
    "2 goes forward, if the cell ahead is empty, floor, goal, lava or an open door",
    "3 picks up the object ahead (key, ball or box), if nothing is carried",
    "4 drops what is carried on the empty cell ahead",
    "5 toggles what is ahead: opens and closes a door (a locked one with the key of its colour "
    "carried), opens a box",
    "6 says that the mission is done; few missions need it",
)

#: What ends an episode without success, beside lava, as each task's ``step`` has it.
_FAILURES = {
    "DynamicObstaclesEnv": "on going forward when an obstacle or a wall was ahead, with reward -1",
    "FetchEnv": "on picking up another object",
    "GoToDoorEnv": "on action 6 anywhere but beside the door of the mission, and on action 5",
    "GoToObjectEnv": "on action 6 anywhere but beside the object of the mission, and on action 5",
    "MemoryEnv": "on arriving beside the object that does not match",
    "PutNearEnv": "on picking up another object, and on dropping it anywhere but within one cell "
    "of the mission's place, diagonals included",
    "RedBlueDoorEnv": "on opening the blue door while the red one is closed",
}

_TEMPLATE = '''\
{docstring}

import numpy as np

from promptpo.spec import Env, EnvSpec, Reference, field

from ._minigrid import world as family


class Observation:
{class_docstring}

{fields}


ACTION = """
{action}
"""


def reward(
    observation: Observation,
    action: int,
    next_observation: Observation,
    *,
    accomplished: bool,{collided}
) -> float:
    """Reward of one step: for the step that accomplishes the mission, the more the sooner."""
    if accomplished:
        return 1.0 - 0.9 * next_observation.steps / {horizon}
    return {otherwise}


def make() -> Env:
    """Build {env_id}."""
    return family.make_env("{env_id}")


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    action=ACTION,
    reward=reward,
    reward_inputs=family.{reward_inputs},
    horizon={horizon},
    observe=family.{observe},
    success=family.success,
{deterministic}    install="{install}",
    references={{{references}}},
)
'''


def members() -> list[str]:
    """MiniGrid's own ids; BabyAI's instructions are free text, which no field can hold."""
    import gymnasium
    import minigrid  # noqa: F401 - registers its environments

    found = [name for name in gymnasium.registry if name.startswith("MiniGrid-")]
    # WFC needs patterns that its package lacks; the playground has neither mission nor reward.
    return [name for name in found if "-WFC-" not in name and "-Playground-" not in name]


def source(member: str) -> str:
    """The text of an id's spec module. Raises UnknownMember."""
    if member not in members():
        raise UnknownMember(member)
    from ._minigrid import world

    env = world.make_env(member)
    places = world.open_places(env.unwrapped.observation_space["mission"])
    _, first = env.reset(seed=0), env.unwrapped.mission
    collides = world.has_obstacles(env)
    text = _TEMPLATE.format(
        env_id=member,
        docstring=_module_docstring(env, member, None if places else first),
        class_docstring=_class_docstring(env.unwrapped),
        fields="\n".join(_fields(env, places)),
        action=wrapped("An int: " + "; ".join(_ACTIONS[: int(env.action_space.n)]) + "."),
        horizon=int(env.unwrapped.max_steps),
        collided="\n    collided: bool," if collides else "",
        otherwise="-1.0 if collided else 0.0" if collides else "0.0",
        reward_inputs="outcome" if collides else "accomplished",
        observe="observe_mission" if places else "observe",
        install=INSTALL,
        deterministic="    deterministic=True,\n" if world.is_deterministic(env) else "",
        references=references_source(_REFERENCES, f"minigrid:{member}"),
    )
    env.close()
    return text


def _module_docstring(env: Any, member: str, mission: str | None) -> str:  # noqa: ANN401
    inner = env.unwrapped
    told = prose_of(section(sections_of(env), "description"))
    mission_words = f"The mission: {mission}." if mission else "The mission is in the observation."
    failure = _FAILURES.get(type(inner).__name__)
    story = (
        f"An agent moves in a grid of {inner.width} x {inner.height} cells, its outer walls "
        f"included, and sees only the cells ahead of it. {mission_words} An episode succeeds, and "
        "ends, when the mission is accomplished; it ends as well on entering lava"
        + (f", and {failure}." if failure else ".")
    )
    return docstring(f"{member}: {mission or 'a mission in a grid world'}.", [story, told])


def _class_docstring(inner: Any) -> str:  # noqa: ANN401
    size = int(inner.agent_view_size)
    middle, last = size // 2, size - 1
    hides = (
        "Walls hide nothing; what is outside the grid looks like a wall."
        if inner.see_through_walls
        else "Cells behind walls and closed doors are unseen."
    )
    return docstring(
        f"The {size} x {size} cells in view before each action, turned so that the agent looks up.",
        [
            f"Row 0 is the furthest, row {last} the agent's own; column 0 is the leftmost. The "
            f"agent is at row {last}, column {middle}; that cell shows what it carries. The cell "
            f"ahead of it is at row {last - 1}, column {middle}. {hides}"
        ],
        indent=4,
    )


def _fields(env: Any, places: list[list[str]]) -> list[str]:  # noqa: ANN401
    size = int(env.unwrapped.agent_view_size)
    steps = int(env.unwrapped.max_steps)
    rows = [
        field_source(name, "np.ndarray", Field((size, size), low=0, high=high, doc=doc))
        for name, high, doc in (
            ("view_object", 9, _OBJECTS),
            ("view_color", 5, _COLORS),
            ("view_state", 2, _STATES),
        )
    ]
    compass = "where the agent looks in the grid: 0 right, 1 down, 2 left, 3 up"
    rows.append(field_source("direction", "int", Field(low=0, high=3, doc=compass)))
    taken = Field(low=0, high=steps, doc="steps taken in this episode")
    rows.append(field_source("steps", "int", taken))
    if places:
        rows.append(field_source("mission", "np.ndarray", _mission_field(env, places)))
    return rows


def _mission_field(env: Any, places: list[list[str]]) -> Field:  # noqa: ANN401
    space = env.unwrapped.observation_space["mission"]
    blanks = iter(f"<{n}>" for n in range(len(places)))
    names = [next(blanks) if len(w) > 1 else w[0] for w in space.ordered_placeholders]
    words = [
        f"<{n}>: " + ", ".join(f"{i} {word}" for i, word in enumerate(choices))
        for n, choices in enumerate(places)
    ]
    doc = f"mission[n] says what stands for <n> in '{space.mission_func(*names)}'; "
    high = tuple(len(choices) - 1 for choices in places)
    return Field((len(places),), low=0, high=high, doc=doc + "; ".join(words))
