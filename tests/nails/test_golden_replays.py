"""Replays of recordings: the same prompts, episodes, scores and decisions in every round.

Replays of bodies with contacts, which are chaotic, are compared where the versions are the same.
"""

import json

import pytest
from golden_files import PROCESSOR, VERSIONS, WRITE, golden, hold, log_of, need_versions, plain
from stored import unpacked

import promptpo
from promptpo.llm.recording import find_recording, load_recording

pytestmark = pytest.mark.slow

#: What depends on no last bit of a number: all but episodes and what is made of them.
ANYWHERE = ("scores", "prompt", "reply", "round", "table", "selection", "test", "finished")


def replay(out, spec, method="promptpo", model="recorded", **settings):
    small = {"workers": 1, "selection_episodes": 2, "test_episodes": 3, **settings}
    return promptpo.optimize(spec, method=method, model=model, out=str(out), **small).folder


def events_of(folder, kind):
    events = map(json.loads, (folder / "events.jsonl").read_text(encoding="utf-8").splitlines())
    return [event for event in events if event["type"] == kind]


@pytest.mark.parametrize(
    ("spec", "method"),
    [
        ("cartpole", "promptpo"),
        ("cartpole", "r2po"),
        ("cartpole", "inspo"),
        ("noise_world_board_1", "promptpo"),
        ("noise_world_board_4", "promptpo"),
    ],
)
def test_a_recording_replays_to_the_same_log(tmp_path, spec, method):
    name, folder = f"{spec} {method}", replay(tmp_path, spec, method)
    recorded = load_recording(find_recording(spec, method)).replies
    if method != "inspo":  # whose prompts are younger than its recording
        assert [n["text"] for n in events_of(folder, "notice")] == []  # no prompt has changed
    if method == "promptpo":
        assert len(events_of(folder, "reply")) == len(recorded)
    log = log_of(folder)
    known = golden("replays")
    if WRITE or known["processor"] == PROCESSOR:
        hold("replays", {name: log, "processor": PROCESSOR})
    else:
        same = {event: value for event, value in plain(log).items() if event in ANYWHERE}
        assert same == {event: known[name][event] for event in same}


def test_a_tuned_run_replays_to_the_same_log(tmp_path):
    stored = unpacked("tuned", tmp_path)
    settings = {"max_repairs": 0, "early_stop": False, "seed": 3, "policy_seed": 7}
    again = replay(tmp_path / "new", "cartpole", model=f"recorded:{stored}", **settings)
    assert log_of(again) == log_of(stored)


def test_a_chaotic_recording_replays_to_the_same_log(tmp_path):
    need_versions("replays")
    log = log_of(replay(tmp_path, "mujoco_hopper"))
    hold("replays", {"mujoco_hopper": log, "versions": VERSIONS})
