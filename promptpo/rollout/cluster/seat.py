"""What a node runs for each of its cores that it lends: the same workers as a local executor's.

Ray sends this module by value, for a node may have no promptpo, or another one: so nothing of it
is imported at the top, and what comes and goes is plain, or pickled where both sides are alike.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pickle
import shutil
import socket
import tempfile
import time
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import Any, TypedDict

#: Begins the names of folders that hold the files of specs.
_PREFIX = "promptpo-seat-"

#: Seconds within which whoever makes one holds it.
_FRESH = 60.0


class Terms(TypedDict):
    """What a seat is told: ``settings`` are pickled; ``spec`` is what errors call it.

    ``root`` is where the spec's own files lie on the driver's machine, empty where they are not
    sent; ``suffix`` follows the spec's folder in a reference to it.
    """

    likeness: Any
    settings: bytes
    spec: str
    root: str
    suffix: str
    kernels: dict[str, str]
    kernel_names: tuple[str, ...]


class Seat:
    """One core of a node: live environments, a warm sandbox parent, a policy process."""

    def __init__(self) -> None:
        self._workers: Any = None
        self._folder: Path | None = None
        self._terms: Any = None
        self._lock = -1

    def open(self, terms: Terms, files: dict[str, bytes] | None) -> dict[str, Any]:
        """Open an environment and the sandbox.

        ``answer`` is as of ``do``; where the node cannot take part, ``problem`` says why instead.
        """
        self._terms = terms
        node = {"node": _node(), "host": socket.gethostname()}
        try:
            from promptpo.rollout.cluster.likeness import difference, likeness
            from promptpo.rollout.jobs import DescribeJob
            from promptpo.rollout.workers import Workers

            problem = difference(terms["likeness"], likeness())
        except ImportError as error:
            wanted = terms["likeness"]["promptpo"]
            problem = f"promptpo cannot be imported there ({error})"
            problem += f"; run there: pip install promptpo=={wanted}"
        if problem:
            return {**node, "problem": problem}
        settings = pickle.loads(terms["settings"])  # noqa: S301 - of the driver
        if files is not None:
            self._folder = self._unpacked(files)
            settings = replace(settings, spec=f"{self._folder}{terms['suffix']}")
        kept = {k: v for k, v in os.environ.items() if k not in terms["kernel_names"]}
        environ = {**kept, **terms["kernels"]}
        self._workers = Workers(
            settings, own_core=_lends_every_core(), label=terms["spec"], environ=environ
        )
        return {**node, "answer": self._answer(DescribeJob())}

    def do(self, job: bytes, names: list[str], *contents: Any) -> bytes:  # noqa: ANN401
        """("done", answer) or ("raised", exception) of a job, pickled.

        ``names`` are fields of the job that were sent once for many jobs: ``data`` is the content
        of the file that the field names, others are as they are.
        """
        asked = pickle.loads(job)  # noqa: S301 - of the driver
        parcels = dict(zip(names, contents, strict=True))
        data = parcels.pop("data", None)
        asked = replace(asked, **parcels) if parcels else asked
        if data is None:
            return self._answer(asked, of_job=True)
        with tempfile.NamedTemporaryFile(prefix=_PREFIX) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(memoryview(data))
            file.flush()
            return self._answer(replace(asked, data=file.name), of_job=True)

    def _answer(self, job: Any, *, of_job: bool = False) -> bytes:  # noqa: ANN401
        try:
            answer = ("done", self._named(self._workers.answer(job)))
        except Exception as error:
            if of_job and type(error).__name__ == "IsolationError":  # it is the node's
                where = f"node {_node().partition('/')[0]} ({socket.gethostname()})"
                error.args = (f"{where}: {error}",)
            answer = ("raised", self._named(error))
        try:
            return pickle.dumps(answer)
        except Exception as error:  # of the exception of some package
            return pickle.dumps(("raised", RuntimeError(repr(answer[1]) or repr(error))))

    def _named(self, answer: Any) -> Any:  # noqa: ANN401
        """What is said of the spec's files names them as they are on the driver's machine."""
        if self._folder is None:
            return answer
        here, there = str(self._folder), self._terms["root"]
        if isinstance(answer, tuple):
            return tuple(map(self._named, answer))
        if isinstance(answer, Exception):
            words = [a.replace(here, there) if isinstance(a, str) else a for a in answer.args]
            answer.args = tuple(words)
        elif is_dataclass(answer) and isinstance(getattr(answer, "error", None), str):
            answer = replace(answer, error=answer.error.replace(here, there))  # type: ignore[type-var, union-attr]
        return answer

    def _unpacked(self, files: dict[str, bytes]) -> Path:
        """A fresh folder with the files, which is removed when this process has ended."""
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


def _remove_left() -> None:
    """Remove what seats have left that were killed: nobody holds it any more."""
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


def _node() -> str:
    """Its address, and where several nodes have one, what tells it from them."""
    import ray

    found = ray.get_runtime_context().get_node_id()
    return f"{ray.util.get_node_ip_address()}/{found[:8]}"


def _lends_every_core() -> bool:
    """Whether its node has as many workers as this machine has cores for them."""
    import ray

    node = ray.get_runtime_context().get_node_id()
    lent = next((n["Resources"].get("CPU") for n in ray.nodes() if n["NodeID"] == node), 0)
    return bool(lent == len(os.sched_getaffinity(0)))
