"""The shipped specs as test parameters; those that cannot run on this machine are skipped."""

import os
import subprocess
import sys
from functools import cache

import pytest

from promptpo.spec import shipped_specs
from promptpo.spec.families import expanded


@cache
def sumo_loads() -> bool:
    """SUMO's wheels need libraries of the system, which a minimal one lacks."""
    command = [sys.executable, "-c", "import libsumo"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


needs_sumo = pytest.mark.skipif(
    not sumo_loads(),
    reason="SUMO does not load here: apt install libx11-6 libxext6 libxrender1 libgl1 libatomic1",
)


def shipped() -> list[object]:
    """Return the name of every shipped spec, as a parameter."""
    return [
        pytest.param(name, marks=[needs_sumo] if name == "traffic" else [])
        for name in shipped_specs()
    ]


def members() -> list[str]:
    """Return members of families: a sample, or all of them where EVERY_MEMBER is set."""
    every = list(expanded(["metaworld:", "minigrid:"]))
    return every if os.environ.get("EVERY_MEMBER") else every[::15]
