"""What a run does with a policy's inner state: traces are stored, lines counted once."""

import pytest
from scripted import GOOD, cut, data_of, outcome, replies, run

import promptpo
from promptpo.policies import CoverageRun
from promptpo.run.services import RunServices
from promptpo.store.events import Event
from promptpo.store.folder import read_episodes
from promptpo.store.run import Run, load_run

TRACED = GOOD.replace("def act", 'TRACE = ("lean",)\n\n    def act').replace(
    "lean = ", "lean = self.lean = "
)
FEEDBACK = """
class Feedback:
    def summarize_trajectory(self, traj):
        return f"{len(traj.trace['lean'])} leans"
"""


def test_a_trace_is_stored_and_told(tmp_path):
    result, _ = run(tmp_path, replies([TRACED], feedback=FEEDBACK), test_episodes=0)
    where = result.folder / "candidates" / "r01_c01"
    assert "Episode 1: 500 leans" in (where / "feedback.txt").read_text()
    assert 'TRACE = ("lean",)' in (result.folder / "best" / "policy.py").read_text()
    for episode in read_episodes(where / "episodes.npz"):
        assert len(episode.trace["lean"]) == 500
        assert all(type(value) is float for value in episode.trace["lean"])


COVERAGE = RunServices.coverage


async def counting(self, of, seeds=None):
    """Counts the lines of a candidate twice."""
    found = await COVERAGE(self, of, seeds)
    assert await COVERAGE(self, of, seeds) == found
    return found


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    """A run that counts each policy's lines twice: its result and events."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RunServices, "coverage", counting)
        yield run(tmp_path_factory.mktemp("run"), replies([GOOD]), probe=0, test_episodes=0)


def test_lines_are_counted_once_and_recorded(counted):
    result, events = counted
    (event,) = data_of(events, "coverage")
    hits = dict(zip(event["lines"], event["hits"], strict=True))
    line = GOOD[1:].split("\n").index("        lean = obs.pole_angle + 0.3 * obs.pole_velocity") + 1
    assert event["steps"] == hits[line] == 1000
    assert event["error"] is None
    record = load_run(result.folder)
    assert record.coverage_of["r01_c01"] == CoverageRun(tuple(hits.items()), 1000)
    assert result.usage.steps["search"] == 1000  # it costs none


def test_resuming_answers_it_from_the_log(counted, monkeypatch, tmp_path):
    monkeypatch.setattr(RunServices, "coverage", counting)
    whole = counted[0].folder
    folder = cut(whole, tmp_path / "cut", "round")
    promptpo.optimize(resume=folder)
    assert outcome(folder) == outcome(whole)


def test_lists_of_different_lengths_are_read_as_far_as_both_go():
    key = {"round": 1, "candidate": 1, "attempt": 0, "role": ""}
    data = {"key": key, "digest": "x", "lines": [1, 2], "hits": [5], "steps": 5, "error": None}
    assert Run([Event("coverage", data)]).coverages["x"] == CoverageRun(((1, 5),), 5)
