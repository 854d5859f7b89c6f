"""The warm parent: a process that has numpy loaded and forks one sandboxed process per program.

It is exec'ed once, with an empty environment, and holds nothing worth stealing. It never looks at a
program. It obeys one control socket and dies when that closes or its own parent is gone.

Messages are lines of JSON, strictly one reply per request:

    {"op": "spawn", "libraries": [...], "memory": bytes, "cpu": seconds, "strict": bool}
        -> {"pid": n}  + the host's ends of two pipes, and a pidfd where the system has them
    the same with "apart": true, and perhaps a descriptor   ->  the same
    {"op": "reap", "pid": n}   ->  {"status": wait status}

While nothing is asked it keeps one process in reserve, locked down and warm, for a program of the
same limits as the last one. A process that is made "apart" is not taken from there; the file whose
descriptor came with the request is mapped in it, to be read only.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import sys
from dataclasses import dataclass
from typing import Any, NoReturn

from sandbox import lockdown
from sandbox.inside.child import serve, touch
from sandbox.inside.recorded import mapped
from sandbox.inside.watchdog import Watchdog
from sandbox.isolation import NOT_STRICT, Isolation
from sandbox.language import warmup
from sandbox.language.library import load_libraries

#: Seconds without a request after which a process is put in reserve.
_IDLE = 0.005
_PROBE_MEMORY = 1 << 28


@dataclass(frozen=True)
class _Process:
    """A forked process and the host's ends of its pipes."""

    pid: int
    reader: int
    writer: int
    key: tuple[object, ...]


class Parent:
    """Forks processes, hands them over and reaps them, as its host asks."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._children: set[int] = set()
        self._libraries: dict[str, Any] = {}
        self._loaded: set[str] = set()
        self._preparation = lockdown.Preparation.make()
        self._last: dict[str, Any] | None = None
        self._reserve: _Process | None = None
        #: Descriptors that came with the request.
        self._files: list[int] = []

    def run(self) -> None:
        """Report the isolation, then obey until the host is gone."""
        warmup.run()
        gc.collect()
        gc.freeze()
        self._send({"isolation": self._probe()})
        while (request := self._receive()) is not None:
            if request["op"] == "spawn":
                self._spawn(request)
                self._close_files()
            else:
                self._reap(int(request["pid"]))
        for pid in self._children:
            _kill_group(pid)
        for pid in self._children:
            os.waitpid(pid, 0)

    def _receive(self) -> dict[str, Any] | None:
        """The next request, or None when there will be none."""
        host = os.getppid()
        while True:
            idle = self._last is not None and self._reserve is None
            if select.select([self._control], [], [], _IDLE if idle else 1.0)[0]:
                break
            if os.getppid() != host:
                return None
            if idle and self._last is not None:
                self._reserve = self._fork(self._last, warm=True)
        try:
            data, self._files, _, _ = socket.recv_fds(self._control, 1 << 16, 1)
            while data and not data.endswith(b"\n"):
                data += self._control.recv(1 << 16)
        except ConnectionError:
            return None
        return dict(json.loads(data)) if data else None

    def _send(self, reply: dict[str, Any], fds: tuple[int, ...] = ()) -> None:
        data = json.dumps(reply).encode() + b"\n"
        try:
            socket.send_fds(self._control, [data], fds)
        except (BrokenPipeError, ConnectionError):
            return

    def _load(self, wanted: list[str]) -> None:
        missing = tuple(name for name in wanted if name not in self._loaded)
        if missing:
            self._libraries |= load_libraries(missing)
            self._loaded |= set(missing)
            gc.collect()
            gc.freeze()

    def _key(self, request: dict[str, Any]) -> tuple[object, ...]:
        return request["memory"], request["cpu"], request["strict"], len(self._loaded)

    def _spawn(self, request: dict[str, Any]) -> None:
        self._load(request["libraries"])
        process = None
        if not request.get("apart"):
            self._last = request
            process, self._reserve = self._reserve, None
        if process is not None and (process.key != self._key(request) or self._ended(process)):
            self._discard(process)
            process = None
        if process is None:
            process = self._fork(request)
        handle = (os.pidfd_open(process.pid),) if hasattr(os, "pidfd_open") else ()
        fds = (process.reader, process.writer, *handle)
        self._send({"pid": process.pid}, fds)
        for fd in fds:
            os.close(fd)

    def _fork(self, request: dict[str, Any], warm: bool = False) -> _Process:
        their_read, our_write = os.pipe()
        our_read, their_write = os.pipe()
        me = os.getpid()
        pid = self._preparation.fork()
        if pid == 0:
            sys.dont_write_bytecode = True  # whatever a library imports late
            self._child(request, (their_read, their_write), me, warm)
        self._children.add(pid)
        os.close(their_read)
        os.close(their_write)
        return _Process(pid, our_read, our_write, self._key(request))

    def _close_files(self) -> None:
        for file in self._files:
            os.close(file)
        self._files = []

    def _ended(self, process: _Process) -> bool:
        """Whether somebody has killed it; then it is reaped."""
        if os.waitpid(process.pid, os.WNOHANG)[0] == 0:
            return False
        self._children.discard(process.pid)
        return True

    def _discard(self, process: _Process) -> None:
        if process.pid in self._children:
            _kill_group(process.pid)
            os.waitpid(process.pid, 0)
            self._children.discard(process.pid)
        os.close(process.reader)
        os.close(process.writer)

    def _child(
        self, request: dict[str, Any], pipes: tuple[int, int], parent: int, warm: bool
    ) -> NoReturn:
        try:
            recorded = mapped(self._files.pop()) if self._files else None
            watchdog = Watchdog()
            lockdown.move_pipes(*pipes)
            report = lockdown.apply(self._preparation, parent, request["memory"], request["cpu"])
            if request["strict"] and Isolation.from_report(report).level != "strict":
                os._exit(NOT_STRICT)
            if warm:
                touch()
            serve(lockdown.READ_FD, lockdown.WRITE_FD, self._libraries, watchdog, recorded)
        except BaseException:
            os._exit(1)
        os._exit(0)

    def _reap(self, pid: int) -> None:
        _, status = os.waitpid(pid, 0)
        self._children.discard(pid)
        self._send({"status": status})

    def _probe(self) -> dict[str, str]:
        """Lock a child down and let it tell what holds."""
        ends = os.pipe()
        back = os.pipe()
        me = os.getpid()
        pid = self._preparation.fork()
        if pid == 0:
            lockdown.move_pipes(ends[0], back[1])
            report = lockdown.apply(self._preparation, me, _PROBE_MEMORY, 5)
            os.write(lockdown.WRITE_FD, json.dumps(report).encode())
            os._exit(0)
        for fd in (*ends, back[1]):
            os.close(fd)
        with os.fdopen(back[0], "rb") as stream:
            data = stream.read()
        os.waitpid(pid, 0)
        return dict(json.loads(data)) if data else {"seccomp": "the locked-down process died"}


def _kill_group(pid: int) -> None:
    for kill in (os.kill, os.killpg):
        try:
            kill(pid, signal.SIGKILL)
        except OSError:
            continue
