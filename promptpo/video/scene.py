"""MuJoCo's scenes: where the camera stands for each family, and what is drawn.

Only the scene is changed for a picture's sake, never the model's physics or its state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import mujoco
from PIL import Image

#: mujoco.MjModel, MjData, MjvScene, MjvCamera: without type stubs.
Model: TypeAlias = Any
Data: TypeAlias = Any
Scene: TypeAlias = Any
FreeCamera: TypeAlias = Any


@dataclass(frozen=True)
class View:
    """A free camera: the point that it looks at, distance in m, azimuth and elevation in degrees.

    Azimuth 90 looks along +y, elevation -90 straight down. Without point and distance it sees the
    whole model.
    """

    lookat: tuple[float, float, float] | None = None
    distance: float | None = None
    azimuth: float = 90.0
    elevation: float = -10.0


#: By the start of the environment's module; the longest one that fits counts. Where none does, the
#: model's own camera ``track`` is taken, else MuJoCo's view of the whole model.
VIEWS: Mapping[str, View] = {
    # Meta-World's own corner cameras are upside down, and see the task from behind.
    "metaworld.": View((0.0, 0.66, 0.11), 1.4, 150.0, -28.0),
    "gymnasium_robotics.envs.maze.": View(elevation=-75.0),
    "gymnasium.envs.mujoco.reacher": View((0.0, 0.0, 0.0), 0.62, 90.0, -90.0),
    "gymnasium.envs.mujoco.inverted_double_pendulum": View((0.0, 0.0, 0.55), 2.6, 90.0, -8.0),
    "gymnasium.envs.mujoco.inverted_pendulum": View((0.0, 0.0, 0.25), 2.2, 90.0, -8.0),
}


def scene_camera(
    model: Model, data: Data, module: str, size: tuple[int, int], *, high: bool
) -> Callable[[], Image.Image]:
    """A camera for an environment of ``module``; ``size`` is (width, height) in pixels.

    ``high``: with shadows, reflections and smooth edges. To be called once for a model, as it sets
    the size of the off-screen picture.
    """
    width, height = size
    visual = model.vis
    visual.global_.offwidth, visual.global_.offheight = width, height
    visual.quality.offsamples = 4 if high else 0
    renderer = mujoco.Renderer(model, height, width)
    for flag in (mujoco.mjtRndFlag.mjRND_SHADOW, mujoco.mjtRndFlag.mjRND_REFLECTION):
        renderer.scene.flags[flag] = high
    view = _view_of(module)
    follows = view is None and "track" in [model.camera(i).name for i in range(model.ncam)]
    camera = "track" if follows else _free_camera(model, view) if view else -1

    def take() -> Image.Image:
        renderer.update_scene(data, camera)
        if follows:
            _bring_floor_along(renderer.scene, model)
        return Image.fromarray(renderer.render())

    return take


def _view_of(module: str) -> View | None:
    fitting = [start for start in VIEWS if module.startswith(start)]
    return VIEWS[max(fitting, key=len)] if fitting else None


def _free_camera(model: Model, view: View) -> FreeCamera:
    camera = mujoco.MjvCamera()
    camera.type = mujoco.mjtCamera.mjCAMERA_FREE
    camera.lookat[:] = model.stat.center if view.lookat is None else view.lookat
    camera.distance = view.distance or 1.3 * model.stat.extent
    camera.azimuth, camera.elevation = view.azimuth, view.elevation
    return camera


def _bring_floor_along(scene: Scene, model: Model) -> None:
    """Move the drawn floor below the camera by whole tiles: runners leave the 40 m that it has."""
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
