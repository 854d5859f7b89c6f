"""The host's side: a warm parent process, and one sandboxed process per program."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from sandbox.channel import Channel
from sandbox.errors import IsolationUnavailable, SandboxError
from sandbox.interface import Interface, Limits
from sandbox.isolation import Isolation
from sandbox.language.library import needed_libraries
from sandbox.sessions import Policy, Summarizer

_START_SECONDS = 60.0
_BOOT = "import sys; sys.path += {paths!r}; from sandbox.parent import main; main(int(sys.argv[1]))"


def _package_folders() -> list[str]:
    """Where the isolated interpreter finds this package and what it needs."""
    folders = []
    for name in ("sandbox", "numpy", "RestrictedPython"):
        spec = find_spec(name)
        if spec is not None and spec.origin is not None:
            folders.append(str(Path(spec.origin).resolve().parent.parent))
    return list(dict.fromkeys(folders))


#: Variables that choose numeric kernels: without them a policy's arithmetic could differ from the
#: host's in the last bit.
_KERNELS = (
    "OPENBLAS_CORETYPE",
    "OPENBLAS_L2_SIZE",
    "MKL_CBWR",
    "MKL_ENABLE_INSTRUCTIONS",
    "NPY_DISABLE_CPU_FEATURES",
    "NPY_ENABLE_CPU_FEATURES",
)


def _environment() -> dict[str, str]:
    """All that the warm parent knows of the world."""
    threads = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    kernels = {name: os.environ[name] for name in _KERNELS if name in os.environ}
    fixed = {"LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0"}
    return {**kernels, **dict.fromkeys(threads, "1"), **fixed}


def _start_parent(control: socket.socket) -> subprocess.Popen[bytes]:
    """Exec the warm parent with one end of the control socket.

    Raises:
        SandboxError: the interpreter cannot be run.
    """
    fd = control.fileno()
    boot = _BOOT.format(paths=_package_folders())
    try:
        return subprocess.Popen(  # noqa: S603 - our own interpreter and module
            # No user packages, no current directory. As -I, which would ignore the hash seed too.
            [sys.executable, "-s", "-P", "-B", "-c", boot, str(fd)],
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[fd],
            start_new_session=True,
            cwd="/",
        )
    except OSError as error:
        raise SandboxError(f"the sandbox's warm parent cannot be started: {error}") from None


class Host:
    """Runs programs, each in a fresh sandboxed process; a context manager.

    Use it from one thread. Processes inherit the processor affinity that the caller has when it
    makes the host: pin first to keep both sides on one core.

    Args:
        require: "strict" refuses to work below the full set of protections.

    Raises:
        IsolationUnavailable: the required level cannot be had here.
        SandboxError: the warm parent did not start.
    """

    def __init__(self, require: Literal["auto", "strict"] = "auto") -> None:
        if require not in ("auto", "strict"):
            raise ValueError(f'require must be "auto" or "strict", not {require!r}')
        self._strict = require == "strict"
        self._control, theirs = socket.socketpair()
        self._control.settimeout(_START_SECONDS)
        with theirs:
            self._process = _start_parent(theirs)
        try:
            reply, _ = self._answer()
        except SandboxError:
            self.close()
            raise
        self.isolation = Isolation.from_report(reply["isolation"])
        if self._strict and self.isolation.level != "strict":
            missing = "; ".join(f"{name}: {why}" for name, why in self.isolation.missing.items())
            self.close()
            raise IsolationUnavailable(f"strict isolation is not available here ({missing})")

    @property
    def parent_pid(self) -> int:
        """Process id of the warm parent."""
        return self._process.pid

    def policy(
        self,
        source: str,
        interface: Interface,
        limits: Limits | None = None,
        extra_imports: tuple[str, ...] = (),
        seed_key: bytes = b"",
    ) -> Policy:
        """Compile a policy program in a new sandboxed process.

        Its generators start from a hash of the episode's seed under ``seed_key`` (at most 64
        bytes): with a key that its author does not know, they tell nothing of the seed.

        Raises:
            CompileError: the source is refused.
            ProgramError: the module fails while it is executed.
        """
        limits = limits or Limits()
        channel = self._spawn(source, limits, extra_imports)
        return Policy(channel, source, interface, limits, extra_imports, seed_key)

    def summarizer(
        self,
        source: str,
        interface: Interface,
        limits: Limits | None = None,
        extra_imports: tuple[str, ...] = (),
    ) -> Summarizer:
        """Compile a feedback program in a new sandboxed process; raises as ``policy`` does."""
        limits = limits or Limits()
        channel = self._spawn(source, limits, extra_imports)
        return Summarizer(channel, source, interface, limits, extra_imports)

    def _spawn(self, source: str, limits: Limits, extra: tuple[str, ...]) -> Channel:
        if self._process.returncode is not None:
            raise SandboxError("this sandbox host is closed")
        request = {
            "op": "spawn",
            "libraries": needed_libraries(source, extra),
            "memory": limits.memory_mb << 20,
            "cpu": limits.total_seconds + limits.init_seconds,
            "strict": self._strict,
        }
        self._ask(request)
        reply, fds = self._answer()
        reader, writer, *handle = fds
        pidfd = handle[0] if handle else -1
        return Channel(reply["pid"], pidfd, (reader, writer), self._reap, limits)

    def _reap(self, pid: int) -> int:
        self._ask({"op": "reap", "pid": pid})
        reply, _ = self._answer()
        return int(reply["status"])

    def _ask(self, request: dict[str, Any]) -> None:
        try:
            self._control.sendall(json.dumps(request).encode() + b"\n")
        except OSError as error:
            raise SandboxError(f"the sandbox's warm parent is gone ({error.strerror})") from None

    def _answer(self) -> tuple[dict[str, Any], list[int]]:
        try:
            data, fds, _, _ = socket.recv_fds(self._control, 1 << 16, 3)
            while data and not data.endswith(b"\n"):
                data += self._control.recv(1 << 16)
        except OSError as error:
            raise SandboxError(f"the sandbox's warm parent does not answer ({error})") from None
        if not data:
            raise SandboxError("the sandbox's warm parent is gone")
        reply = json.loads(data)
        if "error" in reply:
            raise SandboxError(f"the sandbox's warm parent did not start: {reply['error']}")
        return reply, list(fds)

    def close(self) -> None:
        """End the warm parent and all its children; calling it twice is harmless."""
        self._control.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
