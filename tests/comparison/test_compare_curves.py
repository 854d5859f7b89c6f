import math

import pytest
from written_runs import written_run

from promptpo.comparison.curves import curve
from promptpo.comparison.groups import panels
from promptpo.stats import mean_interval
from promptpo.store.run import load_run


def group_of(*folders):
    (panel,) = panels([load_run(folder) for folder in folders])
    (group,) = panel.groups
    return group


def test_a_history_is_the_best_so_far_over_what_was_spent(tmp_path):
    history = load_run(written_run(tmp_path, search=(10, None, 5, 30), cost=0.5))
    assert [(p.steps, p.cost, p.best.mean_return) for p in history.points] == [
        (100, 0.5, 10), (200, 1.5, 10), (300, 2.0, 30),
    ]  # fmt: skip


def test_the_mean_is_taken_at_every_step_of_any_run(tmp_path):
    a = written_run(tmp_path, search=(10, 40, 40), seed=0)
    b = written_run(tmp_path, search=(None, 20, 60), seed=1)
    found = curve(group_of(a, b), "steps", "return")
    assert found.x.tolist() == [100, 200, 300]
    assert found.mean.tolist() == [15, 50, 50]  # what does not run takes no steps


def test_a_run_that_is_over_keeps_its_last_score(tmp_path):
    short = written_run(tmp_path, search=(10,), status="stopped", seed=0)
    long = written_run(tmp_path, search=(20, 30, 40), seed=1)
    found = curve(group_of(short, long), "steps", "return")
    assert found.x.tolist() == [100, 200, 300]
    assert found.mean.tolist() == [15, 20, 25]


@pytest.mark.parametrize("status", ["running", "interrupted", "failed"])
def test_the_curve_ends_where_the_record_of_an_unfinished_run_does(tmp_path, status):
    going = written_run(tmp_path, search=(10, 11), status=status, seed=0)
    done = written_run(tmp_path, search=(20, 30, 40), seed=1)
    assert curve(group_of(going, done), "steps", "return").x.tolist() == [100, 200]


def test_over_cost_there_is_no_curve_where_a_price_is_unknown(tmp_path):
    known = written_run(tmp_path, cost=0.1, seed=0)
    unknown = written_run(tmp_path, cost=None, seed=1)
    assert curve(group_of(known), "cost", "return").x.tolist() == pytest.approx([0.1, 0.2])
    assert curve(group_of(known, unknown), "cost", "return") is None
    assert curve(group_of(known, unknown), "steps", "return") is not None
    nothing = written_run(tmp_path / "b", search=(None, None))
    assert curve(group_of(nothing), "steps", "return") is None


def test_the_best_goes_by_success_before_return(tmp_path):
    history = load_run(written_run(tmp_path, search=(49, 50), successes=True))
    assert [p.best.success_rate for p in history.points] == [0.0, 1.0]


def test_the_band_is_the_bootstrap_interval_of_the_mean_over_runs(tmp_path):
    scores = [3.0, 50.0, 51.0, 52.0, 60.0, 61.0, 80.0, 95.0]
    folders = [written_run(tmp_path, search=(x,), seed=i) for i, x in enumerate(scores)]
    drawn, expected = curve(group_of(*folders), "steps", "return"), mean_interval(scores)
    assert (drawn.runs, drawn.low[0]) == (8, pytest.approx(expected.low, abs=1))
    assert drawn.high[0] == pytest.approx(expected.high, abs=1)
    assert math.isnan(curve(group_of(folders[0]), "steps", "return").low[0])
    same = [written_run(tmp_path / "b", search=(1 / 3,), seed=seed) for seed in range(3)]
    drawn = curve(group_of(*same), "steps", "return")
    assert drawn.low[0] == drawn.high[0] == 1 / 3
