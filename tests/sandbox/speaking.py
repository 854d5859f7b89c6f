"""Raw processes that speak the protocol, or break it; no language layer, no lock-down."""

import os
import subprocess
import sys
from dataclasses import replace

from sandbox import Box, Interface, Limits
from sandbox.frames import MAGIC, Kind, header
from sandbox.host.channel import Channel
from sandbox.host.policy import Policy
from sandbox.host.process import Process
from sandbox.host.replies import Calls
from sandbox.host.session import Program

#: A backstop of a fraction of a second for calls of a few hundredths.
LIMITS = Limits(wall_seconds=0.3)
CALLS = Calls("", LIMITS)

_PREAMBLE = """
import os, struct, time
R, W, MAGIC = {reader}, {writer}, {magic}
def exactly(n):
    data = b""
    while len(data) < n:
        data += os.read(R, n - len(data)) or os._exit(0)
    return data
def ask():
    global N
    _, kind, N, length = struct.unpack("<IIII", exactly(16))
    return exactly(length)
def say(kind, payload=b"", length=None):
    length = len(payload) if length is None else length
    data = struct.pack("<IIII", MAGIC, kind, N, length) + payload
    while data:
        data = data[os.write(W, data):]
def fault(code, message=b"", output=b"", line=-1):
    say(20, struct.pack("<IiII", code, line, len(message), len(output)) + message + output)
N = 0
DONE, ACTIONS, TEXT, DATA = 17, 18, 19, 22
"""
#: A process of a policy program up to the first act of its episode.
BEGUN = "ask(); say(DATA); ask(); say(DONE)\n"


def forger(script, limits=LIMITS):
    """A channel to a process that does whatever it likes with its pipes, and the process."""
    their_read, our_write = os.pipe()
    our_read, their_write = os.pipe()
    preamble = _PREAMBLE.format(reader=their_read, writer=their_write, magic=MAGIC)
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", preamble + script],
        pass_fds=(their_read, their_write),
        start_new_session=True,
    )
    os.close(their_read)
    os.close(their_write)

    def reap(pid):
        code = process.wait()
        return -code if code < 0 else code << 8

    held = Process(process.pid, os.pidfd_open(process.pid), reap, reap)
    return Channel(held, (our_read, our_write), limits), process


def forged_program(source="one\nline", action=None, limits=LIMITS, role="policy"):
    """A program whose processes are raw."""
    return Program(source, Interface(1, None, action or Box((1,))), limits, role=role)


def forged_policy(script, program=None):
    """A policy whose process is raw, in an episode; and the process."""
    program = program or forged_program()
    channel, process = forger(BEGUN + script + "\ntime.sleep(60)", program.limits)
    made = Policy(program, channel)
    made.begin(0, traced=True)
    return made, process


class Nobody(Process):
    """In place of a process, where only the bytes in the pipes matter."""

    def __init__(self):
        super().__init__(os.getpid(), -1, lambda pid: 0, lambda pid: None)

    def kill(self):
        self.alive = False

    def _finish(self):
        self.alive = False
        return 0

    def _ends_by_itself(self):
        return True


class Abandoned(Channel):
    """A channel that nobody need close: hundreds of them are made."""

    other_end = None

    def kill(self):
        super().kill()
        if self.other_end is not None:
            os.close(self.other_end)
            self.other_end = None

    def __del__(self):
        self.kill()


def written(data, limits=LIMITS, end=True):
    """A channel in which ``data`` has been written already; ``end``: and nothing can follow."""
    their_read, our_write = os.pipe()
    our_read, their_write = os.pipe()
    os.close(their_read)
    os.write(their_write, data)
    channel = Abandoned(Nobody(), (our_read, our_write), limits)
    if end:
        os.close(their_write)
    else:
        channel.other_end = their_write
    return channel


def policy_over(channel, action, seconds=5.0):
    """A policy that has begun, to which nothing was said by ``channel`` yet."""
    program = forged_program(action=action, limits=replace(LIMITS, act_seconds=seconds))
    made = Policy(program, written(header(Kind.DATA, 1, 0), end=False))
    made.close()
    made.channel = channel
    return made
