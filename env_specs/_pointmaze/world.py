"""What the PointMaze specs share: construction, observation, success, and an expert.

Facts are from gymnasium-robotics 1.4.2 (``maze_v4.py``, ``point_maze.py``, ``point.xml``). Its
documentation says that a step takes 0.1 s and that 0.5 m from the goal is enough; in its code it is
one simulator step of 0.01 s, and 0.45 m.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from promptpo.spec import Env

Array = NDArray[np.float64]

#: A maze as specs write it: one string a row, from the north; ``#`` is a wall.
Maze = Sequence[str]
Cell = tuple[int, int]

HORIZON = 800


def make_env(environment: str, maze: Maze, cells: Mapping[str, str | int]) -> Env:
    """Build an episodic PointMaze with the sparse reward, of the maze of a spec.

    ``cells`` says what the maze's characters, but for walls, are in gymnasium-robotics' notation.
    """
    import gymnasium

    _import_robotics()
    meanings = {"#": 1, **cells}
    env: Env = gymnasium.make(
        environment,
        maze_map=[[meanings[cell] for cell in row] for row in maze],
        continuing_task=False,
        max_episode_steps=HORIZON,
        disable_env_checker=True,
    )
    # The package writes its model to the temporary folder, loads it, and would leave it there.
    Path(env.unwrapped.tmp_xml_file_path).unlink(missing_ok=True)
    return env


def _import_robotics() -> None:
    """Import gymnasium-robotics, which registers its environments.

    At import it prints a notice on its Adroit environments, which would come from every process.
    """
    import_module("farama_notifications").notifications.pop("gymnasium_robotics", None)
    import_module("gymnasium_robotics")


def observe(raw: Mapping[str, Array], env: Env) -> Array:
    """Return position, velocity and goal: shape (6,)."""
    return np.concatenate((raw["observation"], raw["desired_goal"]))


def success(info: Mapping[str, Any], reward: float, terminated: bool) -> bool:
    """Whether the ball is within 0.45 m of the goal, as the environment tells."""
    return bool(info["success"])


def cell_of(maze: Maze, x: float, y: float) -> Cell:
    """Row and column of the cell that holds a point."""
    return int(len(maze) / 2 - y), int(x + len(maze[0]) / 2)


def center_of(maze: Maze, cell: Cell) -> Array:
    """x and y of the middle of a cell."""
    row, column = cell
    return np.array([column + 0.5 - len(maze[0]) / 2, len(maze) / 2 - row - 0.5])


def next_cells(maze: Maze, goal: Cell) -> dict[Cell, Cell]:
    """For every cell from which the goal can be reached, the next one on a shortest way there."""
    following = {goal: goal}
    queue = deque([goal])
    while queue:
        row, column = queue.popleft()
        for cell in ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)):
            if maze[cell[0]][cell[1]] != "#" and cell not in following:
                following[cell] = (row, column)
                queue.append(cell)
    return following


def expert(maze: Maze) -> Callable[[Env], Callable[[Mapping[str, Array]], Array]]:
    """Return the factory of a controller that follows a shortest path of cells to the goal."""

    def factory(env: Env) -> Callable[[Mapping[str, Array]], Array]:
        plans: dict[Cell, dict[Cell, Cell]] = {}

        def act(raw: Mapping[str, Array]) -> Array:
            position, velocity = raw["observation"][:2], raw["observation"][2:]
            goal = raw["desired_goal"]
            here, end = cell_of(maze, *position), cell_of(maze, *goal)
            if end not in plans:
                plans[end] = next_cells(maze, end)
            target = goal if here == end else center_of(maze, plans[end][here])
            # Gains chosen by hand: about 3 m/s along a corridor, without touching the walls.
            return np.clip(3.0 * (target - position) - 0.9 * velocity, -1.0, 1.0)

        return act

    return factory
