"""Feedback programs through the public interface."""

import numpy as np
import pytest

import sandbox
from sandbox import Box, CompileError, Discrete, Episode, Interface, Limits, PolicyError

FIELDS = """
class Observation:
    def __init__(self, flat):
        self.hand = flat[0:2]
        self.goal = flat[2:4].copy()
        self.opened = float(flat[4])
"""
VECTOR = Interface(2, None, Box((2,)))


@pytest.fixture(scope="module")
def host():
    with sandbox.Host() as running:
        yield running


FEEDBACK = """
class Feedback:
    def __init__(self):
        self.seen = 0
    def summarize_trajectory(self, traj):
        self.seen += 1
        last = traj[-1]
        steps = [s.reward for s in traj]
        return (f"{self.seen}: {len(traj)} {traj.length} {traj.total_reward} {traj.success} "
                f"{traj.terminated} {traj.truncated} {steps} {traj.actions} "
                f"{len(traj.observations)} {last.next_observation.opened} {len(traj[1:])}")
"""


def episode(success=True):
    observations = np.arange(15.0).reshape(3, 5)
    return Episode(observations, np.array([[1.0], [2.0]]), [0.5, 1.5], True, False, success)


def test_a_summarizer_reads_the_whole_episode(host):
    with host.summarizer(FEEDBACK, Interface(5, FIELDS, Discrete(3))) as summarizer:
        first = summarizer.summarize(episode())
        second = summarizer.summarize(episode(success=None))

    assert first == "1: 2 2 2.0 True True False [0.5, 1.5] [1, 2] 3 14.0 1"
    assert second.startswith("2: 2 2 2.0 None")


def test_box_actions_have_their_shape_in_a_trajectory(host):
    source = "class Feedback:\n    def summarize_trajectory(self, traj):\n"
    source += "        return str(traj.actions[0].tolist()) + str(traj.observations[0].tolist())"
    one = Episode(np.zeros((2, 1)), np.arange(4.0)[None], [0.0], False, True, None)
    with host.summarizer(source, Interface(1, None, Box((2, 2)))) as summarizer:
        assert summarizer.summarize(one) == "[[0.0, 1.0], [2.0, 3.0]][0.0]"


def test_summaries_are_cut_with_a_note(host):
    source = "class Feedback:\n    def summarize_trajectory(self, traj): return 'x' * 500"
    with host.summarizer(source, Interface(5, None, Discrete(3)), Limits(text_chars=100)) as one:
        text = one.summarize(episode())

    assert text == "x" * 100 + "\n[summary cut here: 400 more characters]"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("return 3", "must return a string, not int"),
        ("return traj.nope", "has no attribute 'nope'"),
    ],
)
def test_summarizers_fail_as_policies_do(host, body, words):
    source = f"class Feedback:\n    def summarize_trajectory(self, traj): {body}"
    interface = Interface(5, None, Discrete(3))
    with host.summarizer(source, interface) as one, pytest.raises(PolicyError, match=words):
        one.summarize(episode())


def test_a_program_without_the_class_is_refused(host):
    with pytest.raises(CompileError, match="class Feedback"):
        host.summarizer("x = 1", VECTOR)
