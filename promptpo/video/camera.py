"""Pictures of a live environment: MuJoCo's scenes by a renderer of our own, others by themselves.

Environments are built without a render mode, so that a filmed episode is the scored one, step by
step. Drawing only reads: MuJoCo's state is not touched, and what an environment draws of itself is
what its ``render()`` returns in the mode ``rgb_array``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from promptpo.errors import SpecError

if TYPE_CHECKING:
    from PIL.Image import Image

    from promptpo.spec import Env

#: Takes one picture.
Camera = Callable[[], "Image"]

#: Width and height of what MuJoCo draws, in pixels.
MUJOCO_SIZE = (640, 480)
#: Environments that draw less than this many pixels wide are shown at twice their size.
_SMALL = 400


@dataclass(frozen=True)
class View:
    """A free camera: the point that it looks at, distance in m, azimuth and elevation in degrees.

    Azimuth 90 looks along +y, elevation -90 straight down.
    """

    lookat: tuple[float, float, float]
    distance: float
    azimuth: float = 90.0
    elevation: float = -10.0


#: By the start of the environment's module; the longest one that fits counts. Where none does, the
#: model's own camera ``track`` is taken, else MuJoCo's view of the whole model.
VIEWS: Mapping[str, View] = {
    # Meta-World's own corner cameras are upside down, and see the task from behind.
    "metaworld.": View((0.0, 0.66, 0.11), 1.4, 150.0, -28.0),
    "gymnasium.envs.mujoco.reacher": View((0.0, 0.0, 0.0), 0.62, 90.0, -90.0),
    "gymnasium.envs.mujoco.inverted_double_pendulum": View((0.0, 0.0, 0.55), 2.6, 90.0, -8.0),
    "gymnasium.envs.mujoco.inverted_pendulum": View((0.0, 0.0, 0.25), 2.2, 90.0, -8.0),
}


def open_camera(
    env: Env, *, size: tuple[int, int] | None, high: bool, trouble: str = "", where: str = "spec"
) -> Camera:
    """A camera for a built environment, before its first reset.

    ``size`` is (width, height) in pixels: of MuJoCo's pictures, and the box that other ones are
    scaled into; None: 640 x 480, and as large as they come. ``high`` draws shadows and smooth
    edges. ``trouble`` is why MuJoCo cannot draw on this machine, if it cannot.

    Raises SpecError where the environment cannot be drawn.
    """
    scene = _mujoco_scene(env)
    if scene is not None:
        if trouble:
            raise SpecError(trouble)
        return _mujoco_camera(*scene, _view_of(env), size or MUJOCO_SIZE, high)
    return _own_camera(env, size, where)


def picture_rate(env: Env) -> float:
    """Steps a second at the environment's own pace; 30 where it does not say."""
    metadata: Mapping[str, Any] = getattr(env, "metadata", None) or {}
    return float(metadata.get("render_fps") or 30.0)


def _mujoco_scene(env: Env) -> tuple[Any, Any] | None:
    """Model and data of an environment, or of the one that it holds as ``point_env``."""
    inner = env.unwrapped
    for candidate in (inner, getattr(inner, "point_env", None)):
        model, data = getattr(candidate, "model", None), getattr(candidate, "data", None)
        if type(model).__name__ == "MjModel" and type(data).__name__ == "MjData":
            return model, data
    return None


def _view_of(env: Env) -> View | None:
    module = type(env.unwrapped).__module__
    fitting = [start for start in VIEWS if module.startswith(start)]
    return VIEWS[max(fitting, key=len)] if fitting else None


def _mujoco_camera(
    model: Any,  # noqa: ANN401 - mujoco.MjModel
    data: Any,  # noqa: ANN401 - mujoco.MjData
    view: View | None,
    size: tuple[int, int],
    high: bool,
) -> Camera:
    import mujoco
    from PIL import Image

    width, height = size
    visual = model.vis
    visual.global_.offwidth, visual.global_.offheight = width, height
    visual.quality.offsamples = 4 if high else 0
    renderer = mujoco.Renderer(model, height, width)
    renderer.scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = high
    camera = _free_camera(view) if view else _model_camera(model)

    def take() -> Image.Image:
        renderer.update_scene(data, camera)
        return Image.fromarray(renderer.render())

    return take


def _free_camera(view: View) -> Any:  # noqa: ANN401 - mujoco.MjvCamera
    import mujoco

    camera = mujoco.MjvCamera()
    camera.type = mujoco.mjtCamera.mjCAMERA_FREE
    camera.lookat[:] = view.lookat
    camera.distance, camera.azimuth, camera.elevation = view.distance, view.azimuth, view.elevation
    return camera


def _model_camera(model: Any) -> Any:  # noqa: ANN401 - mujoco.MjModel
    names = [model.camera(i).name for i in range(model.ncam)]
    return "track" if "track" in names else -1


def _own_camera(env: Env, size: tuple[int, int] | None, where: str) -> Camera:
    from PIL import Image

    inner = env.unwrapped
    modes = (getattr(env, "metadata", None) or {}).get("render_modes", ())
    if "rgb_array" not in modes:
        raise SpecError(
            f"{where}: {type(inner).__name__} cannot draw itself; give it 'rgb_array' in"
            ' metadata["render_modes"], and a render() that returns the picture'
        )
    inner.render_mode = "rgb_array"

    def take() -> Image.Image:
        return scaled(Image.fromarray(_rendered(env, where)), size)

    return take


def _rendered(env: Env, where: str) -> Any:  # noqa: ANN401 - an array of pixels
    from gymnasium.error import DependencyNotInstalled

    try:
        pixels = env.render()
    except (DependencyNotInstalled, ImportError) as error:
        raise SpecError(
            f"{where}: drawing it needs a package: {error};"
            " pip install 'promptpo[video]' 'gymnasium[classic-control,toy-text]'"
        ) from None
    if getattr(pixels, "ndim", 0) != 3 or pixels.shape[2] != 3:
        raise SpecError(
            f"{where}: render() returned {type(pixels).__name__}, not an array of shape"
            " (height, width, 3)"
        )
    return pixels


def scaled(picture: Image, size: tuple[int, int] | None) -> Image:
    """Fitted into ``size`` (its shape kept); without one, doubled where it is small."""
    from PIL import Image

    width, height = picture.size
    if size is not None:
        factor = min(size[0] / width, size[1] / height)
        box = max(1, round(width * factor)), max(1, round(height * factor))
        return picture if box == picture.size else picture.resize(box, Image.Resampling.LANCZOS)
    if width < _SMALL:
        return picture.resize((2 * width, 2 * height), Image.Resampling.LANCZOS)
    return picture
