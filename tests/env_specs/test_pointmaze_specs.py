"""The PointMaze specs: their maps, coordinates, forces and goals are the simulator's."""

import numpy as np
import pytest

from env_specs._pointmaze import world as family
from promptpo.spec import Task, load_spec
from promptpo.spec.observation import observation_class

pytestmark = pytest.mark.slow

STARTS = {"pointmaze_large": ".", "pointmaze_large_diverse_g": "S"}
GOALS = {"pointmaze_large": ".", "pointmaze_large_diverse_g": "G"}


@pytest.fixture(params=STARTS)
def task(request):
    task = Task.open(load_spec(request.param))
    task.reset(0)
    yield task
    task.close()


def place(task: Task, position, velocity=(0.0, 0.0)) -> None:
    task.env.point_env.set_state(np.array(position, dtype=float), np.array(velocity, dtype=float))


def test_walls_stand_where_the_map_shows_them(task):
    maze, model = task.spec.observation.MAZE, task.env.model
    walls = {model.geom(i).name for i in range(model.ngeom) if "block" in model.geom(i).name}
    shown = {
        f"block_{row}_{column}"
        for row, line in enumerate(maze)
        for column, cell in enumerate(line)
        if cell == "#"
    }
    assert walls == shown
    for name in sorted(walls)[::7]:
        _, row, column = name.split("_")
        center = model.geom(name).pos[:2]
        np.testing.assert_allclose(center, family.center_of(maze, (int(row), int(column))))
        assert model.geom(name).size[:2].tolist() == [0.5, 0.5]


def test_cells_and_coordinates_are_those_of_the_environment(task):
    observation = observation_class(task.spec.observation)(task.reset(0))
    maze = observation.MAZE
    for row, line in enumerate(maze):
        for column, _ in enumerate(line):
            center = task.env.maze.cell_rowcol_to_xy(np.array([row, column]))
            assert observation.center_of(row, column) == tuple(center)
            for dx, dy in ((0.0, 0.0), (0.49, -0.49), (-0.49, 0.49)):
                point = (center[0] + dx, center[1] + dy)
                assert observation.cell_of(*point) == (row, column)
                assert family.cell_of(maze, *point) == (row, column)
            assert (family.center_of(maze, (row, column)) == center).all()


def test_the_diverse_maze_is_the_published_one():
    from gymnasium_robotics.envs.maze.maps import LARGE_MAZE_DIVERSE_G

    spec = load_spec("pointmaze_large_diverse_g")
    signs = {1: "#", 0: ".", "r": "S", "g": "G"}
    published = ["".join(signs[cell] for cell in row) for row in LARGE_MAZE_DIVERSE_G]
    assert list(spec.observation.MAZE) == published


def test_ball_and_goal_begin_in_the_cells_described(task):
    see, maze = observation_class(task.spec.observation), task.spec.observation.MAZE
    goals = set()
    for seed in range(150):
        first = see(task.reset(seed))
        cells = [first.cell_of(*first.position), first.cell_of(*first.goal)]
        for point, cell in zip((first.position, first.goal), cells, strict=True):
            assert np.abs(point - first.center_of(*cell)).max() <= 0.25
        (row, column), goal = cells
        assert maze[row][column] == STARTS[task.spec.name]
        assert maze[goal[0]][goal[1]] == GOALS[task.spec.name]
        assert cells[0] != goal
        assert first.velocity.tolist() == [0, 0]
        goals.add(goal)
    assert len(goals) > 6


def test_a_push_moves_the_ball_along_its_axis(task):
    see = observation_class(task.spec.observation)
    for axis, sign in ((0, 1), (0, -1), (1, 1), (1, -1)):
        before = see(task.reset(3))
        push = np.zeros(2)
        push[axis] = sign
        after = see(task.step(push)[0])
        assert np.sign(after.velocity).tolist() == np.sign(push).tolist()
        assert np.sign(after.position - before.position).tolist() == np.sign(push).tolist()
    assert task.env.point_env.dt == pytest.approx(0.01)
    assert task.env.model.actuator_gear[:, 0].tolist() == [100, 100]


@pytest.mark.parametrize(("distance", "met"), [(0.449, True), (0.451, False)])
def test_an_episode_ends_with_reward_1_at_0_45_m(task, distance, met):
    task.reset(1)
    goal, maze = task.raw["desired_goal"], task.spec.observation.MAZE
    center = family.center_of(maze, family.cell_of(maze, *goal))
    place(task, np.add(goal, [distance * np.sign(center[0] - goal[0]), 0.0]))
    flat, reward, terminated, truncated, success = task.step(np.zeros(2))
    see = observation_class(task.spec.observation)
    assert (reward, terminated, success, truncated) == (float(met), met, met, False)
    assert task.spec.reward(None, np.zeros(2), see(flat)) == reward


def test_a_shortest_way_leads_from_every_free_cell_to_every_other(task):
    maze = task.spec.observation.MAZE
    free = {(r, c) for r, line in enumerate(maze) for c, cell in enumerate(line) if cell != "#"}
    for goal in free:
        following = family.next_cells(maze, goal)
        assert following.keys() == free
        assert following[goal] == goal
        for cell, after in following.items():
            assert abs(cell[0] - after[0]) + abs(cell[1] - after[1]) == (cell != goal)
