"""Metrics, constraints and the objective through a run: recorded, resumed, shown, ranked by."""

import json
import shutil

import pytest
from room_spec import write_room
from scripted import cut, events_of, outcome, policy, replies, run

import promptpo
from promptpo.cli import main
from promptpo.comparison import Comparison
from promptpo.report import write_report
from promptpo.report.tables import evaluation_table
from promptpo.spec import load_spec
from promptpo.store.run import load_run
from promptpo.trackers.feed import Feed

FEEDBACK = """
class Feedback:
    def summarize_trajectory(self, traj):
        return f"last {traj.observations[-1].inlet:.1f} C"
"""

#: Never warm; wasteful; warm in every episode.
FRUGAL = policy("return [min(15.0, max(0.0, obs.heat + 8.0 * (obs.inlet - 26.5)))]")
WASTEFUL, IDLE = policy("return [15.0]"), policy("return [2.0]")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("room")
    script = replies([IDLE, WASTEFUL], [FRUGAL, IDLE], feedback=FEEDBACK)
    return run(folder, script, str(write_room(folder)), test_episodes=12)


def test_every_episode_has_its_metrics_and_success_is_that_constraints_hold(whole):
    result, _ = whole
    names = {"energy", "minutes above 27 C", "hottest inlet", "average inlet"}
    rollouts = events_of(result.folder, "rollout")
    assert len(rollouts) > 5
    for rollout in rollouts:
        assert rollout["terms"]["objective"] == "cvar10"
        for episode in rollout["episodes"]:
            metrics = episode["metrics"]
            assert set(metrics) == names
            holds = metrics["hottest inlet"] <= 32.0 and metrics["average inlet"] <= 27.0
            assert episode["success"] is holds
    assert result.best.name == "r02_c01"
    assert [r.winner.name for r in result.rounds] == ["r01_c02", "r02_c01"]
    stored = json.loads((result.folder / "candidates/r02_c01/result.json").read_text())
    assert set(stored["episodes"][0]["metrics"]) == names
    test = json.loads((result.folder / "run.json").read_text())["test"]
    assert test["metrics"]["hottest inlet"]["held"] == 1.0
    assert test["metrics"]["energy"]["unit"] == "kWh"
    returns = sorted(e["return"] for e in test["episodes"])
    assert test["worst_tenth"] == pytest.approx((returns[0] + 0.2 * returns[1]) / 1.2)
    assert test["score"]["worst_tenth"] == test["worst_tenth"]


def test_models_are_told_of_them(whole):
    result, _ = whole
    prompt = (result.folder / "prompts/r02_c01_policy.prompt.md").read_text()
    for words in (
        "ties by the mean return of the worst tenth of its episodes",
        "- energy (kWh, sum over the steps, lower is better)",
        "An episode that breaks one of these fails; one in which all hold succeeds:",
        "- hottest inlet, at most 32 C in every step: servers stop above",
        "r01_c01: success 0/2, worst tenth ",
        "(held 0/2, broken by ",
        "steps, energy ",
    ):
        assert words in prompt, words


def test_terminal_page_and_trackers_show_them(whole, capsys):
    result, events = whole
    rows = "\n".join(words for _, words in result.rows())
    assert "mean return of the worst tenth" in rows
    assert "(lower is better)" in rows
    assert "(at most 32 C in every step: held 12/12)" in rows
    page = write_report(result.folder).read_text().replace("<wbr>", "")
    for words in ("What else was measured", "Mean of the worst tenth", "held 12/12", "held 0/"):
        assert words in page, words
    feed = Feed()
    values = {k: v for e in events for d in feed.apply(e) for k, v in d.values.items()}
    assert values["metric/energy_test"] == result.test.readings[0].mean
    assert "metric/minutes above 27 C" in values
    assert values["test/worst_tenth_low"] <= values["test/worst_tenth"]


def test_a_run_that_was_cut_off_resumes_to_the_same_episodes(whole, tmp_path):
    result, _ = whole
    for number in (1, -2):
        folder = cut(result.folder, tmp_path / str(number), "rollout", number)
        assert promptpo.optimize(resume=folder).usage.steps == result.usage.steps
        assert outcome(folder) == outcome(result.folder)


def test_policies_and_runs_are_compared_by_each(whole, tmp_path, capsys):
    result, _ = whole
    file = tmp_path / "wasteful.py"
    file.write_text(WASTEFUL)
    assert main(["eval", str(result.folder), str(file), "--episodes", "6", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    tests = {t["measure"]: t for t in data["tests"]}
    assert list(tests)[:3] == ["success", "worst tenth", "return"]
    assert tests["energy"]["difference"] < -30
    assert tests["energy"]["paired"]
    assert tests["worst tenth"]["low"] > 0
    (ours, theirs) = data["evaluations"]
    assert ours["metrics"]["energy"]["value"] < theirs["metrics"]["energy"]["value"]
    other = promptpo.evaluate("expert", load_spec(result.config.spec), episodes=6)
    assert "energy" in str(other)
    words = " ".join(str(Comparison.of([result.folder])).split())
    assert "What else was measured" not in words.partition("energy")[0].lower()
    assert "held 12/12" in words


def test_a_kept_evaluation_is_shown_with_them(whole, tmp_path):
    result, _ = whole
    folder = shutil.copytree(result.folder, tmp_path / "room" / "run")
    assert main(["eval", str(folder), "expert", "--episodes", "4", "--keep"]) == 0
    (kept,) = load_run(folder).evaluations
    table = evaluation_table(kept)
    at = {name: i for i, name in enumerate(table.columns)}
    own, expert = table.rows
    assert own[at["Worst tenth"]].sort == kept.evaluations[0].worst_tenth
    assert own[at["energy"]].text.endswith(" kWh")
    assert expert[at["hottest inlet"]].text.endswith(" C")


def test_a_run_may_rank_by_the_mean(tmp_path):
    path = write_room(tmp_path)
    script = replies([FRUGAL, WASTEFUL], feedback=FEEDBACK)
    result, _ = run(tmp_path, script, str(path), objective="mean")
    assert result.test.score.worst_tenth is None
    assert result.test.readings
    again = promptpo.evaluate(result, episodes=3)
    assert again.score.worst_tenth is None
