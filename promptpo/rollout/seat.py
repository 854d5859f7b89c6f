"""The part of a Ray task that runs on a node: the same workers as a local executor's.

Ray sends this module by value, for a node may have no promptpo, or another one: so nothing of it
is imported at the top, and what comes and goes is plain, or pickled where both sides are alike.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import pickle
import shutil
import socket
import tempfile
import time
from collections import OrderedDict
from dataclasses import is_dataclass, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypedDict

#: Begins the names of folders that hold the files of specs.
_PREFIX = "promptpo-seat-"

#: Seconds within which whoever makes one holds it.
_FRESH = 60.0

#: Executors whose environments a process keeps open, the latest ones.
_KEPT = 2


#: Packages that episodes are made with; those of an extra count where both machines have them.
_PACKAGES = ("numpy", "scipy", "gymnasium", "mujoco", "metaworld", "RestrictedPython", "minigrid",
             "gymnasium-robotics", "Box2D", "box2d", "eclipse-sumo")  # fmt: skip


class Likeness(TypedDict):
    """Versions on a machine, which must be equal for episodes to be the same.

    ``code`` is a digest of promptpo's own; empty where any will do.
    """

    promptpo: str
    code: str
    packages: dict[str, str]


class Terms(TypedDict):
    """Facts that each task needs: ``settings`` are pickled; ``spec`` is what errors call it.

    ``key`` names the executor; ``named``: errors say on which node they came up. ``root`` is where
    the spec's own files lie on the driver's machine, empty where they are not sent; ``suffix``
    follows the spec's folder in a reference to it.
    """

    key: str
    named: bool
    alike: Likeness
    settings: bytes
    spec: str
    root: str
    suffix: str
    kernels: dict[str, str]
    kernel_names: tuple[str, ...]


def answer(
    terms: Terms,
    files: dict[str, bytes] | None,
    job: bytes,
    names: list[str],
    *contents: Any,  # noqa: ANN401
) -> bytes | str:
    """Return ("done", answer) or ("raised", exception) of a job, pickled; or why it cannot be done.

    ``names`` are fields of the job that were sent once for many jobs: ``data`` is the content of
    the file that the field names, others are as they are.
    """
    if problem := _difference(terms):
        return f"{_where()}: {problem}"
    seat = _seat(terms, files)
    asked = pickle.loads(job)  # noqa: S301 - of the driver
    parcels = dict(zip(names, contents, strict=True))
    data = parcels.pop("data", None)
    asked = replace(asked, **parcels) if parcels else asked
    if data is None:
        return seat.answer(asked)
    with tempfile.NamedTemporaryFile(prefix=_PREFIX) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(memoryview(data))
        file.flush()
        return seat.answer(replace(asked, data=file.name))


def _difference(terms: Terms) -> str:
    """Return what this node lacks to be as the driver's machine, with the remedy; or nothing."""
    try:
        return difference(terms["alike"], likeness())
    except ImportError as error:
        remedy = f"run there: pip install promptpo=={terms['alike']['promptpo']}"
        return f"promptpo cannot be imported there ({error}); {remedy}"


def likeness() -> Likeness:
    """Return the versions on this machine. Raises ImportError where there is no promptpo."""
    from promptpo.version import __version__

    packages = {}
    for name in _PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            packages[name] = version(name)
    return Likeness(promptpo=__version__, code=_code(), packages=packages)


def difference(here: Likeness, there: Likeness) -> str:
    """Return what ``there`` has to be given to be as ``here``, in words; empty where it is."""
    if there["promptpo"] != here["promptpo"]:
        words = f"it has promptpo {there['promptpo']}, and this run needs {here['promptpo']}"
        return f"{words}; run there: pip install promptpo=={here['promptpo']}"
    if here["code"] and there["code"] != here["code"]:
        return (
            "its promptpo is of the same version and has other code; install there what is"
            " installed here"
        )
    for name, wanted in here["packages"].items():
        has = there["packages"].get(name, wanted)
        if has != wanted:
            words = f"it has {name} {has}, and this run needs {wanted}"
            return f"{words}; run there: pip install {name}=={wanted}"
    return ""


@cache
def _code() -> str:
    import promptpo

    digest = hashlib.sha256()
    root = Path(promptpo.__file__).resolve().parents[1]
    for package in ("promptpo", "sandbox", "env_specs"):
        for file in sorted((root / package).rglob("*.py")):
            digest.update(file.relative_to(root).as_posix().encode() + b"\0")
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _where() -> str:
    import ray

    return f"node {ray.util.get_node_ip_address()} ({socket.gethostname()})"


#: The seats of this process, by the keys of their executors.
_seats: OrderedDict[str, Seat] = OrderedDict()


def _seat(terms: Terms, files: dict[str, bytes] | None) -> Seat:
    key = terms["key"]
    if key not in _seats:
        _seats[key] = Seat(terms, files)
    _seats.move_to_end(key)
    while len(_seats) > _KEPT:
        _seats.popitem(last=False)[1].close()
    return _seats[key]


class Seat:
    """Live environments and a warm sandbox of one executor, in one process of a node."""

    def __init__(self, terms: Terms, files: dict[str, bytes] | None) -> None:
        from promptpo.rollout.workers import Workers

        self._terms = terms
        self._folder: Path | None = None
        self._lock = -1
        settings = pickle.loads(terms["settings"])  # noqa: S301 - of the driver
        if files is not None:
            self._folder = self._unpacked(files)
            settings = replace(settings, spec=f"{self._folder}{terms['suffix']}")
        inherited = {k: v for k, v in os.environ.items() if k not in terms["kernel_names"]}
        self._workers = Workers(
            settings,
            own_core=_lends_every_core(),
            label=terms["spec"],
            environ={**inherited, **terms["kernels"]},
        )

    def answer(self, job: Any) -> bytes:  # noqa: ANN401
        """Return ("done", answer) or ("raised", exception) of a job, pickled."""
        try:
            result = ("done", self._translated(self._workers.answer(job)))
        except Exception as error:
            of_node = {type(job).__name__, type(error).__name__} & {"DescribeJob", "IsolationError"}
            if self._terms["named"] and of_node:
                error.args = (f"{_where()}: {error}",)
            result = ("raised", self._translated(error))
        try:
            return pickle.dumps(result)
        except Exception as error:  # of the exception of some package
            return pickle.dumps(("raised", RuntimeError(repr(result[1]) or repr(error))))

    def _translated(self, result: Any) -> Any:  # noqa: ANN401
        """Return a result in which the spec's files have the names of the driver's machine."""
        if self._folder is None:
            return result
        here, there = str(self._folder), self._terms["root"]
        if isinstance(result, tuple):
            return tuple(map(self._translated, result))
        if isinstance(result, Exception):
            words = [a.replace(here, there) if isinstance(a, str) else a for a in result.args]
            result.args = tuple(words)
        elif is_dataclass(result) and isinstance(getattr(result, "error", None), str):
            result = replace(result, error=result.error.replace(here, there))  # type: ignore[type-var, union-attr]
        return result

    def _unpacked(self, files: dict[str, bytes]) -> Path:
        """Return a fresh folder with the files, which is removed when this process has ended."""
        import atexit

        _remove_left()
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX)).resolve()
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        self._lock = os.open(folder, os.O_RDONLY)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        for name, content in files.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        return folder

    def close(self) -> None:
        """End its processes and remove its files."""
        self._workers.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            os.close(self._lock)


def _remove_left() -> None:
    """Remove what killed processes have left: nobody holds it any more."""
    for place in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            state = place.stat()
            if state.st_uid != os.geteuid() or time.time() - state.st_mtime < _FRESH:
                continue
            held = os.open(place, os.O_RDONLY)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if place.is_dir():
                    shutil.rmtree(place, ignore_errors=True)
                else:
                    place.unlink()
            finally:
                os.close(held)


def _lends_every_core() -> bool:
    """Tell whether the node has as many workers as this machine has cores for them."""
    import ray

    node = ray.get_runtime_context().get_node_id()
    lent = next((n["Resources"].get("CPU") for n in ray.nodes() if n["NodeID"] == node), 0)
    return bool(lent == len(os.sched_getaffinity(0)))
