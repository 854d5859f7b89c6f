"""NoiseWorld: exact optima of all boards, its dynamics, and its life as a Gymnasium environment."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from env_specs._noise_world.specs import revealed
from env_specs._noise_world.vector import NoiseWorldVector
from env_specs._noise_world.world import (
    ENV_ID,
    NoiseWorld,
    load_board,
    random_play,
    solve,
)
from promptpo.spec import load_spec, prompt_parts

#: Board -> optimum, probability of success and expected steps under the optimal policy.
OPTIMA = {
    0: (34.91, 0.445, 20.7),
    1: (974.91, 1.000, 25.1),
    2: (976.77, 1.000, 23.2),
    3: (981.28, 1.000, 18.7),
    4: (969.74, 1.000, 30.3),
    5: (399.70, 0.482, 82.6),
    6: (954.81, 1.000, 45.2),
}

#: Board -> mean return of random actions, as published but for boards 2 and 4.
RANDOM = {0: -890.3, 1: -1858.3, 2: -10381.3, 3: -10212.0, 4: -19024.1, 5: -318.9, 6: -28879.8}


def test_optima_and_random_actions_are_exactly_what_is_published_and_stated():
    for number, (value, success, steps) in OPTIMA.items():
        board = load_board(number)
        solution, play = solve(board), random_play(board)
        assert round(solution.value, 2) == value
        assert round(solution.success_probability, 3) == success
        assert round(solution.expected_steps, 1) == steps
        assert round(play.value, 1) == RANDOM[number]
        spec = load_spec(f"noise_world_board_{number}")
        optimum, random = (spec.reference_scores[name] for name in ("optimum", "random"))
        assert (optimum.mean_return, optimum.success_rate) == (value, success)
        assert random.mean_return == RANDOM[number]
        assert random.success_rate == pytest.approx(play.success_probability, abs=5e-5)
        assert random.deviation == round(play.deviation, 1)
        assert spec.make().board.horizon == spec.horizon


@pytest.mark.parametrize("number", [0, 1, 5])
def test_the_optimal_policy_earns_the_optimum_in_the_environment(number):
    env = NoiseWorld(number)
    solution = solve(env.board)
    returns = []
    for seed in range(2000):
        env.reset(seed=seed)
        total, over = 0.0, False
        while not over:
            _, reward, terminated, truncated, _ = env.step(solution.policy[env.steps, env.state])
            total += reward
            over = terminated or truncated
        returns.append(total)
    error = np.std(returns) / np.sqrt(len(returns))
    assert abs(np.mean(returns) - solution.value) < 4 * error


@pytest.mark.filterwarnings("error")
def test_gymnasium_accepts_the_environment_without_a_warning_and_draws_it():
    for number in OPTIMA:
        check_env(gymnasium.make(ENV_ID, board=number).unwrapped)
        env = gymnasium.make(ENV_ID, board=number, render_mode="rgb_array")
        env.reset(seed=0)
        frame = env.render()
        assert frame.dtype == np.uint8
        assert frame.shape == (64 * env.unwrapped.board.n,) * 2 + (3,)
        assert frame.shape[0] >= 320
    env = gymnasium.make(ENV_ID, board=0, render_mode="ansi")
    env.reset(seed=0)
    assert env.render().splitlines()[0] == "A 2 5 2 2"


@pytest.mark.parametrize(("number", "seed"), [(0, 7), (1, [5, 3, 4, 11, 5, 2]), (5, 0)])
def test_many_at_once_are_bit_for_bit_what_single_environments_are(number, seed):
    many = gymnasium.make_vec(ENV_ID, 6, board=number)
    single = gymnasium.make_vec(ENV_ID, 6, vectorization_mode="sync", board=number)
    assert isinstance(many, NoiseWorldVector)
    assert many.observation_space == single.observation_space
    assert many.action_space == single.action_space
    for seeds in (seed, None, [None, 8, None, 9, None, 1]):
        returned = [envs.reset(seed=seeds) for envs in (many, single)]
        np.testing.assert_array_equal(returned[0][0], returned[1][0])
        rng = np.random.default_rng(1)
        ends = 0
        for _ in range(220):
            actions = rng.choice(4, 6, p=[0.1, 0.4, 0.1, 0.4])
            ours, theirs = many.step(actions), single.step(actions)
            for mine, other in zip(ours[:4], theirs[:4], strict=True):
                assert mine.dtype == other.dtype
                np.testing.assert_array_equal(mine, other)
            assert ours[4].keys() == theirs[4].keys()
            for key in ours[4]:
                np.testing.assert_array_equal(ours[4][key], theirs[4][key])
            ends += int((ours[2] | ours[3]).sum())
        assert ends > 10


def test_many_at_once_refuse_what_is_no_action_and_need_a_reset_and_a_seed_for_each():
    many = gymnasium.make_vec(ENV_ID, 2, board=0)
    with pytest.raises(gymnasium.error.ResetNeeded):
        many.step(np.array([0, 0]))
    with pytest.raises(ValueError, match="3 seeds were given for 2 environments"):
        many.reset(seed=[1, 2, 3])
    many.reset(seed=0)
    for actions in ([0, 4], [-1, 0], [0, 1, 2]):
        with pytest.raises(gymnasium.error.InvalidAction, match="2 numbers from 0 to 3"):
            many.step(np.array(actions))


@pytest.mark.parametrize(("number", "flags"), [(1, False), (5, True)])
def test_labels_can_be_revealed_in_a_spec_of_ones_own(tmp_path, number, flags):
    path = tmp_path / "told.py"
    path.write_text(
        f"from env_specs._noise_world.specs import revealed\n\nSPEC = revealed({number})\n"
    )
    text = prompt_parts(load_spec(path)).text
    assert "from 2 it may fail, the agent is then back at the start" in text
    assert ("first_flag is 1 once" in text) is flags
    assert load_spec(f"noise_world_board_{number}").description in text
    assert revealed(number).withheld == ()
