"""The recordings that ship are those of the docs, and their first prompts are today's.

nails/test_golden_replays.py replays some to the end, and CI's first command that of reach. Of
bodies with contacts, which are chaotic, only the first prompt is held everywhere: it tells of
nothing that was measured.
"""

import json

from promptpo.llm.messages import prompt_hash
from promptpo.llm.recording import find_recording, load_header, load_recording
from promptpo.prompts.promptpo import feedback_messages
from promptpo.run.settings import configure
from promptpo.spec import load_spec, shipped_specs
from promptpo.types import Key

RECORDED = [name for name in shipped_specs() if find_recording(name)]


def test_what_the_docs_replay_is_recorded():
    assert set(RECORDED) == {
        "cartpole", "noise_world_board_1", "noise_world_board_4", "metaworld_reach",
        "metaworld_drawer_open", "mujoco_halfcheetah", "mujoco_hopper", "glucose",
    }  # fmt: skip


def test_a_recording_says_how_it_was_made_and_its_first_prompt_is_todays():
    for name in RECORDED:
        recording = load_recording(find_recording(name))
        header = load_header(find_recording(name))
        assert header.spec == name
        assert header.model
        with find_recording(name).open(encoding="utf-8") as file:
            assert "--model manual" in json.loads(next(file))["how"]
        config = configure({"spec": name, "model": "recorded"})
        asked = recording.replies[Key(0, role="feedback")].prompt_sha256
        assert prompt_hash(feedback_messages(load_spec(name), config)) == asked, name
