"""Runs whose policies learn before they act: CartPole, a linear model of it, and its regulator."""

import hashlib
from pathlib import Path

import pytest
from scripted import BAD, GOOD, cut, data_of, outcome, prompts_of, replies, run, run_small

from promptpo import load_run, optimize
from promptpo.export.policy_file import PolicyFile
from promptpo.run.settings import build

LQR = (Path(__file__).parents[1] / "data" / "cartpole_lqr.txt").read_text()
#: Policies that differ at all are no ties, so that the one that learned stays the best.
ON = {
    "prepare_time": 20.0, "early_stop": False, "patience": 0, "smallest_difference": 0,
}  # fmt: skip

#: Tells all that it is given; its policy is GOOD.
TELLING = """
import numpy as np

def prepare(data):
    players = [(e.candidate, e.round, len(e.rewards), e.success) for e in data.episodes]
    print(players)
    return {"steps": len(data.rewards), "first": data.observations[0], "draw": np.random.rand()}
""" + GOOD.replace('"""\n', '"""\n\n    def __init__(self, prepared):\n        self.p = prepared\n')

#: Ends two of its three episodes, then fails.
FAILS_LATE = """
class Policy:
    count = 0

    def act(self, obs):
        if obs.cart_position > 0.25 or obs.cart_position < -0.25:
            raise ValueError("too far")
        return int(obs.pole_angle > 0)
"""


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """Two rounds; in the first a policy that learns from probes alone, a loser, one that fails."""
    folder = tmp_path_factory.mktemp("learned")
    script = replies([LQR, BAD], [TELLING, TELLING])
    return run(folder, script, probe=2, policy_seed=3, prepare_transitions=1200, **ON)


def test_a_regulator_of_a_model_fitted_to_the_probes_keeps_the_pole_up(learned):
    result, _ = learned
    first = result.rounds[0].candidates[0]
    assert first.score.mean_return == 500
    assert first.preparation.episodes == 4
    assert first.preparation.transitions < 200
    assert result.best == first
    assert result.test.score.mean_return == 500


def test_what_is_given_are_the_episodes_of_the_rounds_before_the_newest_whole_ones(learned):
    """Those of zero actions, the oldest, are more than is given."""
    result, events = learned
    one = result.rounds[1].candidates[0]
    given = eval(one.preparation.output)  # noqa: S307 - a test's own
    rollouts = {
        (e["key"]["round"], e["key"]["candidate"]): [x["length"] for x in e["episodes"]]
        for e in data_of(events, "rollout")[:4]
    }
    names = {(0, 1): "zero action", (0, 2): "random", (1, 1): "r01_c01", (1, 2): "r01_c02"}
    played = [
        (names[key], key[0], length, None) for key in sorted(rollouts) for length in rollouts[key]
    ]
    kept = [p for i, p in enumerate(played) if sum(q[2] for q in played[i:]) <= 1200]
    assert given == kept
    assert one.preparation.transitions == sum(p[2] for p in kept)


def test_equal_programs_of_a_round_prepare_once_and_are_one_policy(learned):
    result, events = learned
    one, two = result.rounds[1].candidates
    assert one.preparation is not None
    assert one.preparation == two.preparation
    assert [e["key"]["round"] for e in data_of(events, "prepared")] == [1, 2]


def test_the_values_lie_in_the_folder_by_their_digest_and_in_the_best_policy(learned):
    result, _ = learned
    best = result.best
    file = result.folder / "candidates" / "r01_c01" / f"prepared_{best.prepared}.bin"
    assert hashlib.sha256(file.read_bytes()).hexdigest()[:16] == best.prepared
    assert not (result.folder / "best" / "prepared.npz").exists()  # for so few
    shipped = PolicyFile.read(result.folder / "best" / "policy.py")
    assert shipped.prepared == file.read_bytes()
    assert shipped.learned.transitions == best.preparation.transitions
    assert not (result.folder / ".temporary").exists()


def test_authors_are_told_how_to_and_then_what_was_found(learned):
    result, events = learned
    told, output = prompts_of(events), result.best.preparation.output
    assert "`def prepare(data)`" in told["r01_c01_policy"]
    assert "prepare" not in told["r00_feedback"]
    later = told["r02_c01_policy"]
    assert "residual" in output
    assert output in later
    assert "predicted a return of 500 (its mean is 500, 0)" in later
    assert output in told["r02_reflection"]


def test_a_resumed_run_prepares_nothing_again_unless_values_are_lost(learned, tmp_path):
    result, _ = learned
    folder = cut(result.folder, tmp_path / "again", "prepared", 1)
    (lost,) = (folder / "candidates" / "r01_c01").glob("prepared_*.bin")
    before = lost.read_bytes()
    lost.unlink()
    again = optimize(resume=folder)
    assert again.best == result.best
    assert lost.read_bytes() == before
    assert outcome(folder) == outcome(result.folder)
    assert load_run(folder).best.preparation == result.best.preparation


def test_an_error_in_it_is_repaired_with_its_line_and_its_output(tmp_path):
    wrong = 'def prepare(data):\n    print("so far")\n    return {"x": data.nothing}\n' + GOOD
    script = replies([f"import math\n{wrong}"])
    script.say(GOOD, "repair", 1, 1, 1)
    result, events = run(tmp_path, script, max_repairs=1, **ON)
    (said,) = [text for key, text in prompts_of(events).items() if "repair" in key]
    assert "line 4" in said
    assert "so far" in said
    assert result.best.source.strip() == GOOD.strip()
    (failed,) = data_of(events, "prepared")
    assert failed["values"] is None
    assert "nothing" in failed["error"]


def test_episodes_that_ended_before_a_policy_failed_are_given_too(tmp_path):
    script = replies([FAILS_LATE], [f"import math\n{TELLING}"])
    result, events = run(tmp_path, script, episodes=8, policy_seed=3, **ON)
    (failed,) = [e for e in data_of(events, "rollout") if e["error"]]
    ended = [e["length"] for e in failed["episodes"] if e["error"] is None]
    assert ended
    told = eval(result.rounds[1].candidates[0].preparation.output)  # noqa: S307 - a test's own
    assert [length for *_, length, _ in told] == ended
    assert (result.folder / "candidates" / "r01_c01" / "failed_0.npz").is_file()


def test_without_time_for_it_nothing_is_prepared_and_nothing_told(tmp_path):
    result, events = run(tmp_path, replies([LQR]), prepare_time=0.0)
    assert not data_of(events, "prepared")
    assert not any("prepare" in text for text in prompts_of(events).values())
    assert result.best is None  # it is made without what it needs


def test_a_recording_that_knows_nothing_of_it_replays_without_it(tmp_path):
    """A header says what the run was asked; what is given explicitly wins."""
    _, events = run(tmp_path, replies([GOOD]))
    assert "prepare" not in prompts_of(events)["r01_c01_policy"]
    assert build({"spec": "cartpole"}).prepare_time == 60
    assert build({"spec": "cartpole", "preset": "paper"}).prepare_time == 0


def test_best_of_n_prepares_too(tmp_path):
    script = replies([BAD], [TELLING])
    result, events = run(tmp_path, script, method="best-of-n", **ON)
    (done,) = data_of(events, "prepared")
    assert (done["episodes"], done["key"]["round"]) == (2, 2)
    assert result.best.prepared == done["values"]


def test_a_policy_of_a_file_prepares_before_it_is_tuned(tmp_path):
    file = tmp_path / "learning.py"
    file.write_text(TELLING.replace("data.observations[0]", "len(data.episodes)"))
    result, _ = run_small(
        tmp_path, method="tune", model=f"file:{file}", rounds=1, candidates=1, tune=True,
        tune_steps=0, prepare_time=20.0,
    )  # fmt: skip
    assert result.best.preparation.episodes == 0


@pytest.mark.slow
def test_a_tuned_policy_keeps_what_was_prepared(tmp_path):
    weak = LQR.replace(
        "self.gain = prepared", "self.bias = tunable(2.5, -3, 3)\n        self.gain = prepared"
    )
    weak = weak.replace("self.gain @ state < 0", "self.gain @ state < self.bias")
    result, events = run(
        tmp_path, replies([weak]), probe=2, policy_seed=3, tune=True, tune_steps=20_000, **ON
    )
    written, tuned = result.rounds[0].candidates
    assert tuned.kind == "tuned"
    assert tuned.preparation == written.preparation
    assert tuned.score > written.score
    assert len(data_of(events, "prepared")) == 1
    assert load_run(result.folder).candidates[-1].preparation == written.preparation
