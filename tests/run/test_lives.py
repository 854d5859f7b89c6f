"""Runs of policies that live through several episodes."""

import json

import pytest
import scripted

import promptpo
from promptpo.cli import main
from promptpo.store.run import load_run
from promptpo.video import Options, Watcher, render_run

pytestmark = pytest.mark.slow

#: Falls in the first episode of its life, and not in those that follow.
LEARNS = """
class Policy:
    \"\"\"Looks on at first.\"\"\"

    def __init__(self):
        self.episodes = 0

    def reset(self):
        self.episodes += 1

    def act(self, obs):
        lean = obs.pole_angle + 0.3 * obs.pole_velocity
        push = lean + 0.02 * obs.cart_position + 0.05 * obs.cart_velocity > 0
        return int(push) if self.episodes else 0
"""

LIVES = {"policy_lifetime": "evaluation", "evaluation_episodes": 4}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Two rounds of CartPole in lives of four episodes; the numbers asked for are no multiples."""
    script = scripted.replies([LEARNS, scripted.BAD], [scripted.BAD, LEARNS + "\n"])
    where = tmp_path_factory.mktemp("lives")
    result, _ = scripted.run(where, script, episodes=2, test_episodes=10, **LIVES)
    return result


def test_every_stream_plays_whole_lives_from_fresh_objects(finished):
    assert len(finished.test.returns) == 12
    fell = [length < 20 for length in finished.test.lengths]
    assert fell == [True, False, False, False] * 3
    played = [c.rollout for r in finished.rounds for c in r.candidates]
    assert {(len(run.seeds), run.life) for run in played} == {(4, 4)}


def test_the_score_counts_what_it_took_to_learn(finished):
    (early, *late) = finished.test.life_curve
    assert (early.episode, early.lives) == (1, 3)
    assert early.mean_return < 20
    assert late[0].mean_return > 490
    mean = (early.mean_return + sum(p.mean_return for p in late)) / 4
    assert finished.test.score.mean_return == pytest.approx(mean)
    interval = finished.test.return_interval
    assert interval.high - interval.low < 5  # lives are alike, episodes are not


def test_record_and_page_have_the_curve_and_those_of_other_runs_have_none(finished, tmp_path):
    test = json.loads((finished.folder / "run.json").read_text())["test"]
    assert test["life"] == 4
    assert [p["episode"] for p in test["life_curve"]] == [1, 2, 3, 4]
    assert test["life_curve"][0]["interval"]["low"] > 5
    assert load_run(finished.folder).test == finished.test
    page = (finished.folder / "report.html").read_text()
    assert "Learning within a life" in page
    assert "One policy object plays 4 episodes" in page
    assert page.count('class="line thin"') == 3
    assert "Mean return of each episode of a life" in page
    result, _ = scripted.run(tmp_path, scripted.replies([scripted.BAD]))
    assert "of a life" not in (result.folder / "report.html").read_text()
    assert "life_curve" not in json.loads((result.folder / "run.json").read_text())["test"]


def test_eval_scores_lives_as_the_run_did(finished, capsys):
    again = promptpo.evaluate(finished.folder, workers=1)
    assert again.rollout.returns == finished.test.returns
    assert main(["eval", str(finished.folder), "--json", "--workers", "1"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["evaluations"]
    assert told["life"] == 4
    assert [e["return"] for e in told["episodes"]] == list(finished.test.returns)
    assert len(told["life_curve"]) == 4
    assert main(["eval", str(finished.folder), "--workers", "1"]) == 0
    said = capsys.readouterr().out
    assert "return by episode of a life: 1: " in said
    assert "over 3 lives of 4 episodes" in said


def test_eval_can_make_a_new_object_for_every_episode(finished):
    alone = promptpo.evaluate(finished.folder, policy_lifetime="episode", episodes=4)
    assert max(alone.rollout.lengths) < 20
    assert alone.as_dict().get("life_curve") is None


def test_the_module_and_its_loop_say_how_long_an_object_lives(finished):
    module = (finished.folder / "best" / "policy.py").read_text()
    assert "one policy = Policy() for 4" in " ".join(module.split())
    assert "elif hasattr(policy, " in (finished.folder / "README.md").read_text()


def test_episodes_to_film_are_those_of_the_record(finished, tmp_path):
    watcher = Watcher()
    watcher.scoring = pytest.fail  # nothing is played to choose from
    options = Options(episodes=("best",), formats=("gif",))
    assert len(render_run(finished.folder, options, to=tmp_path, watcher=watcher)) == 1
