import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from written_runs import written_run

from promptpo.comparison.groups import panels
from promptpo.comparison.scores import contrasts, holm, sample_score
from promptpo.store.run import load_run


def groups_of(*folders):
    (panel,) = panels([load_run(folder) for folder in folders])
    return panel.groups


def only(*folders, measure="return"):
    (found,) = contrasts(groups_of(*folders), measure)
    return found


LOW = [float(x) for x in range(30)]
HIGH = [x + 2 + (x % 3) for x in LOW]


def test_single_runs_on_the_same_seeds_are_paired_by_episode(tmp_path, scipy_stats):
    found = only(written_run(tmp_path, test=HIGH), written_run(tmp_path, test=LOW, model="b"))
    assert (found.paired, found.unit, found.counts) == (True, "episodes", (30, 30))
    assert found.difference == pytest.approx(3)
    assert 2 < found.interval.low < 3 < found.interval.high < 4
    assert found.p == scipy_stats.wilcoxon(np.subtract(HIGH, LOW)).pvalue


def test_only_shared_episodes_are_paired_by_seed_not_by_place(tmp_path):
    a = written_run(tmp_path, test=HIGH, test_seeds=range(30))
    b = written_run(tmp_path, test=LOW[::-1], test_seeds=range(29, -1, -1), model="b")
    assert only(a, b).interval.low > 2
    a = written_run(tmp_path, test=[1.0] * 10 + [90.0] * 5, test_seeds=range(15), model="c")
    b = written_run(tmp_path, test=[0.0] * 10, test_seeds=range(10), model="d")
    assert (only(a, b).counts, only(a, b).difference) == ((10, 10), 1.0)


def test_different_seeds_are_not_paired(tmp_path, scipy_stats):
    a = written_run(tmp_path, test=HIGH, seed=0)
    b = written_run(tmp_path, test=LOW, seed=1, model="b")
    found = only(a, b)
    assert (found.paired, found.counts) == (False, (30, 30))
    assert found.p == scipy_stats.mannwhitneyu(HIGH, LOW).pvalue
    assert found.interval.low < 0 < found.interval.high  # pairing would have told them apart


def test_several_runs_are_compared_by_run(tmp_path):
    a = [written_run(tmp_path, test=[x + 5.0] * 20, seed=x) for x in range(6)]
    b = [written_run(tmp_path, test=[x + 1.0 - x / 10] * 20, seed=x, model="b") for x in range(6)]
    found = only(*a, *b)
    assert (found.unit, found.paired, found.counts) == ("runs", True, (6, 6))
    assert found.p == pytest.approx(2 / 2**6)  # the least that six pairs can give


def test_runs_of_other_seeds_and_of_one_seed_are_no_pairs(tmp_path):
    a = [written_run(tmp_path, test=[x + 50.0] * 9, seed=x) for x in range(4)]
    b = [written_run(tmp_path, test=[float(x)] * 9, seed=x, model="b") for x in range(2, 6)]
    unpaired = only(*a, *b)
    assert (unpaired.paired, unpaired.counts) == (False, (4, 4))
    assert unpaired.p == pytest.approx(2 / 70)  # one of 70 ways to choose 4 of 8, both tails
    same = [
        written_run(tmp_path, test=[x + 50.0 * (m == "c")] * 9, seed=0, model=m)
        for m in "cd" for x in range(3)
    ]  # fmt: skip
    assert (only(*same).paired, only(*same).counts) == (False, (3, 3))


def test_successes_are_tested_exactly(tmp_path, scipy_stats):
    hits = [60.0] * 9 + [0.0] * 3, [0.0] * 8 + [60.0] + [0.0] * 2 + [60.0]
    a, b = (
        written_run(tmp_path, test=test, successes=True, model=model)
        for test, model in zip(hits, "ab", strict=True)
    )
    paired = only(a, b, measure="success")
    assert paired.difference == pytest.approx(7 / 12)
    assert paired.p == pytest.approx(scipy_stats.binomtest(8, 9).pvalue)
    a = written_run(tmp_path, test=[60.0] * 9 + [0.0], successes=True, seed=0, model="c")
    b = written_run(tmp_path, test=[60.0] * 2 + [0.0] * 8, successes=True, seed=1, model="d")
    unpaired = only(a, b, measure="success")
    assert unpaired.p == scipy_stats.fisher_exact([[9, 1], [2, 8]]).pvalue


def test_equal_scores_are_no_evidence_and_one_episode_each_is_too_few(tmp_path):
    a = written_run(tmp_path, test=[500.0] * 10)
    for seed in (0, 1):
        b = written_run(tmp_path, test=[500.0] * 10, seed=seed, model="b")
        assert (only(a, b).p, only(a, b).difference) == (1.0, 0.0)
    a, b = (written_run(tmp_path, test=[v], model=f"m{v}") for v in (1.0, 2.0))
    assert (only(a, b).p, only(a, b).adjusted, only(a, b).interval) == (None, None, None)


def test_p_values_of_a_task_are_adjusted_together(tmp_path):
    folders = [
        written_run(tmp_path, test=[v + shift for v in LOW], model=f"m{shift}", seed=shift)
        for shift in (0, 8, 50)
    ]
    without = written_run(tmp_path, model="b", status="failed")  # held-out episodes: left out
    every = contrasts(groups_of(*folders, without), "return")
    assert [c.adjusted for c in every] == holm([c.p for c in every])
    assert len(every) == 3


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_keeps_the_order_and_never_lowers(values):
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    adjusted = holm(values)
    assert all(p <= q <= 1 for p, q in zip(values, adjusted, strict=True))
    order = sorted(range(len(values)), key=lambda i: values[i])
    assert [adjusted[i] for i in order] == sorted(adjusted)


def test_a_score_is_over_the_episodes_of_one_run_and_over_several_runs(tmp_path):
    (group,) = groups_of(written_run(tmp_path, test=LOW))
    score = sample_score(group, "return")
    assert (score.mean, score.unit, score.runs, score.episodes) == (14.5, "episodes", 1, 30)
    assert 11 < score.interval.low < 14.5 < score.interval.high < 18
    several = tmp_path / "several"
    (group,) = groups_of(*(
        written_run(several, test=[v] * 30, seed=int(v)) for v in (10.0, 20.0, 30.0)
    ))  # fmt: skip
    score = sample_score(group, "return")
    assert (score.mean, score.unit) == (20, "runs")
    assert score.interval.low < 15 and score.interval.high > 25
    folders = [
        written_run(several, test=[60.0] * 20, successes=True, spec="s", seed=s) for s in (0, 1)
    ]
    score = sample_score(groups_of(*folders)[0], "success")
    assert score.interval.high == 1
    assert score.interval.low == pytest.approx(0.912, abs=0.001)  # Wilson's of 40 of 40
