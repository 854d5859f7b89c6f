"""What the published prompts tell of the mazes: less than ours, which show their maps."""

import numpy as np

from promptpo.spec import field


class Observation:
    """The ball and its goal, before each action. Velocities are cut to 5 m/s before each step."""

    position: np.ndarray = field(shape=(2,), unit="m", frame="world", doc="x, y of the ball")
    velocity: np.ndarray = field(
        shape=(2,), unit="m/s", low=-5.5, high=5.5, frame="world", doc="of the ball along x, y"
    )
    goal: np.ndarray = field(
        shape=(2,), unit="m", frame="world", doc="x, y of the goal; constant during an episode"
    )


DESCRIPTION = """
A ball of 0.1 m radius lies on the floor of a closed maze, seen from above, and is pushed by a force
along x and y. Steps are 0.01 s apart, so an episode lasts 8 s at most. An episode succeeds, and
ends, as soon as the ball's centre is within 0.45 m of the goal.

{starts}

The maze is the same in all episodes; where its walls are is not told. World frame: x to the right,
y up.
"""

WITHHELD = ("#", "maze[", "cell_of", "row", "column", "corner")


def parts(title: str, starts: str) -> dict[str, object]:
    """The published parts of one of the mazes; ``starts`` says where ball and goal are placed."""
    return {
        "title": title,
        "description": DESCRIPTION.format(starts=starts),
        "observation": Observation,
        "withheld": WITHHELD,
    }
