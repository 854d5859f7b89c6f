"""Runs ordinary Python, no language layer, in processes that are locked down.

Executed as a program: lines of JSON in, lines of JSON out, one forked process per line.
"""

import ctypes
import json
import multiprocessing
import os
import select
import signal
import socket
import subprocess
import sys
import traceback
from pathlib import Path

PREAMBLE = """
import ctypes, json, mmap, multiprocessing, os, pickle, resource, signal, socket, subprocess, sys
import threading, time
libc = ctypes.CDLL(None, use_errno=True)
def _try(call, *args):
    try:
        call(*args)
        return True
    except OSError:
        return False
"""


class RawProcesses:
    """The test's end."""

    def __init__(self, names):
        self._names = names
        self._process = subprocess.Popen(
            [sys.executable, "-B", __file__, str(Path.cwd())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    @property
    def pid(self):
        return self._process.pid

    def run(self, source):
        """``{"status": wait status, "text": repr of what attack() gave or raised}``."""
        names = {**self._names, "PARENT": self._process.pid}
        self._process.stdin.write(json.dumps({"source": source, "names": names}) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self):
        self._process.stdin.close()
        self._process.wait(timeout=10)
        self._process.stdout.close()


def _child(request, preparation, parent, ends):
    from sandbox import lockdown
    from sandbox.inside.recorded import mapped

    namespace = dict(request["names"])
    if "MAPPED" in namespace:
        namespace["pages"] = mapped(os.open(namespace["MAPPED"], os.O_RDONLY))
    exec(PREAMBLE, namespace)  # noqa: S102 - loads what the attacks need
    lockdown.move_pipes(*ends)
    lockdown.apply(preparation, parent, 1 << 28, 3)
    try:
        exec(request["source"], namespace)  # noqa: S102 - the object of the test
        text = f"returned {namespace['attack']()!r}"
    except BaseException as error:
        text = "raised " + "".join(traceback.format_exception_only(error)).strip()
    os.write(lockdown.WRITE_FD, text.encode()[:4000])
    os._exit(0)


def _serve(root):
    sys.path.insert(0, root)
    from sandbox import lockdown

    preparation = lockdown.Preparation.make()
    parent = os.getpid()
    for line in sys.stdin:
        idle, back = os.pipe(), os.pipe()
        pid = preparation.fork()
        if pid == 0:
            _child(json.loads(line), preparation, parent, (idle[0], back[1]))
        os.close(back[1])
        data = b""
        while select.select([back[0]], [], [], 3.0)[0] and (more := os.read(back[0], 4096)):
            data += more
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        for fd in (*idle, back[0]):
            os.close(fd)
        answer = {"status": os.waitstatus_to_exitcode(status), "text": data.decode()}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    assert ctypes, multiprocessing
    assert socket
    _serve(sys.argv[1])
