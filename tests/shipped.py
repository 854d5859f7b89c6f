"""The shipped specs as test parameters; those that cannot run on this machine are skipped."""

import os
import subprocess
import sys
from functools import cache

import pytest
from processes import command

from promptpo.spec import shipped_specs
from promptpo.spec.catalog import expanded

#: Whether tests go through all that are alike.
EVERY = bool(os.environ.get("EVERY_MEMBER"))


@cache
def sumo_loads() -> bool:
    """SUMO's wheels need libraries of the system, which a minimal one lacks."""
    command = [sys.executable, "-c", "import libsumo"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


needs_sumo = pytest.mark.skipif(
    not sumo_loads(),
    reason="SUMO does not load here: apt install libx11-6 libxext6 libxrender1 libgl1 libatomic1",
)


def checked_without(package, spec, folder):
    """What `promptpo check SPEC` comes to where a package is missing, in every process of it."""
    missing = f"raise ModuleNotFoundError('it is not installed', name={package!r})\n"
    (folder / f"{package}.py").write_text(missing)
    return command("check", "--quick", spec, first=[folder])


def shipped() -> list[object]:
    """Return the name of every shipped spec, as a parameter."""
    return [
        pytest.param(name, marks=[needs_sumo] if name == "traffic" else [])
        for name in shipped_specs()
    ]


def kinds() -> list[object]:
    """Return the shipped specs of which no other has the same machinery, or all of them."""
    seen: dict[str, object] = {}
    alike = ("metaworld_", "mujoco_", "noise_world_", "pointmaze_")
    for name, parameter in zip(shipped_specs(), shipped(), strict=True):
        kind = next((family for family in alike if name.startswith(family)), name)
        seen.setdefault(name if EVERY else kind, parameter)
    return [*seen.values()]


def members() -> list[str]:
    """Return members of families: a sample, or all of them where EVERY_MEMBER is set."""
    every = list(expanded(["metaworld:", "minigrid:"]))
    return every if EVERY else every[::15]
