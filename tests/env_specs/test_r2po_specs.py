"""Nim, Maze and Pong: their rules, their exact optima, their lives as Gymnasium environments."""

import collections

import gymnasium
import numpy as np
import pytest

from env_specs._games import maze, nim, pong
from env_specs._shared.tabular import start_value
from promptpo.spec import Task, load_spec

IDS = {
    "nim": nim.ENV_ID,
    "maze": maze.ENV_ID,
    "pong": pong.ENV_ID,
}


def test_pictures_change_with_the_state_and_are_drawn_only_where_asked_for():
    for name, shape in {"nim": (320, 640), "maze": (384, 384), "pong": (600, 800)}.items():
        env = gymnasium.make(IDS[name], render_mode="rgb_array").unwrapped
        env.reset(seed=0)
        before = env.render()
        env.step(2)
        after = env.render()
        assert before.shape == after.shape == (*shape, 3)
        assert before.dtype == np.uint8
        assert 0 < (before != after).mean() < 0.3
        blind = gymnasium.make(IDS[name]).unwrapped
        blind.reset(seed=0)
        assert blind.render() is None


@pytest.mark.parametrize("name", IDS)
def test_an_expert_earns_the_stated_optimum_in_every_episode(name):
    spec = load_spec(name)
    task = Task.open(spec)
    optimum = spec.reference_scores["optimum"].mean_return
    for seed in range(30):
        task.reset(seed)
        act, total, over = spec.expert(task.env), 0.0, False
        while not over:
            _, reward, terminated, truncated, _ = task.step(np.array([float(act(task.raw))]))
            total += reward
            over = terminated or truncated
        assert total == pytest.approx(optimum, abs=5e-5)


def opponents_choices(sticks):
    """How often the opponent takes each number of so many sticks, in 600 games."""
    taken = collections.Counter()
    env = nim.Nim()
    for seed in range(600):
        env.reset(seed=seed)
        env.sticks = sticks + 1
        taken[sticks - int(env.step(1)[0])] += 1
    return taken


def test_the_optimum_of_nim_is_the_stated_one():
    value, best = nim.solve()
    assert value[10] == load_spec("nim").reference_scores["optimum"].mean_return == 1.0
    assert [sticks for sticks in range(1, 11) if value[sticks] < 0] == [1, 5, 9]
    assert best[[2, 3, 4, 6, 7, 8, 10]].tolist() == [1, 2, 3, 1, 2, 3, 1]


def test_the_opponent_plays_the_best_number_and_any_where_it_is_losing():
    for sticks in (2, 3, 4, 6, 7, 8):
        assert set(opponents_choices(sticks)) == {(sticks - 1) % 4}
    for sticks, numbers in ((1, {1}), (5, {1, 2, 3}), (9, {1, 2, 3})):
        choices = opponents_choices(sticks)
        assert set(choices) == numbers
        assert min(choices.values()) > 450 / len(numbers)


def test_who_takes_the_last_stick_loses():
    for sticks, action, outcome in (
        (1, 1, (0, -1.0, True)),
        (2, 3, (0, -1.0, True)),
        (2, 1, (0, 1.0, True)),
        (4, 1, (1, 0, False)),
    ):
        env = nim.Nim()
        env.reset(seed=0)
        env.sticks = sticks
        assert env.step(action)[:3] == outcome


def test_the_optimum_of_the_maze_is_that_of_value_iteration():
    spec = load_spec("maze")
    value = start_value(spec.make(), spec.horizon)
    assert value == pytest.approx(1 - 3 * 0.1 / 9)
    assert spec.reference_scores["optimum"].mean_return == pytest.approx(value, abs=5e-5)


def test_moves_in_the_maze_go_where_they_say_and_not_through_walls():
    moves = [maze.target(4, action) for action in range(4)]
    assert moves == [1, 7, 4, 3], "north, south, a wall in the east, west"
    assert [maze.target(0, action) for action in range(4)] == [0, 0, 1, 0]
    for state in range(9):
        for action, back in enumerate([1, 0, 3, 2]):
            end = maze.target(state, action)
            assert end == state or maze.target(end, back) == state


def serve(x, y, dx, dy, paddle=300.0, opponent=300.0):
    env = pong.Pong()
    env.reset(seed=0)
    env.x, env.y, env.dx, env.dy, env.paddle, env.opponent = x, y, dx, dy, paddle, opponent
    return env


def test_the_optimum_of_pong_is_what_time_allows():
    assert pong.best_return() == load_spec("pong").reference_scores["optimum"].mean_return == 3


def test_returns_of_pong_cannot_come_sooner_than_the_bound_says():
    for way, first in ((-5.0, 77), (5.0, 77 + 154)):
        env = serve(400.0, 300.0, way, 0.0)
        hits = [step for step in range(1, 1001) if env.step(2)[1]]
        assert hits == [first, first + 308, first + 616]


def test_the_ball_is_returned_by_paddles_and_reflected_by_edges():
    for offset in (-40.0, -10.0, 0.0, 25.0, 40.0):
        observation, reward, over, _, _ = serve(20.0, 300.0 + offset, -5.0, 0.0).step(2)
        assert (reward, over) == (1.0, False)
        assert observation.tolist() == [300.0, 15.0, 300.0 + offset, 5.0, offset / 8]
    observation, reward, _, _, _ = serve(780.0, 300.0, 5.0, 0.0).step(2)
    assert (observation[3], reward) == (-5.0, 0.0), "the opponent's return"
    for y, dy, after in ((7.0, -4.0, (7.0, 4.0)), (593.0, 4.0, (593.0, -4.0))):
        observation = serve(400.0, y, 5.0, dy).step(2)[0]
        assert (observation[2], observation[4]) == after


def test_a_ball_that_either_side_misses_ends_the_episode_without_a_reward():
    for env in (serve(20.0, 341.0, -5.0, 0.0), serve(780.0, 100.0, 5.0, 0.0, opponent=500.0)):
        ends = [env.step(2)[1:3] for _ in range(4)]
        assert ends == [(0.0, False)] * 3 + [(0.0, True)]
        with pytest.raises(gymnasium.error.ResetNeeded):
            env.step(2)


def test_the_paddle_goes_where_the_action_says_and_stops_at_the_edge():
    for action, moved, stop in ((0, -5.0, 40.0), (1, 5.0, 560.0), (2, 0.0, 300.0)):
        env = serve(400.0, 300.0, 5.0, 0.0)
        assert env.step(action)[0][0] == 300.0 + moved
        for _ in range(60):
            env.step(action)
        assert env.paddle == stop
