import asyncio
import shutil

import pytest
from own_cartpole import own_cartpole
from scripted import BAD, FEEDBACK, GOOD, Replies, data_of, events_of, info_of, policy, replies, run

import promptpo
from promptpo.common import bounds
from promptpo.errors import ModelError, SpecError, UsageError
from promptpo.types import Key


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run of two rounds, the best policy in the first one: its result and events."""
    as_bad = BAD.replace("pushes", "goes")
    return run(tmp_path_factory.mktemp("whole"), replies([BAD, GOOD], [BAD, as_bad]))


@pytest.fixture
def copied(whole, tmp_path):
    """The folder of a copy of that run."""
    return shutil.copytree(whole[0].folder, tmp_path / "cartpole" / whole[0].folder.name)


def test_the_best_of_all_rounds_wins_and_is_tested_on_held_out_episodes(whole):
    result, events = whole
    assert result.status == "finished"
    assert result.best.name == "r01_c02"
    assert result.test.returns == (500.0,) * 3
    assert result.usage.steps["test"] == 1500
    (selection,) = data_of(events, "selection")
    assert [f["name"] for f in selection["finalists"]] == ["r01_c02", "r02_c01"]


def test_candidates_of_a_round_meet_the_same_seeds_and_rounds_fresh_ones(whole):
    result, _ = whole
    seeds = [{c.rollout.seeds for c in r.candidates} for r in result.rounds]
    assert [len(s) for s in seeds] == [1, 1]
    assert not set(*seeds[0]) & set(*seeds[1])


def test_the_reported_number_comes_from_seeds_that_search_never_saw(whole):
    result, events = whole
    seen = {
        seed
        for rollout in data_of(events, "rollout")
        if rollout["stream"] != "test"
        for seed in rollout["seeds"]
    }
    assert len(seen) == 6
    assert not seen & set(result.test.seeds)


FAILURES = {
    "raises": (policy("raise ValueError('no idea')"), "ValueError: no idea"),
    "exits": (policy("raise SystemExit(0)"), "SystemExit"),
    "interrupts": (policy("raise KeyboardInterrupt"), "KeyboardInterrupt"),
    "loops": (policy("\n        while True:\n            pass"), "time"),
    "eats memory": (policy("self.x = 'x' * 10**11; return 0"), "emory"),
    "returns None": (policy("return None"), "None"),
    "returns NaN": (policy("return float('nan')"), "nan"),
    "returns a wrong shape": (policy("return [0, 1, 1]"), "list of length 3"),
    "returns nonsense": (policy("return 'left'"), "left"),
    "says what no file can hold": (policy("raise ValueError('\\ud800 oops')"), "oops"),
    "draws on the terminal": (policy("raise ValueError('\\x1b[2J oops')"), "oops"),
    "is out of range": (policy("return 7"), "7"),
    "reads files": (policy("return int(open('/etc/passwd').read()[0])"), "open"),
    "imports the system": ("import os\n" + policy("return 0"), "os"),
    "does not parse": ("class Policy:\n    def act(self, obs) return 0", "line 2"),
    "has no act": ("class Policy:\n    pass", "act"),
    "has no code": ("I would rather not.", "no code"),
    "has another class": ("class Controller:\n    pass", "no class Policy"),
    "is empty": ("", "empty"),
    "is no text": ("\ud800", "no code"),
}


@pytest.fixture(scope="module")
def failed(tmp_path_factory):
    """A run of one round in which the last candidate alone does not fail: result and events."""
    script = replies([*(source for source, _ in FAILURES.values()), BAD])
    folder = tmp_path_factory.mktemp("failed")
    return run(folder, script, act_timeout=0.5, test_episodes=0)


def test_candidates_that_fail_score_worst_and_the_run_goes_on(failed):
    result, _ = failed
    (*others, last) = result.rounds[0].candidates
    assert result.best == last
    assert all(c.score.failed for c in others)


def test_a_failing_candidate_has_its_error(failed):
    result, events = failed
    for number, (failure, (_, words)) in enumerate(FAILURES.items(), 1):
        *_, last = [c for c in data_of(events, "candidate") if c["key"]["candidate"] == number]
        assert words in last["error"], failure
        written = (result.folder / f"candidates/r01_c{number:02}/feedback.txt").read_text()
        assert written.strip() == last["error"].strip(), failure


def test_printing_without_end_is_cut_and_harmless(tmp_path):
    source = policy("print('x' * 1000); return 0")
    result, events = run(tmp_path, replies([source]), test_episodes=0)
    (rollout,) = data_of(events, "rollout")
    assert rollout["error"] is None
    assert 0 < len(rollout["output"]) < 10_000
    assert result.best.name == "r01_c01"


def test_a_reply_that_was_cut_off_is_no_candidate(tmp_path):
    script = replies([GOOD, BAD]).say(GOOD, "policy", 1, 1, finish_reason="length")
    result, _ = run(tmp_path, script, test_episodes=0)
    assert result.best.name == "r01_c02"
    assert "cut off" in result.rounds[0].candidates[0].error


def test_a_crash_is_sent_back_with_its_traceback(tmp_path):
    script = replies([policy("return 1 / 0")]).say(GOOD, "repair", 1, 1, 1)
    result, _ = run(tmp_path, script, max_repairs=1)
    assert result.best.key.attempt == 1
    assert result.test.score.mean_return == 500
    prompt = (result.folder / "prompts/r01_c01_repair1.prompt.md").read_text()
    assert "ZeroDivisionError" in prompt
    assert "return 1 / 0" in prompt


def test_where_every_candidate_fails_there_is_no_best(tmp_path):
    result, _ = run(tmp_path, replies([policy("return None")]))
    assert (result.best, result.test) == (None, None)
    assert "no candidate got through" in result.reason


def test_feedback_reaches_the_next_prompt(whole):
    prompt = (whole[0].folder / "prompts/r02_c01_policy.prompt.md").read_text()
    assert "Worst episode (return 500, 500 steps): 500 steps, return 500, last" in prompt
    assert "It got better." in prompt
    assert "Pushes towards where the pole is falling." in prompt


def test_a_feedback_that_crashes_is_repaired(tmp_path):
    script = replies([GOOD], feedback=FEEDBACK.replace("traj.length", "traj.lenth"))
    script.say(FEEDBACK.replace("return f", "return 'y' * 99999 + f"), "feedback_repair", 1, 0, 1)
    _, events = run(tmp_path, script, max_repairs=1, test_episodes=0)
    broken, repaired = data_of(events, "feedback")
    assert "lenth" in broken["error"]
    text = repaired["texts"][0]  # capped, with a note
    assert bounds.SUMMARY <= len(text) < bounds.SUMMARY + 100
    assert "cut" in text[-100:]


@pytest.mark.slow
def test_the_built_in_summary_takes_over_after_the_last_repair(tmp_path):
    script = replies([GOOD], [GOOD], feedback=FEEDBACK.replace("traj.length", "traj.lenth"))
    script.say("no code", "feedback_repair", 1, 0, 1)
    _, events = run(tmp_path, script, max_repairs=1, test_episodes=0)
    first, *later = [f["by"] for f in data_of(events, "feedback")]
    assert (first, set(later)) == ("model", {"built-in"})
    assert "pole_angle" in data_of(events, "feedback")[1]["texts"][0]


@pytest.mark.slow
def test_scores_depend_on_the_seeds_of_run_and_policies_alone(tmp_path):
    noisy = policy("return int(np.random.random() < 0.5 + random.random() / 9)")

    def played(workers, policy_seed):
        settings = {"workers": workers, "policy_seed": policy_seed, "test_episodes": 0}
        (rollout,) = data_of(run(tmp_path, replies([noisy]), **settings)[1], "rollout")
        return rollout["seeds"], rollout["episodes"]

    first, second, other = played(1, 1), played(2, 1), played(1, 2)
    assert first == second
    assert first[0] == other[0]
    assert first[1] != other[1]


@pytest.mark.parametrize(
    ("settings", "reason", "status"),
    [
        ({"target": 400}, "target of 400", "finished"),
        ({"patience": 1}, "1 round brought nothing better", "finished"),
        ({"max_calls": 3}, "3 model calls", "stopped"),
        ({"max_env_steps": 1900}, "1,900 environment steps", "stopped"),
        ({"max_time": 0}, "0 s", "stopped"),
    ],
)
def test_a_limit_ends_the_search_cleanly(tmp_path, settings, reason, status):
    result, _ = run(tmp_path, replies([GOOD], [BAD], [BAD]), test_episodes=0, **settings)
    assert reason in result.reason
    assert result.status == status


@pytest.mark.slow
@pytest.mark.parametrize(("asked", "rounds"), [({}, 1), ({"target": 600}, 2)])
def test_a_spec_may_state_the_target(tmp_path, asked, rounds):
    spec = tmp_path / "my_cartpole.py"
    spec.write_text(own_cartpole(("horizon=500,", "horizon=500,\n    target=400.0,")))
    script = replies([GOOD], [BAD])
    result, _ = run(tmp_path, script, spec=str(spec), test_episodes=0, **asked)
    assert len(result.rounds) == rounds
    assert ("target of 400" in result.reason) == (rounds == 1)


@pytest.mark.slow
def test_a_run_goes_on_with_a_higher_limit_and_with_more_rounds(tmp_path):
    script = replies([BAD], [GOOD], [BAD])
    stopped, _ = run(tmp_path, script, max_calls=2, rounds=2)
    assert (stopped.status, stopped.best.name) == ("stopped", "r01_c01")
    result = promptpo.optimize(resume=stopped.folder, max_calls=9)
    assert (result.status, result.best.name) == ("finished", "r02_c01")
    events = []
    longer = promptpo.optimize(resume=stopped.folder, rounds=3, on_event=events.append)
    assert (longer.best.name, len(longer.rounds)) == ("r02_c01", 3)
    assert len([e for e in events if e.type == "reply"]) == 2


def test_resuming_a_finished_run_does_nothing_again(whole, copied):
    before = events_of(copied)
    again = promptpo.optimize(resume=copied)
    assert again.test == whole[0].test
    assert [e["type"] for e in events_of(copied)[len(before) :]] == ["resumed"]


def test_a_missing_reply_ends_the_run_with_one_line_and_resuming_continues(tmp_path):
    script = replies([GOOD], [GOOD])
    late = script.pop(Key(2, 1, role="policy"))
    with pytest.raises(ModelError, match="no reply for r02_c01_policy"):
        run(tmp_path, script, rounds=2, candidates=1, test_episodes=0)
    (folder,) = (tmp_path / "runs/cartpole").iterdir()
    assert info_of(folder)["status"] == "failed"
    Replies({**script, Key(2, 1, role="policy"): late}).write(tmp_path / "replies.jsonl")
    assert promptpo.optimize(resume=folder).status == "finished"


def test_a_changed_prompt_is_reported(tmp_path):
    script = replies([GOOD])
    path = tmp_path / "replies.jsonl"
    script.write(path)
    path.write_text(path.read_text().replace('"prompt_sha256": ""', '"prompt_sha256": "0"'))
    events = []
    promptpo.optimize(
        "cartpole", model=f"recorded:{path}", rounds=1, candidates=1, test_episodes=0,
        out=str(tmp_path / "runs"), on_event=events.append, workers=1,
    )  # fmt: skip
    assert any("prompt that has changed" in n["text"] for n in data_of(events, "notice"))


def test_an_environment_that_does_not_construct_leaves_no_run_behind(tmp_path):
    spec = tmp_path / "broken.py"
    spec.write_text(own_cartpole(('make("CartPole-v1"', 'make("CartPole-v77"')))
    model = replies([GOOD]).write(tmp_path / "replies.jsonl")
    with pytest.raises(SpecError, match=r"broken\.py:\d+: the environment does not construct"):
        promptpo.optimize(spec, model=model, out=str(tmp_path / "runs"))
    assert not (tmp_path / "runs").exists()


def test_a_notebook_with_a_running_event_loop_can_call_it(tmp_path):
    async def cell():
        return run(tmp_path, replies([GOOD]))[0]

    assert asyncio.run(cell()).status == "finished"


def test_an_unknown_setting_is_refused():
    with pytest.raises(UsageError, match="unknown setting 'round'"):
        promptpo.optimize("cartpole", round=3)
