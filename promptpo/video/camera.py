"""Pictures of a live environment: MuJoCo's scenes by MuJoCo, others by their own ``render()``.

Environments are built without a render mode, so that a filmed episode is the scored one, step by
step. Drawing only reads: neither MuJoCo's physics nor its state is changed.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from promptpo.errors import SpecError

if TYPE_CHECKING:
    from PIL.Image import Image

    from promptpo.spec import Env

#: Takes one picture.
Camera = Callable[[], "Image"]
#: MuJoCo's MjModel, MjData and MjvScene, which have no type stubs.
Model: TypeAlias = Any
Data: TypeAlias = Any
Scene: TypeAlias = Any

#: Width and height in pixels of MuJoCo's pictures.
_SIZE = (640, 480)
#: Environments that draw less than this many pixels wide are shown at twice their size.
_SMALL = 400

#: OpenGL libraries that draw without a display, in the order of preference: what ``MUJOCO_GL``
#: calls them, and the Debian packages of each.
PACKAGES = {"egl": "libegl1 libegl-mesa0 libgl1-mesa-dri", "osmesa": "libosmesa6"}
_TRY = "import mujoco; c = mujoco.GLContext(16, 16); c.make_current(); print('drawn', flush=True)"
#: Environments that draw with pygame need no display and no sound either.
_QUIET = {
    "SDL_VIDEODRIVER": "dummy",
    "SDL_AUDIODRIVER": "dummy",
    "PYGAME_HIDE_SUPPORT_PROMPT": "1",
}

#: Free cameras, by the start of the environment's module: the point that it looks at, distance in
#: m, azimuth (90 looks along +y) and elevation (-90: straight down) in degrees. Other environments
#: are seen by their model's own camera ``track``, else as MuJoCo shows a whole model.
_VIEWS: Mapping[str, tuple[tuple[float, float, float] | None, float, float, float]] = {
    # Meta-World's own corner cameras are upside down, and see the task from behind.
    "metaworld.": ((0.0, 0.66, 0.11), 1.4, 150.0, -28.0),
    "gymnasium_robotics.envs.maze.": (None, 0.0, 90.0, -75.0),
    "gymnasium.envs.mujoco.reacher": ((0.0, 0.0, 0.0), 0.62, 90.0, -90.0),
    "gymnasium.envs.mujoco.inverted_double_pendulum": ((0.0, 0.0, 0.55), 2.6, 90.0, -8.0),
    "gymnasium.envs.mujoco.inverted_pendulum": ((0.0, 0.0, 0.25), 2.2, 90.0, -8.0),
}


@dataclass(frozen=True)
class Drawing:
    """Environment variables for a process that draws; ``trouble``: why MuJoCo cannot draw."""

    variables: Mapping[str, str]
    trouble: str = ""


def choose_library(environ: Mapping[str, str], platform: str = sys.platform) -> Drawing:
    """Return what draws on this machine without a display: EGL or OSMesa.

    MuJoCo decides once, when it is imported, and a wrong decision ends the process. So each is
    tried in a process of its own. A ``MUJOCO_GL`` that is set is the only one tried. macOS draws by
    its own means.
    """
    asked = environ.get("MUJOCO_GL", "")
    if platform == "darwin" and not asked:
        return Drawing(_QUIET)
    for name in [asked] if asked else PACKAGES:
        variables = {"MUJOCO_GL": name}
        if name in PACKAGES:
            variables["PYOPENGL_PLATFORM"] = name
        if _draws(frozenset({**environ, **variables}.items())):
            return Drawing({**_QUIET, **variables})
    reason = f"MUJOCO_GL={asked} does not work here" if asked else "no EGL and no OSMesa here"
    packages = " or ".join(f"{packages} ({name})" for name, packages in PACKAGES.items())
    unset = "unset MUJOCO_GL, or " if asked else ""
    trouble = f"MuJoCo cannot draw: {reason}; {unset}install the packages {packages}"
    # With this, MuJoCo can at least be imported.
    return Drawing({**_QUIET, "MUJOCO_GL": "disabled"}, trouble)


@cache
def _draws(environ: frozenset[tuple[str, str]]) -> bool:
    """Try whether MuJoCo can make an OpenGL context in a process with this environment."""
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter and words
            [sys.executable, "-c", _TRY],
            env=dict(environ), capture_output=True, timeout=60, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return False
    # Some drivers crash when the process ends, after all has been drawn.
    return b"drawn" in done.stdout


def require_pictures(env: Env, where: str) -> None:
    """Raise SpecError for an environment that has neither a MuJoCo scene nor pictures of its own.

    ``where`` names its spec.
    """
    modes = (getattr(env, "metadata", None) or {}).get("render_modes", ())
    if "rgb_array" not in modes and _mujoco_scene(env) is None:
        raise SpecError(
            f"{where}: the environment draws nothing; `promptpo report RUN` shows the trajectories"
            " of a run"
        )


def picture_rate(env: Env) -> float:
    """Return the steps a second at the environment's own pace; 30 where it does not say."""
    metadata: Mapping[str, Any] = getattr(env, "metadata", None) or {}
    return float(metadata.get("render_fps") or 30.0)


def open_camera(
    env: Env, *, size: tuple[int, int] | None, high: bool, trouble: str = "", where: str = "spec"
) -> Camera:
    """Return a camera for a built environment, before its first reset.

    ``size`` is (width, height) in pixels: of MuJoCo's pictures, and the box that other ones are
    scaled into; None: 640 x 480, and as large as they come. ``high`` draws shadows and smooth
    edges. ``trouble`` is why MuJoCo cannot draw on this machine, if it cannot. Raises SpecError
    where the environment cannot be drawn.
    """
    require_pictures(env, where)
    scene = _mujoco_scene(env)
    if scene is None:
        return _own_camera(env, size, where)
    if trouble:
        raise SpecError(trouble)
    return _scene_camera(*scene, type(env.unwrapped).__module__, size or _SIZE, high=high)


def _mujoco_scene(env: Env) -> tuple[Any, Any] | None:
    """Return model and data of an environment, or of the one that it holds as ``point_env``."""
    inner = env.unwrapped
    for candidate in (inner, getattr(inner, "point_env", None)):
        model, data = getattr(candidate, "model", None), getattr(candidate, "data", None)
        if type(model).__name__ == "MjModel" and type(data).__name__ == "MjData":
            return model, data
    return None


def _own_camera(env: Env, size: tuple[int, int] | None, where: str) -> Camera:
    from gymnasium.error import DependencyNotInstalled
    from PIL import Image

    env.unwrapped.render_mode = "rgb_array"

    def take() -> Image.Image:
        try:
            pixels = env.render()
        except (DependencyNotInstalled, ImportError) as error:
            remedy = "pip install 'promptpo[video]'"
            raise SpecError(f"{where}: drawing it needs pygame ({error}); {remedy}") from None
        if getattr(pixels, "ndim", 0) != 3 or pixels.shape[2] != 3:
            raise SpecError(
                f"{where}: render() returned {type(pixels).__name__}, not an array of shape"
                " (height, width, 3)"
            )
        picture = Image.fromarray(pixels)
        factor = 2.0 if picture.width < _SMALL else 1.0
        if size is not None:
            factor = min(size[0] / picture.width, size[1] / picture.height)
        box = max(1, round(picture.width * factor)), max(1, round(picture.height * factor))
        same = box == picture.size
        return picture if same else picture.resize(box, Image.Resampling.LANCZOS)

    return take


def _scene_camera(
    model: Model,
    data: Data,
    module: str,
    size: tuple[int, int],
    *,
    high: bool,
) -> Camera:
    """Return a camera for a model of MuJoCo; to be called once for it."""
    import mujoco
    from PIL import Image

    width, height = size
    visual = model.vis
    visual.global_.offwidth, visual.global_.offheight = width, height
    visual.quality.offsamples = 4 if high else 0
    renderer = mujoco.Renderer(model, height, width)
    for flag in (mujoco.mjtRndFlag.mjRND_SHADOW, mujoco.mjtRndFlag.mjRND_REFLECTION):
        renderer.scene.flags[flag] = high
    start = max((start for start in _VIEWS if module.startswith(start)), key=len, default=None)
    follows = start is None and "track" in [model.camera(i).name for i in range(model.ncam)]
    camera: Any = "track" if follows else -1
    if start is not None:
        camera = mujoco.MjvCamera()
        camera.type = mujoco.mjtCamera.mjCAMERA_FREE
        lookat, distance, camera.azimuth, camera.elevation = _VIEWS[start]
        camera.lookat[:] = model.stat.center if lookat is None else lookat
        camera.distance = distance or 1.3 * model.stat.extent

    def take() -> Image.Image:
        renderer.update_scene(data, camera)
        if follows:
            _move_floor(renderer.scene, model)
        return Image.fromarray(renderer.render())

    return take


def _move_floor(scene: Scene, model: Model) -> None:
    """Move the drawn floor below the camera by whole tiles: runners leave the 40 m that it has."""
    import mujoco

    for geom in scene.geoms[: scene.ngeom]:
        if geom.type != mujoco.mjtGeom.mjGEOM_PLANE or min(geom.size[:2]) <= 0:
            continue
        material = model.geom_matid[geom.objid]
        for axis in (0, 1):
            tile = 1.0
            if material >= 0:
                repeat = model.mat_texrepeat[material][axis] or 1.0
                uniform = model.mat_texuniform[material]
                tile = (1.0 if uniform else 2.0 * geom.size[axis]) / repeat
            away = scene.camera[0].pos[axis] - geom.pos[axis]
            geom.pos[axis] += round(away / tile) * tile
