"""``promptpo video`` as its users type it: what is printed, what is refused, what is missing."""

import os
import pty
import subprocess

import pytest
import scripted
from own_cartpole import own_cartpole
from processes import command, environment, python, started

from promptpo.cli import main

pytestmark = pytest.mark.slow

CARTPOLE = ("--spec", "cartpole", "--test-episodes", "2", "--workers", "1")
ONE = ("policy.py", *CARTPOLE, "--episodes", "1")


def refusal(done, code):
    """The one line of a command that ends with an error."""
    assert done.returncode == code, done.stderr
    (line,) = [x for x in done.stderr.splitlines() if x.startswith("promptpo: error: ")]
    assert (done.stdout, "Traceback" in done.stderr) == ("", False)
    return line.removeprefix("promptpo: error: ")


def without(module, tmp_path_factory):
    """A folder that keeps a process from importing a module."""
    folder = tmp_path_factory.mktemp("broken")
    (folder / f"{module}.py").write_text(f"raise ImportError('no {module} here')\n")
    return folder


@pytest.fixture
def policy(tmp_path, monkeypatch):
    """A policy in the folder where the test stands."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.py").write_text(scripted.BAD)
    return tmp_path


def test_the_files_of_a_run_or_of_a_policy_that_is_played_first_are_named(finished, policy, capsys):
    words = ("--to", "films", "--format", "gif,mp4", "--episodes", "worst")
    assert main(["video", str(finished), *words]) == 0
    out, err = capsys.readouterr()
    gif, mp4 = out.splitlines()
    assert gif.startswith("films/worst_seed")
    assert (gif[-4:], mp4[-4:], err) == (".gif", ".mp4", "")
    assert all((policy / name).stat().st_size > 1000 for name in (gif, mp4))
    done = command("video", "policy.py", *CARTPOLE)
    assert done.stderr == "playing 2 held-out episodes to choose from\n"
    assert [line[:12] for line in done.stdout.splitlines()] == ["videos/best_", "videos/media"]


@pytest.mark.usefixtures("policy")
def test_a_terminal_sees_a_bar():
    ours, theirs = pty.openpty()
    env = environment(TERM="xterm", COLUMNS="80")
    done = started("video", *ONE, env=env, stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    seen = b""
    while True:
        try:
            seen += os.read(ours, 4096)
        except OSError:  # the other end has closed
            break
    os.close(ours)
    assert done.wait(60) == 0
    assert b"episode" in seen
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


@pytest.mark.usefixtures("policy")
def test_what_cannot_be_is_one_line(capsys):
    for words, (code, line) in REFUSED.items():
        argv = words if words[0][0] != "-" else ("policy.py", *CARTPOLE, *words)
        assert main(["video", *argv]) == code
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith(f"promptpo: error: {line}")
        assert err.count("\n") == 1


@pytest.mark.usefixtures("policy")
def test_what_is_missing_is_named(tmp_path_factory):
    for module in ("PIL", "imageio_ffmpeg"):
        code = (
            f"import sys; sys.modules['{module}'] = None; from promptpo.cli import main;"
            "raise SystemExit(main(['video', *sys.argv[1:]]))"
        )
        line = refusal(python("-c", code, *ONE), 2)
        assert line == "videos need Pillow and imageio-ffmpeg; pip install 'promptpo[video]'"
    line = refusal(command("video", *ONE, IMAGEIO_FFMPEG_EXE="/nowhere/ffmpeg"), 2)
    assert line == "MP4 needs the program ffmpeg; install it, or name it in IMAGEIO_FFMPEG_EXE"
    line = refusal(command("video", *ONE, first=[without("pygame", tmp_path_factory)]), 3)
    assert "cartpole.py: drawing it needs pygame" in line
    assert line.endswith("; pip install 'promptpo[video]'")


@pytest.mark.usefixtures("policy")
def test_without_opengl_mujoco_names_the_packages_and_others_draw_all_the_same(
    tmp_path_factory, monkeypatch
):
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    broken = without("OpenGL", tmp_path_factory)
    words = ("policy.py", "--spec", "mujoco_halfcheetah", "--episodes", "1")
    line = refusal(command("video", *words, first=[broken]), 3)
    assert line.startswith("MuJoCo cannot draw: no EGL and no OSMesa here; install the packages")
    done = command("video", *ONE, first=[broken])
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
    line = refusal(command("video", "policy.py", "--spec", "dying.py", "--episodes", "1"), 1)
    assert line.startswith("the drawing process ended early: ")
    (policy / "policy.py").write_text("class Policy:\n    def act(self, obs:\n        return 0\n")
    line = refusal(command("video", *ONE), 1)
    assert line.startswith("policy.py:2: the policy failed: this is not valid Python")
