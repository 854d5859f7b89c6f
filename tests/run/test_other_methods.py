"""Whole runs of best-of-n and of random search: they run, end at every limit, and go on."""

import pytest
from scripted import BAD, GOOD, Replies, data_of, info_of, policy, replies, run, run_small

import promptpo
from promptpo.errors import UsageError

#: Two policies that fall over, one sooner than the other.
RIGHT = policy("return 1")
LEAN = policy("return int(obs.pole_angle > 0)")


def samples(*rounds):
    """Replies for policies, and nothing else."""
    return Replies({k: v for k, v in replies(*rounds).items() if k.role == "policy"})


# Best of N


@pytest.fixture(scope="module")
def best_of_n(tmp_path_factory):
    """A run of six samples, of which one raises: its result and events."""
    script = samples([BAD, GOOD, "class Policy:\n    act = 7"], [LEAN, RIGHT, GOOD])
    return run(tmp_path_factory.mktemp("run"), script, method="best-of-n", finalists=3)


def test_the_best_samples_of_all_batches_meet_on_episodes_of_their_own(best_of_n):
    result, events = best_of_n
    (selection,) = data_of(events, "selection")
    assert [f["name"] for f in selection["finalists"]][:2] == ["r01_c02", "r02_c01"]
    assert len(selection["finalists"]) == 3
    assert (result.best.name, result.test.returns) == ("r01_c02", (500.0,) * 3)
    assert (result.status, result.reason) == ("finished", "all samples are drawn")
    info = info_of(result.folder)
    assert (info["config"]["method"], info["config"]["options"]) == ("best-of-n", {"finalists": 3})


def test_all_samples_answer_one_prompt_and_play_the_same_episodes(best_of_n):
    result, events = best_of_n
    prompts = list((result.folder / "prompts").glob("*.prompt.md"))
    assert len(prompts) == result.usage.calls == 6
    assert len({file.read_text() for file in prompts}) == 1
    searched = [r for r in data_of(events, "rollout") if r["stream"] == "search"]
    assert len({tuple(r["seeds"]) for r in searched}) == 1


LIMITS = {
    "best-of-n": [
        ({"patience": 1}, "1 round brought nothing better", "finished", [2, 2]),
        ({"max_calls": 3}, "3 model calls", "stopped", [2, 2]),
        ({"max_env_steps": 1100}, "1,100 environment steps", "stopped", [1]),
    ],
    "random-search": [
        ({"target": 5}, "target of 5", "finished", [3]),
        ({"max_env_steps": 1010}, "1,010 environment steps", "stopped", [1]),
        ({"max_time": 0}, "0 s", "stopped", []),
    ],
}


@pytest.mark.parametrize("method", LIMITS)
def test_a_limit_ends_a_search_cleanly(tmp_path, method):
    for number, (settings, reason, status, candidates) in enumerate(LIMITS[method]):
        (folder := tmp_path / str(number)).mkdir()
        if method == "best-of-n":
            script = samples([GOOD, BAD], [BAD, BAD], [BAD, BAD])
            result, _ = run(folder, script, method=method, test_episodes=0, **settings)
        else:
            result, _ = searched(folder, test_episodes=0, **settings)
        assert reason in result.reason
        assert (result.status, [len(r.candidates) for r in result.rounds]) == (status, candidates)
        if "max_calls" in settings:  # within a batch: the others are played
            error = "not written: the limit of 3 model calls is reached"
            assert result.rounds[1].candidates[1].error == error


@pytest.mark.slow
def test_best_of_n_goes_on_with_higher_limits(tmp_path):
    script = samples([BAD, LEAN], [GOOD, BAD], [RIGHT, BAD])
    stopped, _ = run(tmp_path, script, method="best-of-n", max_calls=2, rounds=2)
    assert (stopped.status, stopped.best.name) == ("stopped", "r01_c02")
    result = promptpo.optimize(resume=stopped.folder, max_calls=9)
    assert (result.status, result.best.name) == ("finished", "r02_c01")
    assert len(promptpo.optimize(resume=stopped.folder, rounds=3).rounds) == 3


def test_a_method_cannot_change_when_a_run_is_resumed(best_of_n):
    with pytest.raises(UsageError, match=r"--method cannot change .* \(it was best-of-n\)"):
        promptpo.optimize(resume=best_of_n[0].folder, method="promptpo")
    with pytest.raises(UsageError, match=r"--set finalists cannot change .* \(it was 3\)"):
        promptpo.optimize(resume=best_of_n[0].folder, finalists=4)
    with pytest.raises(UsageError, match="--seed cannot change"):
        promptpo.optimize(resume=best_of_n[0].folder, seed=3)


# Random search


def searched(tmp_path, **settings):
    small = {"method": "random-search", "rounds": 2, "candidates": 3, "policy_seed": 1}
    return run_small(tmp_path, **{**small, **settings})


def sources(result):
    return [c.source for r in result.rounds for c in r.candidates]


@pytest.fixture(scope="module")
def random_search(tmp_path_factory):
    """A run of two rounds of three samples: its result and events."""
    return searched(tmp_path_factory.mktemp("run"))


def test_random_search_asks_no_model_and_leaves_a_policy(random_search):
    result, events = random_search
    assert not [e for e in events if e.type in ("prompt", "reply")]
    assert info_of(result.folder)["model"] is None
    assert (result.status, result.usage.calls, len(result.test.returns)) == ("finished", 0, 3)
    assert "class Policy" in (result.folder / "best" / "policy.py").read_text()
    assert (result.folder / "report.html").exists()


def test_its_candidates_are_samples_with_their_numbers_in_them(random_search):
    result, events = random_search
    assert {c["kind"] for c in data_of(events, "candidate")} == {"sample"}
    assert len(set(sources(result))) == 6
    written = (result.folder / "candidates" / "r01_c02" / "policy.py").read_text()
    assert written == sources(result)[1]


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["frozen_lake", "pendulum"])
def test_tables_and_continuous_actions_run_too(tmp_path, spec):
    result, _ = searched(tmp_path, spec=spec, rounds=1, candidates=2, selection_episodes=0)
    assert result.best is not None
    assert result.test.error is None


def test_limits_on_calls_do_not_hold_up_what_makes_none(tmp_path):
    limits = {"max_calls": 1, "max_cost": 0.01, "max_tokens": 1}
    result, _ = searched(tmp_path, test_episodes=0, selection_episodes=0, rounds=1, **limits)
    assert result.status == "finished"


@pytest.mark.slow
def test_a_longer_random_search_begins_as_the_shorter_one(tmp_path, random_search):
    first, _ = searched(tmp_path, rounds=1)
    longer = promptpo.optimize(resume=first.folder, rounds=2)
    assert sources(longer) == sources(random_search[0])
    assert longer.best == random_search[0].best
    assert longer.test == random_search[0].test
