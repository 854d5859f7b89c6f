"""Which OpenGL library draws where there is no display: EGL or OSMesa, tried in a process apart.

MuJoCo decides once, when it is imported, and a wrong decision ends the process. So what works is
found out first, and told to the process that draws by ``MUJOCO_GL``.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

#: In the order of preference: what ``MUJOCO_GL`` calls them, and the Debian packages of each.
PACKAGES = {
    "egl": "libegl1 libegl-mesa0 libgl1-mesa-dri",
    "osmesa": "libosmesa6",
}
#: With this, MuJoCo can at least be imported where nothing can draw.
_NONE = "disabled"
#: Environments that draw with pygame need no display and no sound either.
_QUIET = {
    "SDL_VIDEODRIVER": "dummy",
    "SDL_AUDIODRIVER": "dummy",
    "PYGAME_HIDE_SUPPORT_PROMPT": "1",
}
_TRY = "import mujoco; c = mujoco.GLContext(16, 16); c.make_current(); print('drawn', flush=True)"
_SECONDS = 60


@dataclass(frozen=True)
class Drawing:
    """Environment variables for a process that draws; ``trouble`` is why MuJoCo cannot, if so."""

    variables: Mapping[str, str]
    trouble: str = ""


def choose(environ: Mapping[str, str], platform: str = sys.platform) -> Drawing:
    """What draws on this machine without a display.

    A ``MUJOCO_GL`` that is set is the only one tried. macOS draws by its own means.
    """
    asked = environ.get("MUJOCO_GL", "")
    if platform == "darwin" and not asked:
        return Drawing(_QUIET)
    for name in [asked] if asked else PACKAGES:
        found = {"MUJOCO_GL": name}
        if name in PACKAGES:
            found["PYOPENGL_PLATFORM"] = name
        if works({**environ, **found}):
            return Drawing({**_QUIET, **found})
    return Drawing({**_QUIET, "MUJOCO_GL": _NONE}, _trouble(asked))


def works(environ: Mapping[str, str]) -> bool:
    """Whether MuJoCo can make an OpenGL context in a process with this environment."""
    return _works(frozenset(environ.items()))


@cache
def _works(environ: frozenset[tuple[str, str]]) -> bool:
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter and words
            [sys.executable, "-c", _TRY],
            env=dict(environ),
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    # Some drivers crash when the process ends, after all has been drawn.
    return b"drawn" in done.stdout


def _trouble(asked: str) -> str:
    what = f"MUJOCO_GL={asked} does not work here" if asked else "no EGL and no OSMesa here"
    remedy = " or ".join(f"{packages} ({name})" for name, packages in PACKAGES.items())
    unset = "unset MUJOCO_GL, or " if asked else ""
    return f"MuJoCo cannot draw: {what}; {unset}install the packages {remedy}"
