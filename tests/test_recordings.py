"""The recordings that ship are true: they replay to the end, and their prompts are today's.

HalfCheetah's policies are planners in a chaotic body. Another build of Python rounds some functions
otherwise in the last bit, and that is enough for other returns, other winners, and prompts that
tell of these; so the prompts of its later rounds are held against what was measured.
"""

from dataclasses import replace

import pytest
from later_prompts import Recorded
from scripted import data_of

import promptpo
from promptpo.llm import find_recording, load_header, load_recording, prompt_hash
from promptpo.llm.messages import Message
from promptpo.prompts.promptpo import REFLECTION, episode_notes
from promptpo.spec import shipped_specs
from promptpo.types import Key

RECORDED = [name for name in shipped_specs() if find_recording(name)]
#: Replayed whole. CI's first command replays reach, and looks for changed prompts; HalfCheetah's
#: planners would compute for minutes, and its prompts are held below.
REPLAYED = ["cartpole", pytest.param("noise_world_board_1", marks=pytest.mark.slow)]


def test_what_the_first_command_needs_is_recorded():
    assert {"metaworld_reach", "noise_world_board_1", "mujoco_halfcheetah", "cartpole"} <= set(
        RECORDED
    )


def prompts_of(events):
    """The prompts that were answered, by the key of their call."""
    sent = {
        Key(**data["key"]): tuple(Message(**m) for m in data["messages"])
        for data in data_of(events, "prompt")
    }
    return {Key(**data["key"]): sent[Key(**data["key"])] for data in data_of(events, "reply")}


@pytest.mark.slow
@pytest.mark.timeout(900)  # HalfCheetah's policies plan ahead for seconds in every episode
@pytest.mark.parametrize("spec", REPLAYED)
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
    assert len(result.rounds) == header.settings["rounds"]
    assert {len(r.candidates) for r in result.rounds} == {header.settings["candidates"]}
    assert result.best is not None
    replayed = data_of(events, "reply")
    assert Recorded(spec).unexplained(prompts_of(events), result.rounds) == {}
    notices = [n["text"] for n in data_of(events, "notice")]
    assert [text for text in notices if "prompt that has changed" not in text] == []
    assert len(replayed) == len(load_recording(find_recording(spec)).replies)
    # Their policies plan, filter and draw random numbers, and none of it is taken for dependence.
    assert [p["verdict"] for p in data_of(events, "proof")] == ["independent"] * len(result.rounds)


@pytest.mark.parametrize("spec", RECORDED)
def test_a_recording_says_how_it_was_made(spec):
    header = load_header(find_recording(spec))
    assert header.spec == spec
    assert header.model
    assert "--model manual" in header.how


@pytest.fixture(scope="module")
def halfcheetah():
    return Recorded("mujoco_halfcheetah")


def with_other_returns(rounds):
    """The last round as another machine might have measured it: another winner with other words."""
    *before, last = rounds
    ranked = sorted(last.candidates, key=lambda c: c.score)
    run = last.winner.rollout
    episodes = tuple(replace(e, return_=e.return_ + 1000.5) for e in run.episodes)
    winner = replace(ranked[0], rollout=replace(ranked[0].rollout, episodes=episodes))
    candidates = tuple(winner if c.name == winner.name else c for c in last.candidates)
    notes = [note for note in last.notes if note.title == REFLECTION]
    notes += episode_notes([f"No stride found, return {e.return_:.0f}." for e in episodes])
    return [*before, replace(last, candidates=candidates, winner=winner, notes=tuple(notes))]


def test_later_prompts_are_the_recorded_ones_for_what_was_measured_then(halfcheetah):
    asked = halfcheetah.prompts(halfcheetah.rounds)
    assert len(asked) == 2 * (1 + 3)
    for key, messages in asked.items():
        assert prompt_hash(messages) == halfcheetah.fingerprint(key), str(key)


def test_a_prompt_may_tell_of_other_returns(halfcheetah):
    rounds = with_other_returns(halfcheetah.rounds)
    sent = halfcheetah.prompts(rounds)
    differ = {key for key in sent if prompt_hash(sent[key]) != halfcheetah.fingerprint(key)}
    assert differ == {Key(3, role="reflection"), *(Key(3, i, role="policy") for i in (1, 2, 3))}
    assert halfcheetah.unexplained(sent, rounds) == {}


@pytest.mark.parametrize("other_returns", [True, False])
def test_a_prompt_may_not_tell_them_in_other_words(halfcheetah, other_returns):
    rounds = list(halfcheetah.rounds)
    if other_returns:
        rounds = with_other_returns(rounds)
    key = Key(3, role="reflection")
    system, user = halfcheetah.prompts(rounds)[key]
    reworded = replace(user, content=user.content.replace("Best so far", "The best so far"))
    assert set(halfcheetah.unexplained({key: (system, reworded)}, rounds)) == {key}
