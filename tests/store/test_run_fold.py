"""The fold of a run's events, which readers, views and the journal share."""

import contextlib
import json
import os
import random

import pytest

from promptpo.cli import main
from promptpo.cli.views import run_rows
from promptpo.errors import RunError
from promptpo.store.codec import encode, score_data
from promptpo.store.events import FORMAT, Event, EventLog
from promptpo.store.folder import RunFolder
from promptpo.store.run import Run, load_run
from promptpo.store.shapes import check_event
from promptpo.types import Candidate, Episode, Key, Note, Rollout, Score

CONFIG = {"spec": "toy.py", "method": "promptpo", "model": "openai/a", "seed": 0, "rounds": 2,
          "options": {"max_repairs": 3}}  # fmt: skip
SPEC = {"name": "toy", "title": "A toy.", "sha": "0" * 16, "references": {}}


class Log(list):
    """Events of a run, a second apart."""

    def add(self, kind, /, *, transient=False, **data):
        if not transient:
            check_event({"type": kind, **data})
        self.append(Event(kind, data, 100.0 + len(self), transient))
        return self

    def run(self, **config):
        return self.add("run", format=FORMAT, config=CONFIG | config, spec=SPEC)

    def call(self, key, cost=0.5, reply=True):
        self.add("prompt", key=encode(key), messages=[{"role": "user", "content": f"ask {key}"}])
        if not reply:
            return self
        usage = {"prompt_tokens": 10, "completion_tokens": 2}
        return self.add(
            "reply", key=encode(key), text=f"reply {key}", model="a", cost=cost, usage=usage
        )

    def play(self, key, digest, returns, stream="search", transient=False, **what):
        run = rollout(returns, stream, **what)
        return self.add(
            "rollout", transient=transient, key=encode(key), digest=digest, **encode(run)
        )

    def candidate(self, key, digest, value=None, error=None, source="class Policy: ..."):
        data = encode(Candidate(key, source, None, error)) | {"rollout": digest}
        score = None if value is None else score_data(Score(value))
        return self.add("candidate", **data, score=score)

    def round(self, number, winner, value, best=None, notes=()):
        score = None if value is None else score_data(Score(value))
        told = {"name": best or winner, "score": score}
        return self.add(
            "round", round=number, winner=winner, score=score, best=told, notes=encode(notes)
        )

    def finish(self, best, status="finished"):
        return self.add("finished", status=status, reason="so it was", best=best, score=None)

    @property
    def record(self):
        return Run(self)


def rollout(returns, stream="search", **what):
    episodes = tuple(Episode(seed, value, 10) for seed, value in enumerate(returns))
    return Rollout(stream, tuple(range(len(returns))), episodes, 10 * len(returns), **what)


ONE, TWO = Key(1, 1), Key(1, 2)


@pytest.fixture
def log():
    """One round of two: the second was repaired and wins."""
    log = Log().run().call(Key(role="feedback"))
    for key in (ONE, TWO):
        log.call(Key(1, key.candidate, role="policy"))
    log.play(ONE, "a", [1.0, 3.0]).candidate(ONE, "a", 2.0)
    log.play(TWO, "b", [], error="boom").candidate(TWO, "b", error="boom")
    again = Key(1, 2, 1)
    log.call(Key(1, 2, 1, "repair")).play(again, "c", [5.0, 7.0]).candidate(again, "c", 6.0)
    notes = (Note("Reflection before it", "None."), Note("Episode 1", "It fell."))
    return log.round(1, "r01_c02", 6.0, notes=notes)


def test_calls_trials_and_rounds(log):
    run = log.record
    call = run.calls[Key(1, 2, 1, "repair")]
    assert call.prompt[0].content == "ask r01_c02_repair1"
    assert call.reply.text == run.replies[call.key].reply.text == "reply r01_c02_repair1"
    assert [str(call.key) for call in run.shared_calls(0)] == ["r00_feedback"]
    trial = run.trials["r01_c02"]
    assert {n: c.error for n, c in trial.attempts.items()} == {0: "boom", 1: None}
    assert (trial.candidate.rollout.returns, trial.repairs) == ((5.0, 7.0), 1)
    assert (trial.state, trial.at_steps, trial.at.cost, trial.cost) == ("scored", 40, 2.0, 1.0)
    (round_,) = run.round_records
    assert (round_.number, round_.done, round_.winner.name) == (1, True, "r01_c02")
    assert [note.title for note in round_.notes] == ["Reflection before it", "Episode 1"]
    assert [trial.name for trial in round_.trials] == ["r01_c01", "r01_c02"]
    (ended,) = run.rounds
    assert (ended.winner, ended.candidates) == (trial.candidate, run.candidates)
    assert (run.settings["max_repairs"], run.config.rounds) == (3, 2)
    assert "options" not in run.settings


def test_a_round_in_which_all_failed_has_no_winner():
    log = Log().run().candidate(ONE, None, error="no code", source=None).round(1, "r01_c01", None)
    run = log.record
    assert run.round_records[0].winner is None
    assert run.rounds[0].winner.name == "r01_c01"
    assert (run.best_name, run.best, run.best_score, run.best_so_far) == (None,) * 4


def test_what_has_begun_and_how_it_stands(log):
    log.call(Key(2, role="reflection")).call(Key(2, 3, role="policy"), reply=False)
    run = log.record
    assert [t.name for t in run.round_records[1].trials] == ["r02_c03"]
    assert (run.round_records[1].done, run.trials["r02_c03"].state) == (False, "asked")
    assert [run.begun(number, 9) for number in (1, 2, 3)] == [2, 3, 0]
    played = Log().run(model=None).play(Key(1, 4), "a", [1.0]).record
    assert (played.begun(1, 9), played.trials["r01_c04"].state) == (4, "playing")
    assert not played.asks_model


def test_a_candidate_has_the_rollout_of_its_digest_and_the_last_score(log):
    log.call(Key(1, 3, role="policy")).candidate(Key(1, 3), "a", 2.0)
    run = log.record
    equal = run.trials["r01_c03"]  # the first one has the episodes
    assert equal.candidate.rollout is run.trials["r01_c01"].candidate.rollout
    assert (run.folder_of(equal), equal.at_steps) == ("r01_c01", 40)
    log.play(Key(1, 2, 1), "c again", [1.0]).candidate(Key(1, 2, 1), "c again", 1.0)
    again = log.record.trials["r01_c02"]
    assert (again.score.mean_return, again.at_steps) == (1.0, 50)
    lost = Log().run().candidate(ONE, "a", 2.0)
    trial = lost.record.trials["r01_c01"]
    assert (trial.candidate.rollout, trial.state, trial.score.mean_return) == (None, "scored", 2.0)
    trial = lost.play(ONE, "a", [1.0, 3.0]).record.trials["r01_c01"]
    assert trial.candidate.rollout.returns == (1.0, 3.0)


def test_texts_on_episodes_by_digest_and_by_candidate(log):
    log.add("feedback", key=encode(TWO), digest="f", by="model", texts=[], error="KeyError")
    log.add("feedback", key=encode(TWO), digest="g", by="built-in", texts=["It fell."], error=None)
    run = log.record
    assert (run.summaries["f"].error, run.summaries["g"].texts) == ("KeyError", ("It fell.",))
    feedback = run.feedback["r01_c02"]
    assert (feedback.by, feedback.texts) == ("built-in", ("It fell.",))


def test_the_best_is_who_was_chosen_last(log):
    assert (log.record.best_name, log.record.best_score.mean_return) == ("r01_c02", 6.0)
    log.add("selection", finalists=[], winner="r01_c01")
    assert log.record.best_name == "r01_c01"
    log.play(TWO, "t", [9.0], stream="test")
    assert (log.record.best_name, log.record.test.returns, log.record.tested) == (
        "r01_c02", (9.0,), None,
    )  # fmt: skip
    log.add("test", name="r01_c02", digest="t")
    assert log.record.tested == (log.record.trials["r01_c02"].candidate, log.record.test)


def test_a_policy_that_fails_its_test_is_not_one_that_was_tested(log):
    log.play(TWO, "t", [9.0], stream="test").add("test", name="r01_c02", digest="t")
    log.play(ONE, "u", [], stream="test", error="boom").add("test", name="r01_c01", digest="u")
    record = log.record
    assert (record.best_name, record.test.error) == ("r01_c01", "boom")
    assert record.tested[0].name == "r01_c02"


def test_a_run_that_goes_on_after_its_end_has_not_finished(log):
    log.finish("r01_c02")
    assert log.add("notice", text="x").record.finished["best"] == "r01_c02"
    assert log.add("resumed", config=CONFIG | {"rounds": 3}).record.finished is not None
    log.call(Key(2, 1, role="policy"))
    assert (log.record.finished, log.record.settings["rounds"]) == (None, 3)


def test_totals_count_what_is_told_again_once(log):
    before = log.record.tally.usage
    log.play(ONE, "a", [1.0, 3.0], transient=True)
    assert log.record.tally.usage == before
    assert (before.calls, before.cost, before.steps["search"]) == (4, 2.0, 40)


def test_tokens_from_the_cache_are_the_sum_of_what_was_told():
    told = [{"prompt_tokens_details": {"cached_tokens": n}} for n in (3, 4)]
    log = Log().run()
    assert log.record.usage.cached_tokens is None
    for number, more in enumerate([*told, {}], 1):
        usage = {"prompt_tokens": 10, "completion_tokens": 2, **more}
        log.add("reply", key=encode(Key(1, number)), text="x", model="a", cost=1.0, usage=usage)
    assert log.record.usage.cached_tokens == 7


def test_what_a_watched_run_says_of_its_totals_holds(log):
    told = {"calls": 9, "prompt_tokens": 1, "completion_tokens": 2, "cost": None,
            "steps": {"search": 7}, "reached": {}, "elapsed": 3.0}  # fmt: skip
    log.add("usage", transient=True, **told)
    assert (log.record.usage.calls, log.record.usage.cost) == (9, None)


def test_pauses_between_sessions_take_no_time(log):
    seconds = log.record.seconds
    log.append(Event("resumed", {"config": CONFIG}, 5000.0))
    log.append(Event("notice", {"text": "x"}, 5003.0))
    assert log.record.seconds == seconds + 3


def test_the_stage_of_a_candidate_is_what_was_last_said_until_it_is_written_down():
    log = Log().run().add("state", transient=True, name="r01_c01", state="asked")
    assert log.record.trials["r01_c01"].stage == "asked"
    log.play(ONE, "a", [1.0])
    assert log.record.trials["r01_c01"].stage == "played"
    log.candidate(ONE, "a", 1.0)
    assert log.record.trials["r01_c01"].stage == ""


def test_an_interrupted_run_tells_what_an_earlier_session_has_tested(log):
    test = encode(rollout([9.0], "test"))
    data = {"status": "interrupted", "reason": "", "best": "r00_c09", "score": {"mean_return": 4.0}}
    log.add("finished", transient=True, **data, test=test)
    record = log.record
    assert (record.best_name, record.best_score.mean_return) == ("r00_c09", 4.0)
    assert record.test.returns == (9.0,)


def test_values_changed_at_random_raise_nothing(log):
    rng = random.Random(0)
    log.play(TWO, "t", [9.0], stream="test").add("test", name="r01_c02", digest="t")
    log.add("feedback", key=encode(TWO), digest="g", by="model", texts=["x"], error=None)
    whole = json.dumps([[e.type, e.data] for e in log.finish("r01_c02")])
    values = [None, -1, 2, 1e400, "r01", [], {}, [None], [["x"]], True]
    for _ in range(200):
        record = Run()
        for kind, data in json.loads(whole):
            if rng.random() < 0.2:
                inner = data.get("key", data) if rng.random() < 0.5 else data
                inner[rng.choice([*inner])] = rng.choice(values)
            with contextlib.suppress(ValueError):
                check_event({"type": kind, **data})
                record.apply(Event(kind, data))
        assert record.rounds is not None
        assert str(record)


@pytest.fixture
def folder(tmp_path, log):
    path = tmp_path / "toy" / "20260101-000000"
    path.mkdir(parents=True)
    file = EventLog(path / "events.jsonl")
    for event in log:
        file.emit(event.type, **event.data)
    file.close()
    return RunFolder(path)


def test_a_folder_tells_how_a_run_stands(folder):
    run = load_run(folder.path)
    assert (run.spec, run.status, run.best.name, run.test) == ("toy", "killed", "r01_c02", None)
    lock = folder.lock()
    running = load_run(folder.path)
    os.close(lock)
    assert (running.status, running.unread) == ("running", ())
    folder.write_info({"status": "failed", "reason": "no key", "ended": "now", "seconds": 7.5})
    failed = load_run(folder.path)
    assert (failed.status, failed.reason, failed.elapsed) == ("failed", "no key", 7.5)


def test_run_json_has_the_first_event_where_that_is_lost(folder):
    lines = folder.events.read_bytes().splitlines(keepends=True)
    folder.events.write_bytes(b"".join(lines[1:]))
    with pytest.raises(RunError, match="no run is recorded in it"):
        load_run(folder.path)
    folder.write_info({"format": FORMAT, "config": CONFIG, "spec": "toy", "title": "A toy."})
    record = load_run(folder.path)
    assert (record.spec, record.title, record.settings["rounds"]) == ("toy", "A toy.", 2)


def test_a_log_of_another_format_is_refused_in_one_line(folder, capsys):
    lines = folder.events.read_text().splitlines()
    first = {name: value for name, value in json.loads(lines[0]).items() if name != "format"}
    folder.events.write_text("\n".join([json.dumps(first), *lines[1:]]) + "\n")
    why = "written by another version of promptpo (format 1, here 2); use that version, or start"
    for command in (["report", str(folder.path)], ["--resume", str(folder.path)]):
        assert main(command) == RunError.exit_code
        (line,) = capsys.readouterr().err.splitlines()
        assert why in line
    _, status, _, problem = run_rows(folder.path.parents[1])[0]
    assert (status, why in problem) == ("unreadable", True)


def test_what_a_line_of_another_version_tells_is_passed_over(folder):
    with folder.events.open("a") as file:
        file.write(json.dumps({"type": "thought", "of": 1}) + "\n")
    assert load_run(folder.path).unread == ()
