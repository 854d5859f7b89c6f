"""``promptpo eval --on TWIN``: a policy on a twin's world, behind the interface that it knows."""

import json
import re

import pytest
from scripted import FEEDBACK, replies, run

from promptpo.cli import main
from promptpo.spec import Task, load_spec

#: Leans on the names and the order of Hopper's own fields.
STAND = (
    "class Policy:\n    def act(self, o):\n        return [0.3 * o.pitch, 0, -o.joint_angles[2]]\n"
)
LOOK = FEEDBACK.replace("pole_angle", "pitch")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with a policy for Hopper in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stand.py").write_text(STAND)
    return tmp_path


def transferred(capsys, *arguments, code=0):
    small = ["--episodes", "3", "--workers", "1"]
    assert main(["eval", *map(str, arguments), *small]) == code
    return capsys.readouterr()


@pytest.mark.slow
def test_a_runs_policy_is_told_with_what_it_scored_and_what_it_keeps(folder, capsys):
    run(folder, replies((STAND,), feedback=LOOK), "mujoco_hopper", max_env_steps=10_000)
    out = transferred(capsys, "latest", "--on", "twin:mujoco_hopper@2").out
    told = dict(re.findall(r"^(\w+) +(.+)$", out, re.MULTILINE))
    assert told["from"].startswith("mujoco_hopper: Hopper: ")
    assert told["to"].startswith("twin_mujoco_hopper_2: ")
    assert told["episodes"] == "3 held-out ones of seed 0"
    before, after = (float(re.search(r"[\d.]+", told[n])[0]) for n in ("before", "after"))
    low, random = map(float, re.search(r"([\d.]+) before, ([\d.]+) after", told["kept"]).groups())
    kept = float(told["kept"].partition("%")[0]) / 100
    assert kept == pytest.approx((after - random) / (before - low), abs=0.01)


@pytest.mark.slow
def test_a_policy_of_one_twin_is_played_on_another_world_and_on_the_originals(folder, capsys):
    (folder / "still.py").write_text(
        "class Policy:\n    def act(self, o):\n        return [0] * 3\n"
    )
    of_twin = ["still.py", "--spec", "twin:mujoco_hopper@3"]
    for to in ("twin:mujoco_hopper@2", "mujoco_hopper"):
        found = json.loads(transferred(capsys, *of_twin, "--on", to, "--json").out)
        assert (found["from"], found["to"]) == ("twin:mujoco_hopper@3", to)
        assert len(found["before"]["episodes"]) == len(found["after"]["episodes"]) == 3
        (seed, measured), *_ = ((e["seed"], e["return"]) for e in found["after"]["episodes"])
        assert measured == pytest.approx(return_of_standing_still(to, seed))


def return_of_standing_still(ref, seed):
    """What an episode of zero actions brings on a world behind its own interface."""
    task = Task.open(load_spec(ref))
    task.reset(seed)
    total, over = 0.0, False
    while not over:
        _, reward, terminated, truncated, _ = task.step([0.0] * 3)
        total, over = total + reward, terminated or truncated
    task.close()
    return total


@pytest.mark.slow
def test_a_policy_that_fails_there_is_told_with_its_line(folder, capsys):
    (folder / "bad.py").write_text(
        "class Policy:\n    def act(self, o):\n        return o.nothing\n"
    )
    words = ["bad.py", "--spec", "mujoco_hopper", "--on", "twin:mujoco_hopper@2"]
    out = transferred(capsys, *words, code=1).out
    assert "failed       bad.py:3: the policy failed: AttributeError" in out
    assert "kept" not in out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--spec", "cartpole", "--on", "twin:mujoco_hopper"], 2,
         "--on twin:mujoco_hopper: a twin of mujoco_hopper, but stand.py was written for cartpole"),
        (["--spec", "mujoco_hopper", "--on", "cartpole"], 2,
         "--on cartpole: no twin; name one of mujoco_hopper (`promptpo list twin` shows"),
        (["--spec", "mujoco_hopper", "--on", "mujoco_hopper"], 2, "leave out --on"),
        (["--spec", "mujoco_hopper", "--on", "twin:mujoco_hoper"], 3, "did you mean"),
        (["--on", "twin:mujoco_hopper"], 2, "stand.py: give the task that it was written for"),
        (["random", "--on", "twin:mujoco_hopper"], 2, "--on: takes one policy"),
        (None, 2, "random is no policy"),
        (["--on", "twin:mujoco_hopper", "--keep"], 2, "--on: takes one policy, and keeps nothing"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_one_line_with_the_remedy(folder, capsys, words, code, message):
    no_policy = ["random", "--spec", "mujoco_hopper", "--on", "twin:mujoco_hopper"]
    err = transferred(capsys, *(["stand.py", *words] if words else no_policy), code=code).err
    assert message in err
    assert err.count("\n") == 1


def test_a_world_is_the_same_behind_each_interface():
    def still(ref):
        task = Task.open(load_spec(ref))
        task.reset(1)
        rewards = [task.step([0.0] * 3)[1] for _ in range(20)]
        task.close()
        return rewards

    own, plain, other = map(still, ("twin:mujoco_hopper@3", "twin:mujoco_hopper@3+original",
                                    "twin:mujoco_hopper@original+3"))  # fmt: skip
    assert plain == pytest.approx(own)
    assert other == pytest.approx(still("mujoco_hopper"))
    assert other != pytest.approx(own)
