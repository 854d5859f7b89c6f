"""NoiseWorld: where every move of every board leads, and how often; single and vectorised."""

import json
from pathlib import Path

import numpy as np
import pytest

from env_specs._noise_world import board
from env_specs._noise_world.vector import NoiseWorldVector
from env_specs._noise_world.world import NoiseWorld, load_board
from promptpo.spec import load_spec

BOARDS = json.loads(Path(board.__file__).with_name("boards.json").read_text())
STEPS = {0: (-1, 0), 1: (1, 0), 2: (0, -1), 3: (0, 1)}


def published(number):
    """Yield state, action, chance, usual, other of every move from a cell where play goes on.

    Written from the published description and the boards' file alone. Outcomes are (state, reward,
    terminated); a chance of 1 means that there is no other.
    """
    data = BOARDS[number]
    n, labels = data["n"], data["labels"]
    for phase in range(3 if data["milestones"] else 1):
        for row, column in np.ndindex(n, n):
            label = labels[row][column]
            if label in (3, 4, 5):
                continue
            region = data["regions"][data["region"][row][column]]
            stay = ((phase * n + row) * n + column, -1.0, False)
            for action, (down, right) in STEPS.items():
                to = row + down, column + right
                if not (0 <= to[0] < n and 0 <= to[1] < n) or labels[to[0]][to[1]] == 3:
                    yield stay[0], action, 1.0, stay, stay
                    continue
                usual = entered(number, phase, *to)
                if label == 1:
                    yield stay[0], action, region["p"], usual, stay
                elif label == 2:
                    chance = region["p"] / (region["p"] + 1.0 - region["p_alt"])
                    yield stay[0], action, chance, usual, (phase * n * n, -1.0, False)
                else:
                    yield stay[0], action, 1.0, usual, usual


def entered(number, phase, row, column):
    """Return the outcome of entering a cell."""
    data = BOARDS[number]
    n, label = data["n"], data["labels"][row][column]
    now = {(6, 0): 1, (7, 1): 2}.get((label, phase), phase)
    paid = n**3 if label == 4 and (now == 2 or not data["milestones"]) else 0
    lost = n**5 if label == 5 else 0
    return (now * n + row) * n + column, -1.0 + paid - lost, label in (4, 5)


def draws_and_outcomes(number):
    """Yield (state, action, draw, outcome): each move at both ends of its chance and of [0, 1)."""
    for state, action, chance, usual, other in published(number):
        for draw in (0.0, np.nextafter(chance, 0.0)):
            yield state, action, draw, usual
        if chance < 1.0:
            for draw in (chance, np.nextafter(1.0, 0.0)):
                yield state, action, draw, other


@pytest.mark.parametrize("number", BOARDS)
def test_both_outcomes_of_every_move_are_as_published(number):
    moves = list(draws_and_outcomes(number))
    env, many = NoiseWorld(int(number)), NoiseWorldVector(len(moves), int(number))
    for state, action, draw, outcome in moves:
        env.reset(seed=0)
        env.state, env._draws = state, [draw] * env.board.horizon
        observation, reward, terminated, _, info = env.step(action)
        assert (env.state, reward, terminated) == outcome, (state, action, draw)
        paid, lost = reward > 0, reward < -1.0
        assert (info["success"], info["entered_bad_cell"]) == (paid, lost)
        if BOARDS[number]["milestones"]:
            phase = env.state // env.board.n**2
            assert observation[-2:].tolist() == [float(phase >= 1), float(phase >= 2)]
    many.reset(seed=0)
    states, actions, draws, outcomes = zip(*moves, strict=True)
    many.states[:] = states
    many._draws[:] = np.array(draws)[:, None]
    _, reward, terminated, _, _ = many.step(np.array(actions))
    returned = zip(many.states.tolist(), reward.tolist(), terminated.tolist(), strict=True)
    assert list(returned) == list(outcomes)


@pytest.mark.parametrize("number", BOARDS)
def test_the_labels_that_a_board_states_are_those_of_its_kind(number):
    board = load_board(int(number))
    env = NoiseWorld(int(number))
    stated = load_spec(f"noise_world_board_{number}").observation.__dict__["cell_labels"]
    highest = 7 if BOARDS[number]["milestones"] else 5
    assert (stated.low, stated.high) == (0, highest)
    assert env.observation_space.high[4 : 4 + board.n**2].tolist() == [highest] * board.n**2
    assert int(board.labels.max()) == highest
