"""``promptpo video`` as its users type it: what is printed, what is refused, what is missing."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
import scripted
from own_cartpole import own_cartpole

import promptpo
from promptpo.cli import main

pytestmark = pytest.mark.slow

ROOT = Path(promptpo.__file__).parents[1]
ENV = {**os.environ, "PYTHONPATH": str(ROOT), "PROMPTPO_MODEL": ""}
CARTPOLE = ("--spec", "cartpole", "--test-episodes", "2", "--workers", "1")


def video(folder, *argv, env=ENV, start=("-m", "promptpo", "video")):
    done = subprocess.run(
        [sys.executable, *start, *map(str, argv)],
        check=False, cwd=folder, env=env, capture_output=True, text=True, timeout=200,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    return done


def refusal(folder, *argv, code, **details):
    """The one line of a command that ends with an error."""
    done = video(folder, *argv, **details)
    assert done.returncode == code, done.stderr
    (line,) = [x for x in done.stderr.splitlines() if x.startswith("promptpo: error: ")]
    assert done.stdout == ""
    return line.removeprefix("promptpo: error: ")


def broken(folder, *modules):
    """An environment in which these modules cannot be imported."""
    for name in modules:
        (folder / f"{name}.py").write_text(f"raise ImportError('no {name} here')\n")
    return {**ENV, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}


@pytest.fixture
def policy(tmp_path):
    (tmp_path / "policy.py").write_text(scripted.BAD)
    return tmp_path


def test_the_files_of_a_run_or_of_a_policy_that_is_played_first_are_named(finished, policy):
    done = video(policy, finished, "--to", "films", "--format", "gif,mp4", "--episodes", "worst")
    assert (done.returncode, done.stderr) == (0, "")
    gif, mp4 = done.stdout.splitlines()
    assert gif.startswith("films/worst_seed")
    assert (gif[-4:], mp4[-4:]) == (".gif", ".mp4")
    assert all((policy / name).stat().st_size > 1000 for name in (gif, mp4))
    done = video(policy, "policy.py", *CARTPOLE)
    assert done.stderr == "playing 2 held-out episodes to choose from\n"
    assert [line[:12] for line in done.stdout.splitlines()] == ["videos/best_", "videos/media"]


def test_a_terminal_sees_a_bar(policy):
    ours, theirs = pty.openpty()
    done = subprocess.Popen(
        [sys.executable, "-m", "promptpo", "video", "policy.py", *CARTPOLE, "--episodes", "best"],
        cwd=policy, env={**ENV, "TERM": "xterm", "COLUMNS": "80"},
        stdout=subprocess.DEVNULL, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    seen = b""
    while True:
        try:
            seen += os.read(ours, 4096)
        except OSError:  # the other end has closed
            break
    os.close(ours)
    assert done.wait(60) == 0
    assert b"best" in seen
    assert b"steps" in seen
    assert "━".encode() in seen


REFUSED = {
    ("nothing",): (6, "nothing: no such path; `promptpo list` shows the runs"),
    ("latest", "--out", "elsewhere"): (
        6, "elsewhere: no run here yet; give --out, or the run's folder"
    ),
    ("--episodes", "first"): (2, "--episodes: 'first' is neither one of best, median, worst nor"),
    ("--format", "mov"): (2, "--format: 'mov' is not one of mp4, gif"),
    ("--quality", "low"): (2, "--quality: 'low' is not one of fast, high"),
    ("--size", "640"): (2, "--size: write it as WIDTHxHEIGHT, such as 640x480, not '640'"),
    ("--size", "9x9"): (2, "--size: width and height must be from 64 to 4096 pixels"),
    ("--fps", "1000"): (2, "--fps must be at most 120, not 1000"),
    ("--fps", "many"): (2, "--fps must be a number, not 'many'"),
}  # fmt: skip


def test_what_cannot_be_is_one_line(policy, monkeypatch, capsys):
    monkeypatch.chdir(policy)
    for words, (code, line) in REFUSED.items():
        argv = words if words[0][0] != "-" else ("policy.py", *CARTPOLE, *words)
        assert main(["video", *argv]) == code
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith(f"promptpo: error: {line}")
        assert err.count("\n") == 1


def test_what_is_missing_is_named(policy, tmp_path_factory):
    for module in ("PIL", "imageio_ffmpeg"):
        code = (
            f"import sys; sys.modules['{module}'] = None; from promptpo.cli import main;"
            "raise SystemExit(main(['video', *sys.argv[1:]]))"
        )
        line = refusal(policy, "policy.py", *CARTPOLE, code=2, start=("-c", code))
        assert line == "videos need Pillow and imageio-ffmpeg; pip install 'promptpo[video]'"
    env = {**ENV, "IMAGEIO_FFMPEG_EXE": "/nowhere/ffmpeg"}
    line = refusal(policy, "policy.py", *CARTPOLE, code=2, env=env)
    assert line == "MP4 needs the program ffmpeg; install it, or name it in IMAGEIO_FFMPEG_EXE"
    env = broken(tmp_path_factory.mktemp("broken"), "pygame")
    line = refusal(policy, "policy.py", *CARTPOLE, "--episodes", "1", code=3, env=env)
    assert "cartpole.py: drawing it needs pygame" in line
    assert line.endswith("; pip install 'promptpo[video]'")


def test_without_opengl_mujoco_names_the_packages_and_others_draw_all_the_same(
    policy, tmp_path_factory
):
    env = broken(tmp_path_factory.mktemp("broken"), "OpenGL")
    env.pop("MUJOCO_GL", None)
    line = refusal(
        policy, "policy.py", "--spec", "mujoco_halfcheetah", "--episodes", "1", code=3, env=env
    )
    assert line.startswith("MuJoCo cannot draw: no EGL and no OSMesa here; install the packages")
    done = video(policy, "policy.py", *CARTPOLE, "--episodes", "1", env=env)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_goes_wrong_while_it_plays_is_one_line(policy):
    dying = own_cartpole(
        (
            '    return gymnasium.make("CartPole-v1", disable_env_checker=True)',
            '    env = gymnasium.make("CartPole-v1", disable_env_checker=True)\n'
            "    import os\n\n"
            "    env.unwrapped.step = lambda action: os._exit(3)\n"
            "    return env",
        )
    )
    (policy / "dying.py").write_text(dying)
    line = refusal(policy, "policy.py", "--spec", "dying.py", "--episodes", "1", code=1)
    assert line.startswith("the drawing process ended early: ")
    (policy / "policy.py").write_text("class Policy:\n    def act(self, obs:\n        return 0\n")
    line = refusal(policy, "policy.py", *CARTPOLE, code=1)
    assert line.startswith("policy.py:2: the policy failed: this is not valid Python")
