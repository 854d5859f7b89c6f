"""The recordings that ship are true: they replay to the end, and their prompts are today's.

Bodies with contacts are chaotic. Another build of Python rounds some functions otherwise in the
last bit, and that is enough for other returns, and prompts that tell of these; so of their
recordings only the first prompt, which tells of nothing that was measured, is held everywhere.
"""

import pytest
from scripted import data_of

import promptpo
from promptpo.config import RunConfig
from promptpo.llm.messages import prompt_hash
from promptpo.llm.recording import find_recording, load_header, load_recording
from promptpo.prompts.promptpo import feedback_messages
from promptpo.run.settings import configure
from promptpo.spec import load_spec, shipped_specs
from promptpo.types import Key

RECORDED = [name for name in shipped_specs() if find_recording(name)]
#: Replayed whole; CI's first command replays reach, and looks for changed prompts.
REPLAYED = ["cartpole", "noise_world_board_1", "noise_world_board_4"]


def test_what_the_docs_replay_is_recorded():
    assert set(RECORDED) == {
        *REPLAYED, "metaworld_reach", "metaworld_drawer_open", "mujoco_halfcheetah",
        "mujoco_hopper", "glucose",
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("spec", REPLAYED)
def test_a_recording_replays_with_unchanged_prompts(tmp_path, spec):
    events = []
    result = promptpo.optimize(
        spec,
        model="recorded",
        test_episodes=0,
        selection_episodes=0,
        workers=1,
        out=str(tmp_path),
        on_event=events.append,
    )
    header = load_header(find_recording(spec))
    assert {len(r.candidates) for r in result.rounds} == {header.settings["candidates"]}
    assert result.best is not None
    assert [n["text"] for n in data_of(events, "notice")] == []
    assert len(data_of(events, "reply")) == len(load_recording(find_recording(spec)).replies)


@pytest.mark.parametrize("spec", RECORDED)
def test_a_recording_says_how_it_was_made(spec):
    header = load_header(find_recording(spec))
    assert header.spec == spec
    assert header.model
    assert "--model manual" in header.how


@pytest.mark.parametrize("name", RECORDED)
def test_the_first_prompt_is_todays(name):
    config: RunConfig = configure({"spec": name, "model": "recorded"})
    asked = load_recording(find_recording(name)).replies[Key(0, role="feedback")].prompt_sha256
    assert prompt_hash(feedback_messages(load_spec(name), config)) == asked
