"""The recordings that ship are true: they replay to the end, and their prompts are today's."""

from dataclasses import replace

import pytest
from scripted import data_of

import promptpo
import promptpo.run
from promptpo.llm import find_recording, load_header, load_recording
from promptpo.spec import shipped_specs

#: Planners in a chaotic body, and later rounds whose prompts tell what they did: another build of
#: Python rounds some functions otherwise in the last bit, and that is enough.
LATER_ROUNDS_DIFFER = {"mujoco_halfcheetah": {2, 3}}

RECORDED = [name for name in shipped_specs() if find_recording(name)]


def test_what_the_first_command_needs_is_recorded():
    assert {"metaworld_reach", "noise_world_board_1", "mujoco_halfcheetah", "cartpole"} <= set(
        RECORDED
    )


@pytest.fixture
def patient(monkeypatch):
    """No time limit on policies: how busy this machine is must not decide what replays."""
    settings_of = promptpo.run.executor_settings
    monkeypatch.setattr(
        promptpo.run,
        "executor_settings",
        lambda *given: replace(settings_of(*given), act_timeout=600.0, episode_timeout=600.0),
    )


@pytest.mark.usefixtures("patient")
@pytest.mark.timeout(900)  # HalfCheetah's policies plan ahead for seconds in every episode
@pytest.mark.parametrize("spec", RECORDED)
def test_a_recording_replays_with_unchanged_prompts(tmp_path, spec):
    events = []
    result = promptpo.optimize(
        spec,
        model="recorded",
        test_episodes=0,
        selection_episodes=0,
        out=str(tmp_path),
        on_event=events.append,
    )
    header = load_header(find_recording(spec))
    assert len(result.rounds) == header.rounds
    assert {len(r.candidates) for r in result.rounds} == {header.candidates}
    assert result.best is not None
    replayed = data_of(events, "reply")
    changed = {reply["key"]["round"] for reply in replayed if reply["note"]}
    assert changed <= LATER_ROUNDS_DIFFER.get(spec, set())
    notices = [n["text"] for n in data_of(events, "notice")]
    assert [text for text in notices if "prompt that has changed" not in text] == []
    assert len(replayed) == len(load_recording(find_recording(spec)).replies)


@pytest.mark.parametrize("spec", RECORDED)
def test_a_recording_says_how_it_was_made(spec):
    header = load_header(find_recording(spec))
    assert header.spec == spec
    assert header.model
    assert "--model manual" in header.how
