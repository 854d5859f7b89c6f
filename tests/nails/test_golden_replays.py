"""Replays of recordings: the same prompts, episodes, scores and decisions in every round.

Replays of bodies with contacts, which are chaotic, are compared where the versions are the same.
"""

import pytest
from golden_files import PROCESSOR, VERSIONS, WRITE, golden, hold, log_of, need_versions, plain
from stored import unpacked

import promptpo

pytestmark = pytest.mark.slow

#: What depends on no last bit of a number: all but episodes and what is made of them.
ANYWHERE = ("scores", "prompt", "reply", "round", "table", "selection", "test", "finished")


def replay(out, spec, method="promptpo", model="recorded", **settings):
    small = {"workers": 1, "selection_episodes": 2, "test_episodes": 3, **settings}
    return log_of(promptpo.optimize(spec, method=method, model=model, out=str(out), **small).folder)


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
    name, log = f"{spec} {method}", replay(tmp_path, spec, method)
    known = golden("replays")
    if WRITE or known["processor"] == PROCESSOR:
        hold("replays", {name: log, "processor": PROCESSOR})
    else:
        same = {event: value for event, value in plain(log).items() if event in ANYWHERE}
        assert same == {event: known[name][event] for event in same}


def test_a_tuned_run_replays_to_the_same_log(tmp_path):
    stored = unpacked("tuned", tmp_path)
    settings = {"max_repairs": 0, "early_stop": False, "seed": 3, "policy_seed": 7}
    found = replay(tmp_path / "new", "cartpole", model=f"recorded:{stored}", **settings)
    assert found == log_of(stored)


@pytest.mark.parametrize("spec", ["mujoco_hopper", "metaworld_drawer_open"])
def test_a_chaotic_recording_replays_to_the_same_log(tmp_path, spec):
    need_versions("replays")
    hold("replays", {spec: replay(tmp_path, spec), "versions": VERSIONS})
