"""One-line explanations of exceptions that a spec's own code or its environment raised."""

from __future__ import annotations

import traceback
from pathlib import Path

from promptpo.spec.running.guard import ProcessExit, TookTooLong

#: What brings a missing module, where the name on PyPI is another or an extra is needed.
_PIP_NAMES = {
    "mujoco": "gymnasium[mujoco]",
    "Box2D": "gymnasium[box2d]",
    "ale_py": "gymnasium[atari]",
    "pygame": "gymnasium[classic-control]",
    "gymnasium_robotics": "gymnasium-robotics",
    "libsumo": "libsumo",
    "yaml": "PyYAML",
    "cv2": "opencv-python",
    "sklearn": "scikit-learn",
}


def one_line(error: BaseException, limit: int = 300) -> str:
    """Return type and message of an exception on one line."""
    if isinstance(error, ProcessExit | TookTooLong):
        return str(error)
    if isinstance(error, SystemExit):
        return f"sys.exit({'' if error.code is None else repr(error.code)}) was called"
    try:
        text = " ".join(str(error).split())
    except Exception:  # its own __str__ raised
        text = ""
    text = text if len(text) <= limit else f"{text[:limit]}..."
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def line_in(error: BaseException, path: Path) -> int | None:
    """Line of ``path`` at which an exception arose, the innermost one; None if not in the file."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    return lines[-1] if lines else None


def explain(error: BaseException, path: Path, install: str = "") -> tuple[str, str]:
    """Return ``file:line`` and ``problem; remedy`` for an exception of a spec or its environment.

    ``install`` is what the spec itself says brings its packages.
    """
    line = line_in(error, path)
    where = f"{path}:{line}" if line else str(path)
    if isinstance(error, SyntaxError):
        where = f"{error.filename or path}:{error.lineno or 1}"
        return where, f"{type(error).__name__}: {error.msg}; correct the line"
    if isinstance(error, ModuleNotFoundError) and error.name:
        return where, _missing(error.name, path, install)
    if install and type(error).__name__ == "DependencyNotInstalled":
        return where, f"{one_line(error)}; run: pip install '{install}'"
    return where, one_line(error)


def _missing(module: str, path: Path, install: str) -> str:
    """Return problem and remedy for a module that cannot be imported."""
    if module.startswith("promptpo_specs_"):
        helper = module.rpartition(".")[2]
        return f"there is no module {helper!r} beside this spec; put {helper}.py in {path.parent}"
    top = module.partition(".")[0]
    name = install or _PIP_NAMES.get(top, top)
    return f"the package {top!r} is not installed; run: pip install '{name}'"
