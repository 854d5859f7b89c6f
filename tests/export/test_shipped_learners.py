"""Policies that have learned, away from their run: CartPole, played live."""

import json
import shutil

import pytest
from exported_runs import (
    REFUSED,
    episode_return,
    exit_code,
    finished_run,
    lines_of,
    measured_lines,
    readme_loop,
)
from scripted import run_small

import promptpo
from promptpo.errors import UsageError
from promptpo.export import SB3Policy, write_folder
from promptpo.export.policy_file import PolicyFile
from promptpo.spec import load_spec
from promptpo.store.run import load_run

pytestmark = pytest.mark.slow

#: Its gains are what prepare returns: GOOD's; it counts on scipy only there.
FEW = '''
import numpy as np
from scipy import optimize

PULL = 2.0
LEAN = 0.3


def prepare(data):
    found = optimize.minimize_scalar(lambda x: (x - PULL) ** 2)
    gains = np.array([0.02, 0.05, 1.0, LEAN]) * 1.0
    return {"gains": gains, "found": found.x, "steps": len(data.rewards)TABLE}


class Policy:
    """Pushes towards where the pole is falling."""

    def __init__(self, prepared):
        self.gains = GAINS

    def act(self, obs):
        seen = (obs.cart_position, obs.cart_velocity, obs.pole_angle, obs.pole_velocity)
        lean = LEAN * obs.pole_velocity + sum(g * x for g, x in zip(self.gains[:3], seen))
        return int(lean > 0)
'''
TABLE = FEW.replace("TABLE", ', "table": np.tile(gains, (60, 1))')
TABLE = TABLE.replace("GAINS", 'prepared["table"][7]')
FEW = FEW.replace("TABLE", "").replace("GAINS", 'prepared["gains"]')

WITHOUT = (*REFUSED, "scipy", "scipy.optimize")


@pytest.fixture(scope="module", params=[FEW, TABLE], ids=["literals", "beside"])
def learned(request, tmp_path_factory):
    """A run whose policy has learned, and its exported folder."""
    base = tmp_path_factory.mktemp("learned")
    result = finished_run(base / "runs", "cartpole", request.param, probe=2, prepare_time=20.0)
    write_folder(load_run(result.folder), base / "away")
    return result, base / "away"


with_table = pytest.mark.parametrize("learned", [TABLE], ids=["beside"], indirect=True)


def test_folder_and_readme_loop_play_the_measured_episodes_and_tell_of_learning(learned):
    result, taken = learned
    assert result.test.score.mean_return > 400
    for script in (taken / "run.py", readme_loop(result)):
        assert lines_of(script, *WITHOUT) == measured_lines(result)
    many = (taken / "prepared.npz").is_file()
    assert many == (result.folder / "best" / "prepared.npz").is_file()
    assert many == ("table" in (taken / "policy.py").read_text().partition("TYPE_CHECKING")[0])
    words = f"from {result.best.preparation.transitions} transitions of 4 search episodes"
    for folder in (taken, result.folder):
        text = (folder / "README.md").read_text()
        assert words in text
        assert "Learned by its prepare(data): found, gains, steps" in text


def test_it_is_the_same_from_its_run_its_candidate_an_export_and_by_predict(learned):
    result, taken = learned
    own = result.folder / "candidates" / result.best.name / "policy.py"
    files = (result.folder / "best" / "policy.py", own, taken / "policy.py")
    first, *others = (PolicyFile.read(file).learned for file in files)
    assert others == [first, first]
    played = promptpo.evaluate(taken / "policy.py", "cartpole", seed=0, episodes=3)
    assert (played.error, played.rollout.returns) == ("", result.test.returns)
    spec = load_spec("cartpole")
    env = spec.make()
    model = SB3Policy.load(taken / "policy.py", spec, env)
    assert episode_return(model, env, result.test.seeds[0]) == result.test.returns[0]


@with_table
def test_tuning_chooses_its_constants_and_leaves_what_it_has_learned(learned, tmp_path, capsys):
    result, file = learned[0], learned[1] / "policy.py"
    assert exit_code("tune", file, "--list", "--json") == 0
    assert [c["name"] for c in json.loads(capsys.readouterr().out)] == ["LEAN"]
    to = tmp_path / "to" / "tuned.py"
    words = f"--set constants=auto --steps 1000 --test-episodes 2 --workers 1 --to {to} --json"
    assert exit_code("tune", file, "cartpole", "--out", tmp_path, *words.split()) == 0
    run = promptpo.load_run(json.loads(capsys.readouterr().out.splitlines()[-1])["folder"])
    (written, *_), before = run.rounds[0].candidates, PolicyFile.read(file).learned
    assert written.preparation.transitions == result.best.preparation.transitions
    assert written.preparation.seconds == pytest.approx(before.seconds)
    for tuned in (run.folder / "best" / "policy.py", to):
        assert PolicyFile.read(tuned).learned == before


@pytest.mark.parametrize("command", ["eval", "tune", "video"])
def test_a_file_without_values_is_refused_in_a_line_that_tells_the_remedy(
    command, tmp_path, capsys
):
    file = tmp_path / "bare.py"
    file.write_text(FEW)
    more = ("--set", "constants=auto") if command == "tune" else ()
    assert exit_code(command, file, "--spec", "cartpole", *more) == 2
    error = capsys.readouterr().err
    assert f"{file}: its Policy is made with what prepare(data) returns" in error
    assert error.count("\n") == 1


@with_table
def test_a_tuning_that_is_resumed_needs_the_file_no_more(learned, tmp_path):
    copy = shutil.copytree(learned[1], tmp_path / "copy")
    result = run_small(
        tmp_path, method="tune", model=f"file:{copy / 'policy.py'}", rounds=1, candidates=1,
        tune=True, tune_steps=0,
    )[0]  # fmt: skip
    shutil.rmtree(copy)
    log = result.folder / "events.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    (at,) = [i for i, line in enumerate(lines) if json.loads(line)["type"] == "prepared"]
    log.write_bytes(b"".join(lines[: at + 1]))
    again = promptpo.optimize(resume=result.folder)
    assert (again.best, again.test.returns) == (result.best, result.test.returns)


@with_table
def test_it_is_filmed_and_prepares_anew_as_a_model_but_not_without_its_run(learned, tmp_path):
    result, file = learned[0], learned[1] / "policy.py"
    with pytest.raises(UsageError, match=r"r01_c01: .*candidates/r01_c01/policy\.py"):
        promptpo.evaluate(result.best, "cartpole")
    more = ("--spec", "cartpole", "--episodes", "1", "--format", "gif", "--to", tmp_path)
    assert exit_code("video", file, *more) == 0
    assert [file.suffix for file in tmp_path.iterdir()] == [".gif"]
    anew, _ = run_small(
        tmp_path, model=f"file:{file}", rounds=1, candidates=1, probe=1, prepare_time=20.0
    )
    assert anew.best.preparation.episodes == 2
