"""EGL and OSMesa: each draws, the first that works is taken, and none of them is one line."""

import os
import subprocess
import sys

import pytest

from promptpo.video import gl

pytestmark = pytest.mark.slow

CLEAN = {k: v for k, v in os.environ.items() if k not in ("MUJOCO_GL", "PYOPENGL_PLATFORM")}

#: Draws a red ball, and prints the share of red pixels.
DRAW = """
import mujoco
model = mujoco.MjModel.from_xml_string(
    '<mujoco><worldbody><light pos="0 0 4"/><geom size="1" rgba="1 0 0 1"/></worldbody></mujoco>'
)
data = mujoco.MjData(model)
mujoco.mj_forward(model, data)
renderer = mujoco.Renderer(model, 64, 64)
renderer.update_scene(data)
picture = renderer.render().astype(int)
print("red", ((picture[..., 0] > 40) & (picture[..., 1] < 20)).mean(), flush=True)
"""


def environ_of(backend):
    return {**CLEAN, "MUJOCO_GL": backend, "PYOPENGL_PLATFORM": backend}


def run(code, environ):
    return subprocess.run(
        [sys.executable, "-c", code], check=False, env=environ, capture_output=True, timeout=120
    )


def available(backend):
    if not gl.works(environ_of(backend)):
        pytest.skip(f"needs the packages {gl.PACKAGES[backend]}")


@pytest.fixture
def without_opengl(tmp_path):
    """An environment in which loading any OpenGL library fails, as where none is installed."""
    package = tmp_path / "OpenGL"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('cannot open libGL')\n")
    return {**CLEAN, "PYTHONPATH": str(tmp_path)}


@pytest.mark.parametrize("backend", ["egl", "osmesa"])
def test_each_library_draws(backend):
    available(backend)
    done = run(DRAW, environ_of(backend))
    word, share = done.stdout.split()[:2]
    assert word == b"red"
    assert float(share) > 0.05


@pytest.mark.parametrize("backend", ["egl", "osmesa"])
def test_what_is_asked_for_is_taken(backend):
    available(backend)
    found = gl.choose({**CLEAN, "MUJOCO_GL": backend})
    assert found.variables["MUJOCO_GL"] == found.variables["PYOPENGL_PLATFORM"] == backend
    assert not found.trouble


def test_egl_comes_first():
    available("egl")
    assert gl.choose(CLEAN).variables["MUJOCO_GL"] == "egl"


def test_osmesa_is_taken_where_egl_does_not_work(tmp_path):
    available("osmesa")
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys\n"
        "if os.environ.get('MUJOCO_GL') == 'egl':\n"
        "    sys.modules['OpenGL.EGL'] = sys.modules['mujoco.egl'] = None\n"
    )
    found = gl.choose({**CLEAN, "PYTHONPATH": str(tmp_path)})
    assert found.variables["MUJOCO_GL"] == "osmesa"


def test_none_of_them_is_one_line_with_the_packages(without_opengl):
    found = gl.choose(without_opengl)
    assert found.trouble == (
        "MuJoCo cannot draw: no EGL and no OSMesa here; install the packages"
        " libegl1 libegl-mesa0 libgl1-mesa-dri (egl) or libosmesa6 (osmesa)"
    )


def test_mujoco_can_be_imported_where_nothing_draws(without_opengl):
    variables = gl.choose(without_opengl).variables
    code = "import mujoco; print(mujoco.__version__)"
    done = run(code, {**without_opengl, **variables})
    assert done.returncode == 0, done.stderr


def test_a_library_asked_for_that_fails_is_named(without_opengl):
    found = gl.choose({**without_opengl, "MUJOCO_GL": "osmesa"})
    assert found.trouble.startswith("MuJoCo cannot draw: MUJOCO_GL=osmesa does not work here;")
    assert "unset MUJOCO_GL, or install the packages" in found.trouble


def test_pygame_gets_no_display_and_no_sound():
    variables = gl.choose(CLEAN).variables
    assert variables["SDL_VIDEODRIVER"] == variables["SDL_AUDIODRIVER"] == "dummy"


def test_macos_draws_by_its_own_means():
    assert "MUJOCO_GL" not in gl.choose(CLEAN, platform="darwin").variables
