"""The host's end of the warm parent: a process of trusted code that forks the others.

What it answers is believed, but bounded in time and size; and after anything odd it is ended for
good, so that no late answer is taken for another.
"""

from __future__ import annotations

import json
import math
import os
import select
import socket
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sandbox.errors import SandboxFailed
from sandbox.host.channel import Channel
from sandbox.host.process import Patience, Process, ProcessClock, Stalled
from sandbox.interface import Limits
from sandbox.isolation import Isolation
from sandbox.libraries import KERNEL_VARIABLES

#: Wall time that an answer may take, in seconds, and its length, in bytes.
_ANSWER_SECONDS = 60.0
_LONGEST = 1 << 16
#: How often a process may begin anew, by the kernel's limit of its processor time.
_LIVES = 1000
#: Installed packages come last (``-S``): another copy of this package may be among them. What
#: modules would do after a fork costs each process pages, and none has threads or keeps its seeds.
_BOOT = """
import os, site, sys
os.register_at_fork = lambda **calls: None
sys.path += {paths!r}
site.main()
from sandbox.inside.boot import main
main(int(sys.argv[1]), sys.argv[2:])
"""


def _package_folders() -> list[str]:
    """Return the folders in which the isolated interpreter finds this package and its needs."""
    folders = []
    for name in ("sandbox", "numpy", "RestrictedPython"):
        spec = find_spec(name)
        if spec is not None and spec.origin is not None:
            folders.append(str(Path(spec.origin).resolve().parent.parent))
    return list(dict.fromkeys(folders))


def _environment() -> dict[str, str]:
    """Return all that the warm parent knows of the world."""
    threads = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    kernels = {name: os.environ[name] for name in KERNEL_VARIABLES if name in os.environ}
    fixed = {
        "LC_ALL": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        # Memory is zero when it is allocated: what it held before would differ between processes.
        "GLIBC_TUNABLES": "glibc.malloc.perturb=255",
    }
    return {**kernels, **dict.fromkeys(threads, "1"), **fixed}


def _start(control: socket.socket, libraries: Sequence[str]) -> subprocess.Popen[bytes]:
    """Exec the warm parent with one end of the control socket."""
    fd = control.fileno()
    boot = _BOOT.format(paths=_package_folders())
    # No user packages, no current directory. As -I, which would ignore the hash seed too.
    options = ["-S", "-s", "-P", *(["-B"] if sys.dont_write_bytecode else [])]
    try:
        return subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [sys.executable, *options, "-c", boot, str(fd), *libraries],
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[fd],
            start_new_session=True,
            cwd="/",
        )
    except OSError as error:
        raise SandboxFailed(f"the sandbox's warm parent cannot be started: {error}") from None


class WarmParent:
    """One warm parent, until it fails or is closed.

    Attributes:
        isolation: what it reported about the processes that it makes.
        lost: it is gone, or was ended because it did not answer as it should.
    """

    def __init__(self, libraries: Sequence[str] = ()) -> None:
        """Start it, with these modules loaded for the programs to come.

        Raises:
            SandboxFailed: it did not start.
        """
        self._control, theirs = socket.socketpair()
        self._control.setblocking(False)
        self._poll = select.poll()
        self._poll.register(self._control, select.POLLIN)
        self.lost = False
        #: Processes that were killed, for it to reap.
        self._killed: list[int] = []
        with theirs:
            try:
                self._process = _start(theirs, libraries)
            except SandboxFailed:
                self._control.close()
                raise
        self._clock = ProcessClock(self._process.pid)
        report, _ = self._request(None, "isolation")
        self.isolation = Isolation.from_report(report)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def spawn(self, limits: Limits, strict: bool, file: int | None = None) -> Channel:
        """Return a fresh process, locked down and without a program.

        ``file``: descriptor of a file that is mapped in it.

        Raises:
            IsolationUnavailable: it is not as strictly locked down as asked.
            SandboxFailed: this parent is of no use any more.
            Disturbed: the process was ended from outside.
        """
        request = {
            "op": "spawn",
            "memory": limits.memory_mb << 20,
            "cpu": _LIVES * (limits.total_seconds + limits.init_seconds),
            "strict": strict,
            "killed": self._killed,
        }
        pid, fds = self._request(request, "pid", () if file is None else (file,))
        self._killed.clear()
        if len(fds) < 2:
            for fd in fds:
                os.close(fd)
            raise self._lose("cannot hand over a process: too many files are open here")
        reader, writer, *handle = fds
        process = Process(pid, handle[0] if handle else -1, self._reap, self._killed.append)
        channel = Channel(process, (reader, writer), limits)
        try:
            channel.await_ready()
        except BaseException:
            channel.kill()
            raise
        return channel

    def _reap(self, pid: int) -> int:
        status, _ = self._request({"op": "reap", "pid": pid}, "status")
        return int(status)

    def _request(
        self, request: dict[str, Any] | None, wanted: str, files: Sequence[int] = ()
    ) -> tuple[Any, list[int]]:
        """Return what it answers to a request (None: what it says first), with descriptors.

        ``files`` are descriptors to hand over.
        """
        if self.lost:
            raise SandboxFailed("the sandbox's warm parent is gone")
        try:
            if request is not None:
                line = json.dumps(request).encode() + b"\n"
                sent = socket.send_fds(self._control, [line], files) if files else 0
                self._control.sendall(line[sent:])
            reply, fds = self._reply()
            if "error" not in reply:
                return reply[wanted], fds
        except Stalled:
            raise self._lose(f"has not answered for {_ANSWER_SECONDS:g} s") from None
        except (OSError, EOFError):
            raise self._lose("is gone") from None
        except (ValueError, TypeError, LookupError):
            raise self._lose("does not answer as it should") from None
        except BaseException:  # Ctrl-C, say: the answer would be taken for the next one's
            self._lose("was left in the middle of an answer")
            raise
        raise self._lose(f"failed: {reply['error']}")

    def _reply(self) -> tuple[Any, list[int]]:
        patience = Patience(self._clock, math.inf, _ANSWER_SECONDS)
        data, fds = b"", []
        while not data.endswith(b"\n"):
            patience.wait(self._poll)
            more, got, _, _ = socket.recv_fds(self._control, _LONGEST, 3)
            for fd in got:
                os.set_inheritable(fd, False)
            fds += got
            data += more
            if not more or len(data) > _LONGEST:
                raise EOFError
        return json.loads(data), fds

    def _lose(self, why: str) -> SandboxFailed:
        """End it at once; with it end all its processes, where the system does that."""
        self.lost = True
        self._process.kill()
        self.close()
        return SandboxFailed(f"the sandbox's warm parent {why}")

    def close(self) -> None:
        """End it and all its children; calling it twice is harmless."""
        self.lost = True
        self._control.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
