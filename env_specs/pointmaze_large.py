"""PointMaze Large: push a ball through a maze of 9 by 10 cells to a goal.

A ball of 0.1 m radius lies on the floor of a closed maze, seen from above, and is pushed by a force
along x and y. Steps are 0.01 s apart, so an episode lasts 8 s at most. An episode succeeds, and
ends, as soon as the ball's centre is within 0.45 m of the goal. Ball and goal are placed anew in
each episode: each in a free cell, not both in the same one, up to 0.25 m from the cell's centre in
x and in y; the ball at rest.

The maze consists of square cells of 1 m, in rows from the top (largest y) and columns from the left
(smallest x), both counted from 0; the observation's MAZE[row][column] is "#" for a wall and "."
for a free cell. World frame: x to the right, y up on the map, the origin in the middle of the maze.
The centre of a cell lies at x = column - 4.5, y = 4.0 - row, in metres.
"""

import numpy as np

from promptpo.spec import Env, EnvSpec, Reference, field

from ._pointmaze import published
from ._pointmaze import world as family


class Observation:
    """The ball and its goal, before each action, and the maze, which is the same in all episodes.

    Velocities are cut to 5 m/s before each step.
    """

    MAZE = (
        "##########",
        "#...#....#",
        "#.#.#.##.#",
        "#......#.#",
        "#.####.#.#",
        "#........#",
        "#.#.####.#",
        "#........#",
        "##########",
    )

    position: np.ndarray = field(
        shape=(2,), unit="m", low=(-4, -3.5), high=(4, 3.5), frame="world", doc="x, y of the ball"
    )
    velocity: np.ndarray = field(
        shape=(2,), unit="m/s", low=-5.5, high=5.5, frame="world", doc="of the ball along x, y"
    )
    goal: np.ndarray = field(
        shape=(2,),
        unit="m",
        low=(-3.75, -3.25),
        high=(3.75, 3.25),
        frame="world",
        doc="x, y of the goal; constant during an episode",
    )

    def cell_of(self, x: float, y: float) -> tuple[int, int]:
        """Row and column of the cell that holds a point inside the maze."""
        return int(4.5 - y), int(x + 5.0)

    def center_of(self, row: int, column: int) -> tuple[float, float]:
        """x and y of the centre of a cell, in m."""
        return column - 4.5, 4.0 - row


ACTION = """
An array of 2 floats, each in [-1, 1] (values beyond are clipped): the force on the ball along world
x and y, in units of 100 N.
"""


def reward(observation: Observation, action: np.ndarray, next_observation: Observation) -> float:
    """Reward of one step: 1 when it reaches the goal (which ends the episode), else 0."""
    return float(np.linalg.norm(next_observation.position - next_observation.goal) <= 0.45)


def make() -> Env:
    """PointMaze_Large-v3 of gymnasium-robotics, with a maze of our own."""
    return family.make_env("PointMaze_Large-v3", Observation.MAZE, {".": 0})


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    action=ACTION,
    reward=reward,
    horizon=family.HORIZON,
    observe=family.observe,
    success=family.success,
    expert=family.expert(Observation.MAZE),
    published=published.parts(
        "PointMaze Large: push a ball through a maze to a goal.",
        "Ball and goal are placed anew in each episode, at random; the ball is at rest.",
    ),
    install="promptpo[pointmaze]",
    # Measured: python -m promptpo.spec.baselines pointmaze_large --episodes 1000
    references={
        "random": Reference(0.147, 0.147, deviation=0.354),
        "zero action": Reference(0.0, 0.0),
        "expert": Reference(1.0, 1.0),
    },
)
