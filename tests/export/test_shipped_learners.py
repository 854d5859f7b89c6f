"""Policies that have learned, away from their run: CartPole, played live."""

import json
import shutil

import numpy as np
import pytest
from exported_runs import REFUSED, exit_code, finished_run, lines_of, measured_lines
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
    out = tmp_path_factory.mktemp("runs")
    return finished_run(out, "cartpole", request.param, probe=2, prepare_time=20.0)


@pytest.fixture(scope="module")
def taken(learned, tmp_path_factory):
    to = tmp_path_factory.mktemp("taken") / "away"
    write_folder(load_run(learned.folder), to)
    return to


def test_the_folder_plays_the_measured_episodes_with_numpy_and_gymnasium_alone(learned, taken):
    assert learned.test.score.mean_return > 400
    assert lines_of(taken / "run.py", *WITHOUT) == measured_lines(learned)
    many = "prepared.npz" in {file.name for file in taken.iterdir()}
    assert many == (learned.folder / "best" / "prepared.npz").is_file()
    assert many == ("table" in (taken / "policy.py").read_text().partition("TYPE_CHECKING")[0])


def test_the_loop_of_the_run_s_readme_plays_them_too(learned):
    readme = (learned.folder / "README.md").read_text()
    loop = readme.split("```python\n")[1].split("```")[0]
    script = learned.folder / "best" / "loop.py"
    script.write_text(loop)
    assert lines_of(script, *WITHOUT) == measured_lines(learned)
    script.unlink()


def test_readmes_say_what_was_learned_from_what(learned, taken):
    done = learned.best.preparation
    for file in (taken / "README.md", learned.folder / "README.md"):
        text = file.read_text()
        assert f"from {done.transitions} transitions of 4 search episodes" in text
        assert "Learned by its prepare(data): found, gains, steps" in text


def test_it_is_the_same_from_its_run_its_candidate_and_an_export(learned, taken):
    own = learned.folder / "candidates" / learned.best.name / "policy.py"
    found = [
        PolicyFile.read(f)
        for f in (learned.folder / "best" / "policy.py", own, taken / "policy.py")
    ]
    assert {file.learned for file in found} == {found[0].learned}
    played = promptpo.evaluate(taken / "policy.py", "cartpole", seed=0, episodes=3)
    assert played.error == ""
    assert played.rollout.returns == learned.test.returns


def test_stable_baselines_predict_makes_it_with_what_it_has_learned(learned, taken):
    spec = load_spec("cartpole")
    env = spec.make()
    model = SB3Policy.load(taken / "policy.py", spec, env)
    total, done, seen = 0.0, False, env.reset(seed=learned.test.seeds[0])[0]
    while not done:
        seen, reward, terminated, truncated, _ = env.step(model.predict(seen)[0])
        total, done = total + reward, terminated or truncated
    assert total == learned.test.returns[0]


def test_a_candidate_without_its_run_says_what_to_name(learned):
    with pytest.raises(UsageError, match=r"r01_c01: .*candidates/r01_c01/policy\.py"):
        promptpo.evaluate(learned.best, "cartpole")


def test_tuning_chooses_its_constants_and_leaves_what_it_has_learned(
    learned, taken, tmp_path, capsys
):
    to = tmp_path / "to" / "tuned.py"
    arguments = (
        "tune",
        taken / "policy.py",
        "cartpole",
        "--set",
        "constants=auto",
        "--steps",
        2000,
    )
    fixed = (
        "--steps",
        2000,
        "--out",
        tmp_path,
        "--test-episodes",
        2,
        "--workers",
        1,
        "--to",
        to,
        "--json",
    )
    assert exit_code(*arguments, *fixed) == 0
    run = promptpo.load_run(json.loads(capsys.readouterr().out.splitlines()[-1])["folder"])
    (written, *_), before = run.rounds[0].candidates, PolicyFile.read(taken / "policy.py")
    assert written.preparation.transitions == learned.best.preparation.transitions
    assert written.preparation.seconds == pytest.approx(before.learned.seconds)
    assert PolicyFile.read(run.folder / "best" / "policy.py").learned == before.learned
    assert PolicyFile.read(to).learned == before.learned


def test_constants_that_only_prepare_reads_are_not_listed(taken, capsys):
    assert exit_code("tune", taken / "policy.py", "--list", "--json") == 0
    assert [c["name"] for c in json.loads(capsys.readouterr().out)] == ["LEAN"]


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


def test_a_tuning_that_is_resumed_needs_the_file_no_more(taken, tmp_path):
    copy = shutil.copytree(taken, tmp_path / "copy")
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
    assert again.best == result.best
    assert again.test.returns == result.test.returns


def test_it_is_filmed_like_any_other(taken, tmp_path):
    pytest.importorskip("PIL")
    more = ("--spec", "cartpole", "--episodes", "1", "--format", "gif", "--to", tmp_path)
    assert exit_code("video", taken / "policy.py", *more) == 0
    assert [file.suffix for file in tmp_path.iterdir()] == [".gif"]


def test_the_file_as_a_model_prepares_anew(taken, tmp_path):
    result = promptpo.optimize(
        "cartpole", model=f"file:{taken / 'policy.py'}", out=str(tmp_path), rounds=1, candidates=1,
        episodes=2, test_episodes=2, workers=1, probe=1, prepare_time=20.0,
    )  # fmt: skip
    assert result.best.preparation.episodes == 2
    assert np.isfinite(result.test.score.mean_return)
