"""What two machines must have in common for their episodes to be the same."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TypedDict

import sandbox
from promptpo.version import __version__

#: Packages that episodes are made with; those of an extra count where both machines have them.
_PACKAGES = ("numpy", "scipy", "gymnasium", "mujoco", "metaworld", "RestrictedPython", "minigrid",
             "gymnasium-robotics", "Box2D", "box2d", "eclipse-sumo")  # fmt: skip


class Likeness(TypedDict):
    """What a machine has. ``code`` is a digest of promptpo's own; empty where any will do."""

    promptpo: str
    code: str
    packages: dict[str, str]


def likeness() -> Likeness:
    """What this machine has."""
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return Likeness(promptpo=__version__, code=_code(), packages=found)


def difference(here: Likeness, there: Likeness) -> str:
    """What ``there`` has to be given to be as ``here``, in words; empty where it is."""
    if there["promptpo"] != here["promptpo"]:
        words = f"it has promptpo {there['promptpo']}, and this run needs {here['promptpo']}"
        return f"{words}; run there: pip install promptpo=={here['promptpo']}"
    if here["code"] and there["code"] != here["code"]:
        return (
            "its promptpo is of the same version and has other code; install there what is"
            " installed here"
        )
    for name, wanted in here["packages"].items():
        found = there["packages"].get(name, wanted)
        if found != wanted:
            words = f"it has {name} {found}, and this run needs {wanted}"
            return f"{words}; run there: pip install {name}=={wanted}"
    return ""


def kernel_choices() -> dict[str, str]:
    """The variables here that choose numeric kernels: with others, last bits may differ."""
    return {name: os.environ[name] for name in sandbox.KERNEL_VARIABLES if name in os.environ}


@cache
def _code() -> str:
    digest = hashlib.sha256()
    root = Path(__file__).resolve().parents[3]
    for package in ("promptpo", "sandbox", "env_specs"):
        for file in sorted((root / package).rglob("*.py")):
            digest.update(file.relative_to(root).as_posix().encode() + b"\0")
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
