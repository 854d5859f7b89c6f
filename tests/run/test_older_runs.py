"""A run of format 1 is shown and replayed, and refused for resuming in one line."""

import json
import shutil
from pathlib import Path

import pytest
from scripted import run_small

import promptpo
from promptpo.cli import main
from promptpo.errors import RunError
from promptpo.llm import load_header, load_recording
from promptpo.run.settings import configure, settings_of
from promptpo.store.folder import RunFolder
from promptpo.types import Key

DATA = Path(__file__).parents[1] / "data" / "format_1"


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(DATA, tmp_path / "runs" / "counted_cartpole" / "20261122-072244")


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("settings", [{}, {"rounds": 3}, {"max_calls": 100}, {"seed": 1}])
def test_it_is_refused_for_resuming_and_left_as_it_is(folder, settings):
    before = contents(folder)
    with pytest.raises(RunError) as e:
        promptpo.optimize(resume=folder, **settings)
    assert str(e.value) == (
        f"{folder}: this run was written by an older version of promptpo (format 1, now 2); it can"
        " be shown, not resumed: start a new run, or replay its replies with --model"
        f" recorded:{folder}"
    )
    assert contents(folder) == before


def test_the_command_line_says_it_in_one_line(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder.parents[2])
    assert main(["--resume", "latest"]) == 6
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("promptpo: error: runs/counted_cartpole/20261122-072244: this ")
    assert captured.err.count("\n") == 1


def test_one_that_has_lost_its_first_event_is_refused_too(folder):
    log = folder / "events.jsonl"
    log.write_text("".join(log.read_text().splitlines(keepends=True)[1:]))
    with pytest.raises(RunError, match="written by an older version"):
        promptpo.optimize(resume=folder)


def test_its_settings_and_replies_are_those_of_a_recording(folder):
    header = load_header(folder)
    told = {name: header.settings[name] for name in ("rounds", "candidates", "max_repairs")}
    assert told == {"rounds": 2, "candidates": 3, "max_repairs": 1}
    replies = load_recording(folder).replies
    assert Key(2, role="reflection") in replies
    assert Key(1, role="reflection") not in replies
    assert Key(1, 3, 1, "repair") in replies


@pytest.mark.slow
def test_its_replies_are_replayed_to_the_same_scores(folder, tmp_path):
    """On CartPole itself, whose policies may import less: that of one candidate fails."""
    small = {"model": f"recorded:{folder}", "test_episodes": 0, "selection_episodes": 0}
    result, _ = run_small(tmp_path / "new", **small)
    assert len(result.rounds) == 2
    assert not list((result.folder / "prompts").glob("r01_reflection*"))
    assert (result.folder / "prompts" / "r02_reflection.reply.md").exists()
    told = [json.loads(line) for line in (DATA / "events.jsonl").read_text().splitlines()]
    before = {
        (e["round"], e["index"], e["attempt"]): e["score"] for e in told if e["type"] == "candidate"
    }
    for candidate in (c for r in result.rounds for c in r.candidates if c.error is None):
        key = candidate.key
        score = before[key.round, key.candidate, key.attempt]
        assert candidate.rollout.score.mean_return == score["mean_return"]


@pytest.mark.slow
@pytest.mark.usefixtures("unopened")
def test_it_may_be_listed_and_reported(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder.parents[2])
    assert main(["list"]) == 0
    assert "runs/counted_cartpole/20261122-072244" in capsys.readouterr().out
    assert main(["report", "latest"]) == 0
    assert (folder / "report.html").exists()


REMOVED = {"without_reflection": 0, "critic": "off", "critic_shows": "median",
           "critic_tokens": 6000, "pairwise": False}  # fmt: skip


def stating(folder, **options):
    """Change the options that a run's log states."""
    log = folder / "events.jsonl"
    first, *rest = log.read_text().splitlines(keepends=True)
    event = json.loads(first)
    event["config"]["options"] |= options
    log.write_text("".join([json.dumps(event) + "\n", *rest]))


def test_a_run_may_state_options_that_are_gone(tmp_path):
    result, _ = run_small(tmp_path, rounds=1)
    stating(result.folder, **REMOVED)
    run = promptpo.load_run(result.folder)
    assert (run.settings["critic"], run.config.rounds) == ("off", 1)
    assert promptpo.optimize(resume=result.folder).best.score == result.best.score


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({**REMOVED, "critic": "winner"}, "there is no --critic any more"),
        (
            {"without_reflection": 1, "history": "optimizer"},
            "there is no --without-reflection and no --history optimizer any more",
        ),
    ],
)
def test_one_that_used_them_is_shown_and_not_resumed(tmp_path, options, message):
    result, _ = run_small(tmp_path, rounds=1)
    stating(result.folder, **options)
    assert promptpo.load_run(result.folder).config.options.history == "focused"
    assert settings_of(RunFolder(result.folder))["rounds"] == 1
    header = load_header(result.folder)
    replayed = configure({"spec": "cartpole", "model": f"recorded:{result.folder}"})
    assert (header.settings["history"], replayed.rounds) == (options.get("history", "focused"), 1)
    with pytest.raises(RunError) as e:
        promptpo.optimize(resume=result.folder)
    assert message in str(e.value)
    assert "\n" not in str(e.value)
