"""NoiseWorld, labels unknown: cross 6 x 6 grids whose labels mean something else in every life.

The agent starts in row 0, column 0; the goal is in row 5, column 5. Both have the label 0; every
other cell has one of the labels 1 to 8. Two of these mean that a move from the cell always
succeeds, two that it may fail and leave the agent where it is, one that it may fail and throw the
agent back to the start. The other three mean a bad cell: entering one ends the episode, at a loss.
Which label means what is drawn at random for every evaluation, stays the same through all of its
episodes, and is shown only by what happens to moves. The grid is drawn anew for every episode: the
label of each cell by itself, all labels equally often, but so that there is a way from the start
to the goal without bad cells. A move over the edge leaves the agent where it is. Entering the goal
ends the episode. An episode succeeds if the goal is entered within 36 steps.
"""

import numpy as np

from promptpo.spec import Env, EnvSpec, Reference, field

from ._noise_world.specs import ACTION, entered_bad_cell, expert


class Observation:
    """Where the agent is, and the label of every cell. Row 0 is at the top."""

    agent_row: int = field(low=0, high=5, doc="row of the agent")
    agent_column: int = field(low=0, high=5, doc="column of the agent")
    cell_labels: np.ndarray = field(
        shape=(6, 6), low=0, high=8, doc="whole numbers; cell_labels[row, column]"
    )


def reward(
    observation: Observation,
    action: int,
    next_observation: Observation,
    *,
    entered_bad_cell: bool,
) -> float:
    """Reward of one step. Which cells are bad is not told."""
    n = len(next_observation.cell_labels)
    total = -1.0
    if next_observation.agent_row == n - 1 and next_observation.agent_column == n - 1:
        total += n**3
    if entered_bad_cell:
        total -= n**3
    return total


def make() -> Env:
    """The boards of unknown.py, which draws them and what their labels mean."""
    from ._noise_world.unknown import UnknownLabels

    return UnknownLabels()


def new_life(env: Env, seed: int) -> None:
    """Draw what the labels mean."""
    env.new_life(seed)


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    action=ACTION,
    reward=reward,
    reward_inputs=entered_bad_cell,
    horizon=36,
    success=lambda info, reward, terminated: info["success"],
    new_life=new_life,
    policy_lifetime="evaluation",
    evaluation_episodes=10,
    expert=expert,
    # Measured: python -m promptpo.spec.baselines noise_world_unknown --episodes 2000; the expert
    # knows what the labels mean. The other two are a policy of the tests that learns it, and the
    # same policy with a new object for every episode, on 1000 episodes:
    # promptpo eval tests/env_specs/data/learns_labels.py --spec noise_world_unknown --episodes 1000
    # and that with --set policy_lifetime=episode.
    references={
        "random": Reference(-218.3, 0.0, deviation=33.6),
        "zero action": Reference(-36.0, 0.0),
        "expert": Reference(202.1, 0.998, deviation=12.5),
        "learns in its life": Reference(137.8, 0.846),
        "does not learn": Reference(-76.8, 0.338),
    },
)
