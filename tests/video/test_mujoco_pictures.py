"""MuJoCo's environments, filmed with EGL and with OSMesa: same episodes, good pictures."""

import os
from pathlib import Path

import numpy as np
import pytest
from video_player import Player

import promptpo
from promptpo.video import Options, Watcher, gl, render_policy

SHORT = """
from dataclasses import replace

from promptpo.spec import load_spec

SPEC = replace(load_spec({name!r}), horizon={horizon}, name="", path=None)
"""

RANDOM = """
import numpy as np


class Policy:
    def __init__(self):
        self.rng = np.random.default_rng(0)

    def act(self, observation):
        return self.rng.uniform(-1, 1, {size})
"""


class Warnings(Watcher):
    def __init__(self):
        self.lines = []

    def warning(self, line):
        self.lines.append(line)


def film(tmp_path, name, horizon, actions, **options):
    """The best of two short episodes under random actions; its file and the warnings."""
    spec, policy = tmp_path / f"short_{name}.py", tmp_path / "policy.py"
    spec.write_text(SHORT.format(name=name, horizon=horizon))
    policy.write_text(RANDOM.format(size=actions))
    settings = {"spec": str(spec), "test_episodes": 2, "workers": 1}
    warnings = Warnings()
    chosen = Options(episodes=("best",), **options)
    (file,) = render_policy(policy, chosen, settings=settings, watcher=warnings)
    return file, warnings.lines


@pytest.fixture(params=["egl", "osmesa"])
def backend(request, monkeypatch):
    monkeypatch.setenv("MUJOCO_GL", request.param)
    monkeypatch.delenv("PYOPENGL_PLATFORM", raising=False)
    if gl.choose(os.environ).trouble:
        pytest.skip(f"needs the packages {gl.PACKAGES[request.param]}")


def looks_like_something(clip):
    first, last = clip.picture(0.0)[:-80], clip.picture(clip.duration - 0.1)[:-80]
    assert first.std() > 20
    changed = np.abs(first.astype(int) - last).max(axis=2) > 60
    return changed.mean()


@pytest.mark.slow
def test_halfcheetah(player: Player, backend, tmp_path: Path):
    file, warnings = film(tmp_path, "mujoco_halfcheetah", 20, 6)
    assert warnings == []
    with player.open(file) as clip:
        assert (clip.width, clip.height) == (640, 554)
        assert clip.duration == pytest.approx(20 / 20 + 1.0, abs=0.05)
        assert looks_like_something(clip) > 0.005


@pytest.mark.slow
def test_meta_world(player: Player, tmp_path: Path):
    if gl.choose(os.environ).trouble:
        pytest.skip("needs EGL or OSMesa")
    file, warnings = film(tmp_path, "metaworld_reach", 15, 4, size=(320, 240))
    assert warnings == []
    with player.open(file) as clip:
        assert clip.width == 320
        # The table lies below the background: the picture is not upside down.
        picture = clip.picture(0.0)[:240].astype(float)
        warm = picture[..., 0] - picture[..., 2]
        assert warm[150:240, 80:240].mean() > warm[:60, 160:].mean() + 15


@pytest.mark.slow
def test_high_quality_differs(player: Player, tmp_path: Path):
    if gl.choose(os.environ).trouble:
        pytest.skip("needs EGL or OSMesa")
    pictures = []
    for quality in ("fast", "high"):
        folder = tmp_path / quality
        folder.mkdir()
        file, _ = film(folder, "mujoco_halfcheetah", 2, 6, quality=quality)
        with player.open(file) as clip:
            pictures.append(clip.picture(0.0)[:480].astype(int))
    assert (np.abs(pictures[0] - pictures[1]).max(axis=2) > 40).mean() > 0.01


def test_the_floor_goes_along_with_a_runner(tmp_path: Path):
    """Far beyond the 40 m of floor that the model has, a picture looks as at the start."""
    if gl.choose(os.environ).trouble:
        pytest.skip("needs EGL or OSMesa")
    import subprocess
    import sys

    variables = gl.choose(os.environ).variables
    root = str(Path(promptpo.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", FLOOR],
        check=False,
        env={**os.environ, **variables, "PYTHONPATH": root},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.startswith("differ "), done.stderr
    assert float(done.stdout.split()[1]) < 0.02


FLOOR = """
import mujoco
import numpy as np
from promptpo.spec import load_spec
from promptpo.spec import Task
from promptpo.video.camera import open_camera

task = Task.open(load_spec("mujoco_halfcheetah"))
task.reset(0)
take = open_camera(task.env, size=None, high=False)
model, data = task.env.unwrapped.model, task.env.unwrapped.data
pictures = []
for x in (0.0, 800 / 3):  # a whole number of the floor's tiles
    data.qpos[0] = x
    mujoco.mj_forward(model, data)
    pictures.append(np.array(take()).astype(int))
print("differ", (np.abs(pictures[0] - pictures[1]).max(axis=2) > 60).mean(), flush=True)
"""
