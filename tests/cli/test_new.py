"""``promptpo new``: a first spec file that loads, passes ruff, and says what is to fill in.

With ``--own``, a spec with an environment of its own that is true as written.
"""

import re
import subprocess
import sys

import gymnasium
import numpy as np
import pytest

from promptpo.checks import QUICK, Replays, check_spec
from promptpo.checks.description import check_action, check_observation, check_prompt
from promptpo.checks.play import play
from promptpo.checks.reward import check_reward
from promptpo.cli import main
from promptpo.spec import Task, layout, load_spec
from promptpo.spec.catalog import SHIPPED_FOLDER


class Rooms(gymnasium.Env):
    """An environment with a Dict observation, and no documentation."""

    observation_space = gymnasium.spaces.Dict(
        {
            "place": gymnasium.spaces.Box(-2.0, 3.5, (2,), np.float64),
            "doors": gymnasium.spaces.MultiBinary(3),
            "inner": gymnasium.spaces.Dict({"room": gymnasium.spaces.Discrete(4, start=1)}),
        }
    )
    action_space = gymnasium.spaces.MultiDiscrete([3, 5])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.observation_space.seed(seed)
        return self.observation_space.sample(), {}

    def step(self, action):
        return self.observation_space.sample(), 1.0, False, False, {}


class ManyBounds(Rooms):
    """An environment whose bounds do not fit on a line."""

    observation_space = gymnasium.spaces.Box(-np.linspace(0.0, 3.0, 24), np.inf, dtype=np.float64)


class Told(gymnasium.Env):
    """An environment whose observation is a text."""

    observation_space = gymnasium.spaces.Text(10)
    action_space = gymnasium.spaces.Discrete(2)


class Seen(Told):
    """An environment whose observation is a picture."""

    observation_space = gymnasium.spaces.Box(0, 255, (64, 64, 3), np.uint8)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for env in (Rooms, ManyBounds, Told, Seen):
        gymnasium.register(f"Test{env.__name__}-v0", env, max_episode_steps=30)
    yield tmp_path
    for env in (Rooms, ManyBounds, Told, Seen):
        del gymnasium.registry[f"Test{env.__name__}-v0"]


@pytest.mark.parametrize(
    ("env_id", "fields"),
    [
        ("CartPole-v1", ["cart_position", "cart_velocity", "pole_angle", "pole_angular_velocity"]),
        ("Pendulum-v1", ["x_cos_theta", "y_sin_theta", "angular_velocity"]),
        ("Blackjack-v1", ["part_1", "part_2", "part_3"]),
        ("FrozenLake-v1", ["state"]),
        ("HalfCheetah-v5", None),
        ("TestRooms-v0", ["doors", "inner_room", "place"]),
    ],
)
def test_the_file_is_true_but_for_its_reward(here, env_id, fields):
    assert main(["new", env_id, "--to", "mine.py"]) == 0
    spec = load_spec("mine.py")
    names = [item.name for item in layout(spec.observation)]
    assert names == fields or (fields is None and len(names) == 17)
    task = Task.open(spec)
    played = play(task, 300)
    task.close()
    findings = [*check_observation(played), *check_action(task), *check_prompt(spec)]
    assert [f for f in findings if f.failed] == []
    (reward,) = check_reward(played)
    assert reward.failed
    line = line_of(here / "mine.py", "def reward(")
    assert reward.detail.startswith(
        f"reward() at {here / 'mine.py'}:{line} is not written yet: its body is "
        "`return float('nan')`; compute in it what the environment pays for one step "
    )


def line_of(path, text):
    return next(n for n, line in enumerate(path.read_text().splitlines(), 1) if text in line)


def test_the_files_pass_ruff(here):
    ids = ("CartPole-v1", "HalfCheetah-v5", "TestRooms-v0", "Ant-v5", "TestManyBounds-v0")
    for number, env_id in enumerate(ids):
        assert main(["new", env_id, "--to", f"file_{number}.py"]) == 0
    assert main(["new", "night_shift", "--own"]) == 0
    settings = ["--config", str(SHIPPED_FOLDER.parent / "pyproject.toml")]
    ruff = [sys.executable, "-m", "ruff"]
    for command in (["check", *settings], ["format", "--check", *settings]):
        done = subprocess.run([*ruff, *command, str(here)], capture_output=True, check=False)
        assert done.returncode == 0, done.stdout
    drafts = [*ruff, "check", "--isolated", "--exclude", "night_shift.py", str(here)]
    assert subprocess.run(drafts, check=False).returncode == 0


def test_it_says_what_to_do_next(here, capsys):
    assert main(["new", "Pendulum-v1"]) == main(["new", "x", "--own", "--to", "mine.py"]) == 0
    first, *steps = capsys.readouterr().out.splitlines()
    assert first == "wrote pendulum_v1.py. Next:"
    own = steps.index("wrote mine.py, which is whole and true as it stands. Next:")
    for file, lines in (("pendulum_v1.py", steps[:own]), ("mine.py", steps[own + 1 :])):
        assert [line.split("  ")[1] for line in lines] == [
            f"edit {file}",
            f"promptpo prompt {file}",
            f"promptpo check {file}",
            f"promptpo --spec {file} --model MODEL",
        ]
    for argv in (["Pendulum-v1"], ["mine", "--own"]):
        before = (here / "mine.py").read_text()
        assert main(["new", *argv]) == 2
        assert "exists and is left as it is; give another one with" in capsys.readouterr().err
        assert (here / "mine.py").read_text() == before


@pytest.mark.parametrize(
    ("argv", "code", "answer"),
    [
        (["Pendulm-v1"], 3, "did you mean Pendulum-v1?"),
        (["no_such_package:Some-v0"], 3, "pip install 'no_such_package'"),
        (["TestTold-v0"], 3, "is of type Text, which has no fixed number of numbers"),
        (["TestSeen-v0"], 3, "of shape (64, 64, 3) is a picture"),
        (["Pendulum-v1", "--to", "spec.txt"], 2, "name it spec.txt.py"),
        (["Pendulum-v1", "--to", "nowhere/spec.py"], 2, "give --to a file that can be written"),
        (["9lives", "--own"], 2, "such as night_shift"),
        (["été", "--own"], 2, "'été': no class can be called after that; give a name of letters"),
        (["random", "--own"], 2, "a Python module 'random', which the file would hide"),
        (["mine", "--own", "--to", "gymnasium.py"], 2, "a Python module 'gymnasium'"),
        (["mine", "--own", "--to", "nowhere/mine.py"], 2, "give --to a file that can be written"),
        (["warehouse"], 3, "for your own: promptpo new warehouse --own"),
    ],
)
def test_what_cannot_be_is_one_line(here, capsys, argv, code, answer):
    assert main(["new", *argv]) == code
    message = capsys.readouterr().err
    assert answer in message
    assert message.count("\n") == 1
    assert list(here.iterdir()) == []


def test_a_file_of_ones_own_is_whole_and_true(here):
    assert main(["new", "night_shift", "--own"]) == 0
    spec = load_spec("night_shift.py")
    assert spec.title.startswith("Night shift: ")
    with Replays([spec.ref]) as replays:
        findings = list(check_spec(spec, QUICK, replays.next))
    assert [f for f in findings if f.failed] == []
    expert = next(f.detail for f in findings if f.check == "reference: expert")
    assert "success 1.00" in expert, "what it begins with can be done"


def test_file_and_environment_are_called_after_the_name(here):
    for name, file, environment in (
        ("night_shift", "night_shift.py", "NightShift"),
        ("night shift", "night_shift.py", "NightShift"),
        ("Night-shift", "night_shift.py", "NightShift"),
        ("warehouse.py", "warehouse.py", "Warehouse"),
        ("CartPole-v1", "cartpole_v1.py", "CartPoleV1"),
        ("observation", "observation.py", "ObservationEnv"),
    ):
        assert main(["new", name, "--own"]) == 0
        assert [path.name for path in here.glob("*.py")] == [file]
        assert load_spec(file).make.__name__ == environment
        (here / file).unlink()


def test_the_same_environment_is_a_spec_without_a_file():
    spec = load_spec("gym:TestRooms-v0")
    assert spec.horizon == 30
    task = Task.open(spec)
    played = play(task, 100)
    task.close()
    (reward,) = check_reward(played)
    assert (reward.verdict, reward.detail) == ("note", "told in words only, by design")
    flat = task.reset(3)
    assert set(flat[:3]) <= {0.0, 1.0}
    assert flat[3] in (1, 2, 3, 4)


def test_documentation_is_kept_as_plain_text():
    told = {ref: load_spec(f"gym:{ref}-v1") for ref in ("Pendulum", "FrozenLake")}
    cheetah = re.sub(r"\s+", " ", load_spec("gym:HalfCheetah-v5").reward.__doc__)
    powers = re.sub(r"\s+", " ", told["Pendulum"].reward.__doc__)
    assert "theta^2 + 0.1 * theta_dt^2 + 0.001 * torque^2" in powers
    assert "Reach goal: +1" in told["FrozenLake"].reward.__doc__
    assert "Move left" in told["FrozenLake"].action
    assert "1/3" not in told["FrozenLake"].description  # it stands under Arguments
    assert "w_{forward} * (dx) / (dt), where dx is the displacement" in cheetah
    assert "$" not in cheetah


def test_the_family_of_a_list_is_listed(capsys):
    assert main(["list", "metaworld"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "metaworld:push-v3" in lines
    assert len(lines) == 50
    assert main(["list", "metaword"]) == 2
    assert "did you mean 'metaworld'?" in capsys.readouterr().err
