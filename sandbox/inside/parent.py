"""The warm parent: a process that has numpy loaded and forks one sandboxed process per request.

It is exec'ed once, with an empty environment, and holds nothing worth stealing. It never looks at a
program. It obeys one control socket and dies when that closes or its own parent is gone.

Messages are lines of JSON, strictly one reply per request:

    {"op": "spawn", "memory": bytes, "cpu": seconds, "strict": bool, "killed": [n, ...]}, perhaps
    with a descriptor
        -> {"pid": n}  + the host's ends of two pipes, and a pidfd where the system has them
    {"op": "reap", "pid": n}   ->  {"status": wait status}

Processes that the host has killed are reaped. The file whose descriptor came with a request is
mapped in the process, to be read only.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NoReturn

from sandbox import lockdown
from sandbox.inside.child import serve
from sandbox.inside.data import mapped
from sandbox.inside.faults import Watchdog
from sandbox.isolation import NOT_STRICT, Isolation
from sandbox.language import Runtime, Stream, warmup

_PROBE_MEMORY = 1 << 28


class Parent:
    """Forks processes, hands them over and reaps them, as its host asks."""

    def __init__(self, control: socket.socket, libraries: Sequence[str]) -> None:
        self._control = control
        self._children: set[int] = set()
        self._runtime = Runtime(tuple(libraries))
        sys.stdout = sys.stderr = Stream(self._runtime.printer)
        self._preparation = lockdown.Preparation.make()

    def run(self) -> None:
        """Report the isolation, then obey until the host is gone."""
        warmup.run(self._runtime)
        gc.collect()
        gc.freeze()
        self._send({"isolation": self._probe()})
        while (request := self._receive()) is not None:
            if request["op"] == "spawn":
                self._spawn(request)
            else:
                self._reap(int(request["pid"]))
        for pid in self._children:
            for kill in (os.kill, os.killpg):
                with suppress(OSError):
                    kill(pid, signal.SIGKILL)
        for pid in self._children:
            os.waitpid(pid, 0)

    def _receive(self) -> dict[str, Any] | None:
        """Return the next request, its descriptors as "files", or None when there is none."""
        host = os.getppid()
        while not select.select([self._control], [], [], 1.0)[0]:
            if os.getppid() != host:
                return None
        try:
            data, files, _, _ = socket.recv_fds(self._control, 1 << 16, 1)
            while data and not data.endswith(b"\n"):
                data += self._control.recv(1 << 16)
        except ConnectionError:
            return None
        return {**json.loads(data), "files": files} if data else None

    def _send(self, reply: dict[str, Any], fds: Sequence[int] = ()) -> None:
        data = json.dumps(reply).encode() + b"\n"
        with suppress(BrokenPipeError, ConnectionError):
            socket.send_fds(self._control, [data], fds)

    def _spawn(self, request: dict[str, Any]) -> None:
        their_read, our_write = os.pipe()
        our_read, their_write = os.pipe()
        me = os.getpid()
        pid = self._preparation.fork()
        if pid == 0:
            sys.dont_write_bytecode = True  # whatever a library imports late
            self._child(request, (their_read, their_write), me)
        self._children.add(pid)
        handle = (os.pidfd_open(pid),) if hasattr(os, "pidfd_open") else ()
        fds = (our_read, our_write, *handle)
        self._send({"pid": pid}, fds)
        for killed in request["killed"]:
            os.waitpid(killed, 0)
            self._children.discard(killed)
        for fd in (*fds, their_read, their_write, *request["files"]):
            os.close(fd)

    def _child(self, request: dict[str, Any], pipes: tuple[int, int], parent: int) -> NoReturn:
        try:
            # A batch process that wakes does not interrupt its host, which writes to all in turn.
            if hasattr(os, "SCHED_BATCH"):
                with suppress(OSError):  # only speed depends on it
                    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
            recorded = mapped(request["files"][0]) if request["files"] else None
            watchdog = Watchdog()
            lockdown.move_pipes(*pipes)
            report = lockdown.apply(self._preparation, parent, request["memory"], request["cpu"])
            if request["strict"] and Isolation.from_report(report).level != "strict":
                os._exit(NOT_STRICT)
            serve(lockdown.READ_FD, lockdown.WRITE_FD, self._runtime, watchdog, recorded)
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
