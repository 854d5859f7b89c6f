"""promptpo, or Python, in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import promptpo

ROOT = Path(promptpo.__file__).parents[1]


def environment(*first, **changes):
    """Variables of a process that imports promptpo from here, and before that from ``first``."""
    path = os.pathsep.join(map(str, (*first, ROOT)))
    return {**os.environ, "PYTHONPATH": path, "PROMPTPO_MODEL": "", **changes}


def python(*arguments, first=(), cwd=None, **changes):
    """Python run to its end, with variables changed."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        check=False, cwd=cwd, env=environment(*first, **changes), capture_output=True, text=True,
        timeout=120,
    )  # fmt: skip


def command(*arguments, **how):
    """``promptpo ARGUMENTS``, run to its end."""
    return python("-m", "promptpo", *arguments, **how)


def started(*arguments, cwd=None, **how):
    """``promptpo ARGUMENTS``, begun, with pipes for what it says."""
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    argv = [sys.executable, "-m", "promptpo", *map(str, arguments)]
    return subprocess.Popen(argv, cwd=cwd, text=True, **{"env": environment()} | pipes | how)


def install(package, target):
    """Have pip build the package of a folder and install it into another one."""
    pip = ("pip", "install", "-q", "--no-deps", "--no-index", "--no-build-isolation", "--target")
    subprocess.run([sys.executable, "-m", *pip, target, package], check=True, capture_output=True)
    return target


def pretend_installed(site, name, version, group, points, **modules):
    """Another package in ``site``, written as pip leaves one: entry points and modules."""
    metadata = site / f"{name.replace('-', '_')}-{version}.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (metadata / "entry_points.txt").write_text(f"[{group}]\n{points}\n")
    for module, text in modules.items():
        (site / f"{module}.py").write_text(text)
