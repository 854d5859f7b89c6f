"""The warm parent: a process that has numpy loaded and forks one sandboxed process per program.

It is exec'ed once, with an empty environment, and holds nothing worth stealing. It never looks at a
program. It obeys one control socket and dies when that closes or its own parent is gone.

Messages are lines of JSON, strictly one reply per request:

    {"op": "spawn", "libraries": [...], "memory": bytes, "cpu": seconds, "strict": bool}  + 2 pipes
        -> {"pid": n}  + a pidfd where the system has them
    {"op": "reap", "pid": n}   ->  {"status": wait status}
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import sys
from typing import Any, NoReturn

from sandbox import lockdown
from sandbox.isolation import Isolation
from sandbox.watchdog import Watchdog

#: Exit code of a child that could not lock itself down as strictly as asked.
NOT_STRICT = 77
_PROBE_MEMORY = 1 << 28


def _warm_up() -> None:
    """Load whatever is loaded lazily, so that children need no file."""
    import sandbox.child
    from sandbox.language.warmup import run

    run()
    assert sandbox.child is not None  # noqa: S101 - keeps the import


class Parent:
    """State of the warm parent."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._children: set[int] = set()
        self._libraries: dict[str, Any] = {}
        self._loaded: set[str] = set()
        self._preparation = lockdown.Preparation.make()

    def run(self) -> None:
        """Report the isolation, then obey until the host is gone."""
        _warm_up()
        gc.collect()
        gc.freeze()
        self._send({"isolation": self._probe()})
        while (message := self._receive()) is not None:
            request, fds = message
            if request["op"] == "spawn":
                self._spawn(request, fds)
            else:
                self._reap(int(request["pid"]))
        for pid in self._children:
            _kill_group(pid)
        for pid in self._children:
            os.waitpid(pid, 0)

    def _receive(self) -> tuple[dict[str, Any], list[int]] | None:
        """The next request, or None when there will be none."""
        host = os.getppid()
        while not select.select([self._control], [], [], 1.0)[0]:
            if os.getppid() != host:
                return None
        try:
            data, fds, _, _ = socket.recv_fds(self._control, 1 << 16, 2)
        except ConnectionError:
            return None
        while data and not data.endswith(b"\n"):
            data += self._control.recv(1 << 16)
        return (json.loads(data), list(fds)) if data else None

    def _send(self, reply: dict[str, Any], fds: tuple[int, ...] = ()) -> None:
        data = json.dumps(reply).encode() + b"\n"
        try:
            socket.send_fds(self._control, [data], fds)
        except (BrokenPipeError, ConnectionError):
            return

    def _load(self, wanted: list[str]) -> None:
        missing = tuple(name for name in wanted if name not in self._loaded)
        if missing:
            from sandbox.language.library import load_libraries

            self._libraries |= load_libraries(missing)
            self._loaded |= set(missing)
            gc.collect()
            gc.freeze()

    def _spawn(self, request: dict[str, Any], fds: list[int]) -> None:
        self._load(request["libraries"])
        me = os.getpid()
        pid = os.fork()
        if pid == 0:
            self._child(request, fds, me)
        self._children.add(pid)
        for fd in fds:
            os.close(fd)
        handle = (os.pidfd_open(pid),) if hasattr(os, "pidfd_open") else ()
        self._send({"pid": pid}, handle)
        for fd in handle:
            os.close(fd)

    def _child(self, request: dict[str, Any], fds: list[int], parent: int) -> NoReturn:
        try:
            from sandbox.child import serve

            watchdog = Watchdog()
            lockdown.move_pipes(*fds)
            report = lockdown.apply(self._preparation, parent, request["memory"], request["cpu"])
            if request["strict"] and Isolation.from_report(report).level != "strict":
                os._exit(NOT_STRICT)
            serve(lockdown.READ_FD, lockdown.WRITE_FD, self._libraries, watchdog)
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
        pid = os.fork()
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


def main(descriptor: int) -> None:
    """Entry point of the exec'ed process."""
    control = socket.socket(fileno=descriptor)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        Parent(control).run()
    except Exception as error:
        text = json.dumps({"error": f"{type(error).__name__}: {error}"})
        control.sendall(text.encode() + b"\n")
        sys.exit(1)
