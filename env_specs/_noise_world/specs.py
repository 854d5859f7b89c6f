"""What the NoiseWorld specs share; board 0 is smaller, 4 to 6 have two labels and flags more.

Labels, flags and chances are withheld from the prompt: to find out what they mean is the task.
:func:`revealed` tells them, for comparison.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from promptpo.spec import Env, EnvSpec, Raw, Reference, field, load_spec

from . import published as published_parts


class Observation:
    """Where agent and goal are, and the label of every cell. Row 0 is at the top."""

    agent_row: float = field(low=0.0, high=1.0, doc="row of the agent (0 to 9) / 9")
    agent_column: float = field(low=0.0, high=1.0, doc="column of the agent (0 to 9) / 9")
    goal_row: float = field(low=0.0, high=1.0, doc="row of the goal / 9")
    goal_column: float = field(low=0.0, high=1.0, doc="column of the goal / 9")
    cell_labels: np.ndarray = field(
        shape=(10, 10), low=0, high=5, doc="whole numbers; cell_labels[row, column]"
    )


ACTION = """
An int: 0 moves up (row - 1), 1 down (row + 1), 2 left (column - 1), 3 right (column + 1).
"""


def reward(
    observation: Observation,
    action: int,
    next_observation: Observation,
    *,
    entered_bad_cell: bool,
) -> float:
    """Reward of one step. Which cells are bad is not told; entering one ends the episode."""
    n = len(next_observation.cell_labels)
    at_goal = (
        next_observation.agent_row == next_observation.goal_row
        and next_observation.agent_column == next_observation.goal_column
    )
    total = -1.0
    if at_goal:
        total += n**3
    if entered_bad_cell:
        total -= n**5
    return total


WITHHELD = (
    "may stay",
    "stay in place",
    "reset",
    "back to the start",
    "deterministic",
    "wall",
    "milestone",
)

#: What the published prompts do not tell either, of the boards and of the reward.
UNPUBLISHED = (*WITHHELD, "bad cell", "bad_cell", "great loss", "pays", "flag", "**")

LEGEND = """
What the labels mean: a move from a cell labelled 0 always succeeds; from 1 it may fail, the agent
then stays in place; from 2 it may fail, the agent is then back at the start. Cells labelled 3 are
walls: a move into one always leaves the agent where it is, as does a move over the edge. 4 is the
goal, 5 a bad cell.
"""

FLAGS_LEGEND = """
The goal pays only after the cell labelled 6, and later the cell labelled 7, were entered; reached
sooner, it ends the episode unpaid. Moves from these two cells always succeed. first_flag is 1 once
6 was entered, second_flag is 1 once 7 was entered after it.
"""


def board_spec(
    board: int,
    *,
    random: Reference,
    optimum: Reference,
    side: int = 10,
    observation: type = Observation,
    reward: Callable[..., float] = reward,
    reward_inputs: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None,
    published: Mapping[str, Any] = MappingProxyType({}),
) -> EnvSpec:
    """The spec of one board; title and description are its module's docstring.

    ``random`` and ``optimum`` are exact: random_play and solve of world.py.
    """

    def make() -> Env:
        from .world import NoiseWorld

        return NoiseWorld(board=board)

    return EnvSpec(
        make=make,
        observation=observation,
        action=ACTION,
        reward=reward,
        reward_inputs=reward_inputs or entered_bad_cell,
        horizon=side**2,
        success=lambda info, reward, terminated: info["success"],
        expert=expert,
        references={
            "random": random,
            "zero action": Reference(-float(side**2), 0.0),
            "optimum": optimum,
        },
        withheld=WITHHELD,
        published={**_published(side), **published},
    )


def _published(side: int) -> Mapping[str, Any]:
    """The parts that tell no more than the published prompts do."""

    def hidden(info: Mapping[str, Any]) -> Mapping[str, Any]:
        """How large the parts of the reward are is not told."""
        return {
            "goal_condition_met": info["success"],
            "failed": info["entered_bad_cell"],
            "step_cost": 1.0,
            "gain": float(side**3),
            "loss": float(side**5),
        }

    return {
        "description": published_parts.DESCRIPTION.format(last=side - 1, horizon=side**2),
        "reward": published_parts.reward,
        "reward_inputs": hidden,
        "withheld": UNPUBLISHED,
    }


def entered_bad_cell(info: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the reward of a step depends on and the observation does not tell."""
    return {"entered_bad_cell": info["entered_bad_cell"]}


def expert(env: Env) -> Callable[[Raw], int]:
    """Act as exact value iteration with the true probabilities says."""
    from .world import solve

    policy = solve(env.board).policy
    return lambda raw: int(policy[env.steps, env.state])


def revealed(board: int) -> EnvSpec:
    """The spec of a board with what its labels (and flags) mean told in the description.

    In a file of your own: ``SPEC = revealed(4)``, after
    ``from env_specs._noise_world.specs import revealed``.
    """
    spec = load_spec(f"noise_world_board_{board}")
    flags = FLAGS_LEGEND if hasattr(spec.observation, "first_flag") else ""
    told = "\n\n".join(text.strip() for text in (spec.description, LEGEND, flags))
    return replace(
        spec,
        name=f"{spec.name}_revealed",
        title=spec.title.removesuffix(".") + "; the labels explained.",
        description=told.strip(),
        withheld=(),
        published={},
        path=None,
    )
