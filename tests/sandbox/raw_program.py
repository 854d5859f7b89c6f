"""Programs of ordinary Python in policy processes as they are: nothing of the language in between.

A process is given compiled code that the test has made, where it is given what another process of
its program has compiled. The code runs its text with the real builtins, and with the libraries of
the system, which the warm parent loads before the lock-down as it loads whatever a caller offers.
"""

import marshal
import os
import signal
import socket
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from sandbox import Box, Interface, Limits, Policy, Program, ProgramError, Together

#: What attacks need: after the lock-down nothing can be loaded.
LIBRARIES = (
    *("ctypes", "gc", "mmap", "multiprocessing", "multiprocessing.shared_memory", "os", "pickle"),
    *("resource", "select", "signal", "socket", "struct", "subprocess", "sys", "threading"),
)
INTERFACE = Interface(3, None, Box((2,)))
LIMITS = Limits(
    act_seconds=0.1, init_seconds=0.5, prepare_seconds=0.1, memory_mb=256, wall_seconds=2
)
#: Where the attacks try to write.
TRACE = Path("/tmp/sandbox-escape")  # noqa: S108
PAGES = bytes(range(256)) * 32

#: A builtin function knows its module.
_ENTRY = """
_space = {{"__name__": "raw", "__builtins__": abs.__self__, **{names!r}}}
abs.__self__.exec({text!r}, _space)
globals = abs.__self__.globals
globals().update((n, v) for n, v in _space.items() if not n.startswith("__"))
"""
_PREAMBLE = """
import ctypes, gc, json, math, mmap, multiprocessing, os, pickle, random, resource, select, signal
import socket, struct, subprocess, sys, threading, time
import numpy as np
libc = ctypes.CDLL(None, use_errno=True)
R, W, MAGIC = 3, 4, 0x31504F50
def _try(call, *args):
    try:
        call(*args)
        return True
    except OSError:
        return False
def result(number, *arguments):
    # Of a system call; an error with a minus.
    libc.syscall.restype = ctypes.c_long
    given = libc.syscall(*map(ctypes.c_long, (number, *arguments)))
    return -ctypes.get_errno() if given == -1 else given
def call(number, *arguments):
    return result(number, *arguments) >= 0
def frame(kind, number, payload=b"", length=None, magic=MAGIC):
    length = len(payload) if length is None else length
    return struct.pack("<IIII", magic, kind, number & 0xFFFFFFFF, length) + payload
def server():
    # The locals of the loop that serves requests.
    found = sys._getframe()
    while "pipes" not in found.f_locals:
        found = found.f_back
    return found.f_locals
def number():
    return server()["pipes"].sequence
def address():
    # Of the file that is mapped.
    return np.frombuffer(server()["self"]._recorded, np.uint8).__array_interface__["data"][0]
"""
#: A policy whose act says what came of ``attack``.
ACT = """
class Policy:
    def act(self, obs):
        try:
            print(f"returned {attack()!r}"[:4000])
        except Exception as error:
            print(f"raised {error!r}"[:4000])
        return [0.0, 0.5]
"""


def raw(text, names=None, interface=INTERFACE, limits=LIMITS, **fields):
    """A program of ordinary Python: every process of it has the code of the test."""
    entry = _ENTRY.format(names=names or {}, text=_PREAMBLE + text)
    code = marshal.dumps((compile(entry, "<raw>", "exec", dont_inherit=True), {}, ()))
    libraries = (*LIBRARIES, *(("scipy.linalg",) if "scipy" in text else ()))
    return Program("", interface, limits, libraries, code=code, **fields)


def opened(host, program, file=None):
    """A process of such a program, in which a file may be mapped; in an episode."""
    policy = Policy(program, host._spawn(program, file))
    policy.begin(7)
    return policy


_WITNESS = """
import math
class Policy:
    def __init__(self):
        self.steps = 0
    def act(self, obs):
        self.steps += 1
        return [math.sin(self.steps), obs[0]]
# Nobody else may read this: {secret}
"""


class Outside:
    """What an attack might reach, and whether one has.

    Attributes:
        names: what attacks are told of it.
    """

    def __init__(self, host, folder, secret):
        self.victim, self.mapped = folder / "victim", folder / "mapped"
        self.secret, self.host = secret, host
        self._signals = []
        self.restore()
        self._stack = ExitStack()
        self._file = os.open(self.mapped, os.O_RDONLY)
        self._stack.callback(os.close, self._file)
        self._servers = [
            socket.create_server(("127.0.0.1", 0)),
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM),
        ]
        self._servers[1].bind(("127.0.0.1", 0))
        self._servers[2].bind(f"\0sandbox-{os.getpid()}")
        for server in self._servers:
            self._stack.enter_context(server).setblocking(False)
        for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGALRM, signal.SIGHUP, signal.SIGIO):
            before = signal.signal(number, lambda number, _: self._signals.append(number))
            self._stack.callback(signal.signal, number, before)
        witness = Program(_WITNESS.format(secret=secret), INTERFACE)
        self._witness = self._stack.enter_context(host.open(witness))
        self._witness.begin(3)
        for text in ("# scipy", ""):  # each has a warm parent, which stays
            host.open(raw(text)).close()
        self.parents = [parent.pid for parent in host._parents.values()]
        tcp, udp, _ = self._servers
        self.names = {
            "VICTIM": str(self.victim),
            "MAPPED": str(self.mapped),
            "PORT": tcp.getsockname()[1],
            "UDP": udp.getsockname()[1],
            "ABSTRACT": f"\0sandbox-{os.getpid()}",
            "HOST": os.getpid(),
            "PARENT": self.parents[-1],
            "WITNESS": self._witness.pid,
        }
        self.descriptors = self._open()

    def restore(self):
        """Let everything be as if nothing had happened."""
        self.victim.write_text(self.secret)
        self.victim.chmod(0o644)
        self.mapped.write_bytes(PAGES)
        self._signals.clear()

    @staticmethod
    def _open():
        return len(list(Path("/proc/self/fd").iterdir()))

    def attacked(self, program):
        """What a program that acts twice beside another printed or reported; [] where it acts."""
        row = np.arange(3.0)
        output, self._wrong = "", []
        try:
            with opened(self.host, program, self._file) as policy:
                together = Together([policy, self._witness])
                for _ in range(2):
                    actions, errors = together.act([row, row])
                    steps = self._witness.acts
                    if actions[1].tolist() != [np.sin(steps), 0.0] or 1 in errors:
                        self._wrong.append(f"the other policy acted {actions[1]}, {errors.get(1)}")
                    if 0 in errors:
                        raise errors[0]
                    if not np.isfinite(actions[0]).all():
                        self._wrong.append(f"{actions[0]} is no action")
                output = policy.output
        except ProgramError as error:
            output = f"{error.kind}: {error.message}{error.output}"
        if not all(c.isprintable() or c in "\n\t" for c in output) or len(output) > 20_000:
            self._wrong.append("a text that is no plain text")
        return output

    def effects(self, output=""):
        """What of all that has changed, is known, or has happened."""
        found = list(getattr(self, "_wrong", []))
        if TRACE.exists() or TRACE.is_symlink():
            found.append(f"{TRACE} was made")
        if not self.victim.exists() or self.victim.read_text() != self.secret:
            found.append("the file was changed")
        elif self.victim.stat().st_mode & 0o777 != 0o644 or self.victim.stat().st_nlink != 1:
            found.append("what is known of the file was changed")
        if self.mapped.read_bytes() != PAGES:
            found.append("the mapped file was changed")
        if self.secret in output:
            found.append("the secret is known")
        if "root:" in output:
            found.append("/etc/passwd was read")
        for server in self._servers:
            try:
                server.accept() if server is self._servers[0] else server.recv(100)
            except BlockingIOError:
                continue
            found.append("something was sent")
        found += [f"signal {number}" for number in self._signals]
        if self._open() != self.descriptors:
            found.append(f"{self._open()} descriptors are open instead of {self.descriptors}")
        parents = [parent.pid for parent in self.host._parents.values() if not parent.lost]
        if parents[: len(self.parents)] != self.parents:
            found.append("a warm parent has ended")
        return found

    def close(self):
        self._stack.close()
