"""Runs whose settings state options that promptpo has no more."""

import json

import pytest
from scripted import run_small

import promptpo
from promptpo.errors import RunError
from promptpo.llm.recording import load_header
from promptpo.run.settings import configure, settings_of
from promptpo.store.folder import RunFolder

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
    assert promptpo.load_run(result.folder).config.rounds == 1
    assert settings_of(RunFolder(result.folder))["rounds"] == 1
    header = load_header(result.folder)
    replayed = configure({"spec": "cartpole", "model": f"recorded:{result.folder}"})
    assert (header.settings["history"], replayed.rounds) == (options.get("history", "focused"), 1)
    with pytest.raises(RunError) as e:
        promptpo.optimize(resume=result.folder)
    assert message in str(e.value)
    assert "\n" not in str(e.value)
