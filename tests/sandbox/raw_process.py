"""Runs ordinary Python, no language layer, in processes that are locked down.

Executed as a program: lines of JSON in, lines of JSON out, forked processes for each line.
"""

import ctypes
import json
import mmap
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
def machine(code, *arguments):
    # In a page that was executable before the lock-down.
    executable[:len(code)] = code
    address = ctypes.addressof(ctypes.c_char.from_buffer(executable))
    return ctypes.CFUNCTYPE(ctypes.c_long, *[ctypes.c_long] * len(arguments))(address)(*arguments)
def call(number, *arguments):
    # The result of a system call; its error with a minus.
    libc.syscall.restype = ctypes.c_long
    result = libc.syscall(*map(ctypes.c_long, (number, *arguments)))
    return -ctypes.get_errno() if result == -1 else result
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
        """Exit code ("status"), what attack() gave or raised ("text"), "pid" and "uid"."""
        return self.run_together([source])[0]

    def run_together(self, sources):
        """The same for each of several processes at one time."""
        return self._ask({"sources": sources, "names": {**self._names, "PARENT": self.pid}})

    def grow(self, size):
        """Let the parent use so many bytes more."""
        self._ask({"grow": size})

    def _ask(self, request):
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self):
        self._process.stdin.close()
        self._process.wait(timeout=10)
        self._process.stdout.close()


def _child(source, names, preparation, parent, ends):
    from sandbox import lockdown
    from sandbox.inside.data import mapped

    private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    namespace = {**names, "executable": mmap.mmap(-1, 4096, flags=private, prot=7)}
    if "MAPPED" in namespace:
        namespace["pages"] = mapped(os.open(namespace["MAPPED"], os.O_RDONLY))
    exec(PREAMBLE, namespace)  # noqa: S102 - loads what the attacks need
    lockdown.move_pipes(*ends)
    lockdown.apply(preparation, parent, 1 << 28, 3)
    try:
        exec(source, namespace)  # noqa: S102 - the object of the test
        text = f"returned {namespace['attack']()!r}"
    except BaseException as error:
        text = "raised " + "".join(traceback.format_exception_only(error)).strip()
    os.write(lockdown.WRITE_FD, text.encode()[:4000])
    os._exit(0)


def _begin(source, names, preparation):
    idle, back = os.pipe(), os.pipe()
    parent = os.getpid()
    pid = preparation.fork()
    if pid == 0:
        _child(source, names, preparation, parent, (idle[0], back[1]))
    os.close(back[1])
    return pid, (*idle, back[0])


def _end(pid, fds):
    data = b""
    while select.select([fds[-1]], [], [], 3.0)[0] and (more := os.read(fds[-1], 4096)):
        data += more
    uid = next(
        int(line.split()[1])
        for line in Path(f"/proc/{pid}/status").read_text().splitlines()
        if line.startswith("Uid:")
    )
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    for fd in fds:
        os.close(fd)
    code = os.waitstatus_to_exitcode(status)
    return {"status": code, "text": data.decode(), "pid": pid, "uid": uid}


def _serve(root):
    sys.path.insert(0, root)
    from sandbox import lockdown

    preparation = lockdown.Preparation.make()
    grown = []
    for line in sys.stdin:
        request = json.loads(line)
        grown.append(bytearray(request.get("grow", 0)))
        sources, names = request.get("sources", ()), request.get("names")
        begun = [_begin(source, names, preparation) for source in sources]
        print(json.dumps([_end(*process) for process in begun]), flush=True)


if __name__ == "__main__":
    assert ctypes, multiprocessing
    assert socket
    _serve(sys.argv[1])
