"""MuJoCo's pictures: EGL and OSMesa, the first of them that works, and what films show."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from video_player import Clip

import promptpo
from promptpo.video import Options, Watcher, render_policy
from promptpo.video.camera import PACKAGES, choose_library

ROOT = str(Path(promptpo.__file__).parents[1])
CLEAN = {k: v for k, v in os.environ.items() if k not in ("MUJOCO_GL", "PYOPENGL_PLATFORM")}

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

#: Draws a runner at the start and far beyond the 40 m of floor; prints the share that differs.
FLOOR = """
import mujoco
import numpy as np
from promptpo.spec import Task, load_spec
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
print((np.abs(pictures[0] - pictures[1]).max(axis=2) > 60).mean(), flush=True)
"""


def run(code, environ):
    """What a program prints; it may crash at its end, as some drivers do."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=False, env={"PYTHONPATH": ROOT, **environ}, capture_output=True, timeout=120,
    )  # fmt: skip
    assert done.stdout, done.stderr
    return done.stdout.split()[0]


def variables(backend=None):
    """Those that draw, where the machine can."""
    asked = {"MUJOCO_GL": backend} if backend else {}
    drawing = choose_library({**CLEAN, **asked})
    if drawing.trouble:
        pytest.skip(f"needs the packages {PACKAGES[backend or 'egl']}")
    return drawing.variables


@pytest.mark.slow
def test_egl_comes_first_and_osmesa_where_it_does_not_work(tmp_path):
    variables("egl")
    assert variables()["MUJOCO_GL"] == "egl"
    variables("osmesa")
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys\n"
        "if os.environ.get('MUJOCO_GL') == 'egl':\n"
        "    sys.modules['OpenGL.EGL'] = sys.modules['mujoco.egl'] = None\n"
    )
    chosen = choose_library({**CLEAN, "PYTHONPATH": str(tmp_path)})
    assert chosen.variables["MUJOCO_GL"] == "osmesa"


@pytest.mark.slow
def test_no_library_is_one_line_and_mujoco_can_be_imported(tmp_path):
    (tmp_path / "OpenGL").mkdir()
    (tmp_path / "OpenGL" / "__init__.py").write_text("raise ImportError('cannot open libGL')\n")
    without_opengl = {**CLEAN, "PYTHONPATH": os.pathsep.join([str(tmp_path), ROOT])}
    drawing = choose_library(without_opengl)
    packages = "libegl1 libegl-mesa0 libgl1-mesa-dri (egl) or libosmesa6 (osmesa)"
    assert drawing.trouble == (
        f"MuJoCo cannot draw: no EGL and no OSMesa here; install the packages {packages}"
    )
    code = "import mujoco; print(mujoco.__version__)"
    run(code, {**without_opengl, **drawing.variables})
    asked = choose_library({**without_opengl, "MUJOCO_GL": "osmesa"})
    assert "MUJOCO_GL=osmesa does not work here; unset MUJOCO_GL, or install" in asked.trouble
    assert "MUJOCO_GL" not in choose_library(CLEAN, platform="darwin").variables


class Warnings(Watcher):
    def __init__(self):
        self.lines = []

    def warning(self, line):
        self.lines.append(line)


def film(tmp_path, name, horizon, actions, **options):
    """The best of two short episodes under random actions."""
    spec, policy = tmp_path / f"short_{name}.py", tmp_path / "policy.py"
    spec.write_text(SHORT.format(name=name, horizon=horizon))
    policy.write_text(RANDOM.format(size=actions))
    settings = {"spec": str(spec), "test_episodes": 2, "workers": 1}
    warnings = Warnings()
    chosen = Options(episodes=("best",), **options)
    (file,) = render_policy(policy, chosen, settings=settings, watcher=warnings)
    assert warnings.lines == []
    return Clip(file)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["egl", "osmesa"])
def test_each_library_films_where_it_is_asked_for(backend, tmp_path, monkeypatch):
    chosen = variables(backend)
    assert chosen["MUJOCO_GL"] == chosen["PYOPENGL_PLATFORM"] == backend
    assert chosen["SDL_VIDEODRIVER"] == chosen["SDL_AUDIODRIVER"] == "dummy"
    monkeypatch.setenv("MUJOCO_GL", backend)
    monkeypatch.delenv("PYOPENGL_PLATFORM", raising=False)
    clip = film(tmp_path, "mujoco_halfcheetah", 20, 6)
    assert (clip.width, clip.height) == (640, 554)
    assert clip.duration == pytest.approx(20 / 20 + 1.0, abs=0.05)
    first, last = clip.pictures[0][:-80], clip.pictures[-1][:-80]
    assert first.std() > 20
    assert (np.abs(first.astype(int) - last).max(axis=2) > 60).mean() > 0.005


@pytest.mark.slow
def test_meta_world_in_both_qualities(tmp_path):
    variables()
    pictures = []
    for quality in ("fast", "high"):
        (tmp_path / quality).mkdir()
        clip = film(tmp_path / quality, "metaworld_reach", 4, 4, size=(320, 240), quality=quality)
        assert clip.width == 320
        pictures.append(clip.pictures[0][:240].astype(float))
    # The table lies below the background: the picture is not upside down.
    warm = pictures[0][..., 0] - pictures[0][..., 2]
    assert warm[150:240, 80:240].mean() > warm[:60, 160:].mean() + 15
    assert (np.abs(pictures[0] - pictures[1]).max(axis=2) > 20).mean() > 0.005


def test_the_floor_goes_along_with_a_runner():
    assert float(run(FLOOR, {**CLEAN, **variables()})) < 0.02
