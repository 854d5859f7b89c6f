"""The examples of docs/learning.md hold: policies that learn from what a run has recorded."""

from pathlib import Path

import numpy as np
import pytest
from scripted import run_small

from env_specs._noise_world.world import load_board, planned_play, solve
from promptpo.store.folder import RunFolder
from sandbox import unpack

ROOT = Path(__file__).parents[1]
ONCE = {"candidates": 1, "seed": 1, "policy_seed": 1}


def example(name):
    return f"file:{ROOT / 'examples' / name}.py"


def test_a_regulator_fitted_to_random_probes_alone_balances_the_twin_of_cartpole(tmp_path):
    settings = {"model": example("regulator"), "probe": 5, "rounds": 1, **ONCE}
    result, _ = run_small(tmp_path, "twin:cartpole", **settings)
    [candidate] = result.rounds[0].candidates
    assert candidate.preparation.transitions < 100
    assert candidate.preparation.predicted == 500
    assert result.test.score.mean_return == 500


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_value_iteration_on_counts_comes_within_a_hundredth_of_the_optimum(tmp_path):
    settings = {"model": example("value_iteration"), "probe": 50, "rounds": 3, "episodes": 150}
    result, _ = run_small(tmp_path, "noise_world_board_5", **settings, **ONCE, patience=0)
    [last] = result.rounds[-1].candidates
    values = unpack(RunFolder(result.folder).read_prepared(last.name, last.prepared))
    assert values["predicted_return"] == last.preparation.predicted
    board = load_board(5)
    best = solve(board).value
    assert best == pytest.approx(399.7, abs=0.05)
    assert planned_play(board, np.array(values["plan"])).value > 0.99 * best
    interval = last.rollout.return_interval
    assert interval.low < best < interval.high
