"""Pictures of a live environment: MuJoCo's scenes by ``scene``, others by themselves.

Environments are built without a render mode, so that a filmed episode is the scored one, step by
step. Drawing only reads: MuJoCo's state is not touched, and what an environment draws of itself is
what its ``render()`` returns in the mode ``rgb_array``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from promptpo.errors import SpecError

if TYPE_CHECKING:
    from PIL.Image import Image

    from promptpo.spec import Env

#: Takes one picture.
Camera = Callable[[], "Image"]

#: Width and height in pixels of what has no size of its own.
PICTURE_SIZE = (640, 480)
#: Environments that draw less than this many pixels wide are shown at twice their size.
_SMALL = 400


def open_camera(
    env: Env, *, size: tuple[int, int] | None, high: bool, trouble: str = "", where: str = "spec"
) -> Camera:
    """A camera for a built environment, before its first reset.

    ``size`` is (width, height) in pixels: of MuJoCo's pictures, and the box that other ones are
    scaled into; None: 640 x 480, and as large as they come. ``high`` draws shadows and smooth
    edges. ``trouble`` is why MuJoCo cannot draw on this machine, if it cannot.

    To be used where ``draws_itself``. Raises SpecError where it cannot be drawn after all.
    """
    scene = _mujoco_scene(env)
    if scene is not None:
        if trouble:
            raise SpecError(trouble)
        from promptpo.video.scene import scene_camera

        module = type(env.unwrapped).__module__
        return scene_camera(*scene, module, size or PICTURE_SIZE, high=high)
    return _own_camera(env, size, where)


def draws_itself(env: Env) -> bool:
    """Whether there is something to point a camera at: a MuJoCo scene, or pictures of its own."""
    modes = (getattr(env, "metadata", None) or {}).get("render_modes", ())
    return "rgb_array" in modes or _mujoco_scene(env) is not None


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


def _own_camera(env: Env, size: tuple[int, int] | None, where: str) -> Camera:
    from PIL import Image

    inner = env.unwrapped
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
            f"{where}: drawing it needs pygame ({error}); pip install 'promptpo[video]'"
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
