"""The frames that cross the two pipes, and their strict parser.

    header    magic, kind, sequence number, payload length     4 x uint32, little endian
    payload   a fixed head, then raw int64 / float64 arrays; or text in UTF-8

The host numbers its requests from 1; a reply carries the number of its request. A process says
once, by a reply to request 0, that it is locked down; it has no program yet. Requests are trusted
by the sandboxed process. Replies are not trusted by the host: whatever does not parse exactly, or
is no reply to the request (``host.replies``), raises ``FrameError`` and costs the program its life.
Nothing here is ever unpickled.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

from sandbox.errors import (
    REPORTED,
    BadAction,
    CompileError,
    MemoryLimit,
    PolicyError,
    ProgramError,
    TimeLimit,
)

HEADER = struct.Struct("<IIII")
MAGIC = 0x31504F50

#: Number of slots, whether to make new policy objects, how many of the slots are traced; slots
#: (int64), seeds (uint64) and the slots that are traced (int64) follow; where instances have
#: constants of their own, those of each slot (float64) instead of the last.
RESET_HEAD = struct.Struct("<III")
#: The slot whose trace or error is asked for.
SLOT_HEAD = struct.Struct("<q")
#: A line of the program, and how many acts have reached it; one after the other.
LINE_HITS = struct.Struct("<II")
#: What the generators of ``prepare`` start from.
SEED_HEAD = struct.Struct("<Q")
#: Number of slots, whether the observations are ragged; slots (int64), of ragged ones the lengths
#: (int64), and the numbers (float64) follow.
ACT_HEAD = struct.Struct("<II")
#: Steps, numbers in an observation and in an action, terminated, truncated, success (-1: unknown);
#: observations, actions and rewards (float64) and the trace (``sandbox.tracing``) follow.
EPISODE_HEAD = struct.Struct("<IIIBBbx")
#: Code, line, slot, bytes of the message and of the output, which follow.
FAULT_HEAD = struct.Struct("<IiiII")

#: Characters of an error message that are kept.
MAX_MESSAGE = 8000


class Kind(IntEnum):
    """Requests are below 16, replies above."""

    START = 1
    RESET = 2
    ACT = 3
    SUMMARIZE = 4
    OUTPUT = 5
    TRACE = 6
    LINES = 7
    ERROR = 8
    GIVE = 9
    PREPARE = 10
    DONE = 17
    ACTIONS = 18
    TEXT = 19
    FAULT = 20
    READY = 21
    DATA = 22


_RUNNING: tuple[type[ProgramError], ...] = (PolicyError, MemoryLimit, TimeLimit)

#: The faults that a process may report in reply to each request.
FAULTS: dict[int, tuple[type[ProgramError], ...]] = {
    Kind.START: (CompileError, *_RUNNING),
    Kind.RESET: _RUNNING,
    Kind.ACT: (BadAction, *_RUNNING),
    Kind.SUMMARIZE: _RUNNING,
    Kind.OUTPUT: _RUNNING,
    Kind.TRACE: _RUNNING,
    Kind.LINES: _RUNNING,
    Kind.ERROR: _RUNNING,
    Kind.GIVE: _RUNNING,
    Kind.PREPARE: _RUNNING,
}


class FrameError(Exception):
    """Bytes that are not the frame that was expected."""


@dataclass(frozen=True)
class Fault:
    """A fault that the sandboxed process reports about its program; -1 stands for unknown."""

    code: int
    line: int
    slot: int
    message: str
    output: str


def header(kind: int, sequence: int, length: int) -> bytes:
    """The 16 bytes before a payload of ``length`` bytes."""
    return HEADER.pack(MAGIC, kind, sequence & 0xFFFFFFFF, length)


def message(payload: bytes | bytearray) -> bytearray:
    """A request with room for its header."""
    return bytearray(HEADER.size) + payload


def put_header(request: bytearray, kind: int, sequence: int) -> None:
    """Fill in the header of a request made by ``message``."""
    length = len(request) - HEADER.size
    HEADER.pack_into(request, 0, MAGIC, kind, sequence & 0xFFFFFFFF, length)


def parse_header(data: bytes | bytearray | memoryview, sequence: int) -> tuple[Kind, int]:
    """Kind and payload length of a reply to request number ``sequence``.

    Raises:
        FrameError: not a header, not a reply, or a reply to something else.
    """
    if len(data) < HEADER.size:
        raise FrameError(f"{len(data)} bytes are no frame header")
    magic, kind, got, length = HEADER.unpack_from(data)
    if magic != MAGIC:
        raise FrameError("a frame does not begin as one")
    reply = _REPLIES.get(kind)
    if reply is None:
        raise FrameError(f"frame kind {kind} is no reply")
    if got != sequence & 0xFFFFFFFF:
        raise FrameError(f"reply number {got} does not answer request number {sequence}")
    return reply, length


_REPLIES = {kind.value: kind for kind in Kind if kind > 16}


def pack_fault(fault: Fault) -> bytes:
    """Payload of a FAULT frame."""
    message = fault.message.encode("utf-8", "replace")
    output = fault.output.encode("utf-8", "replace")
    numbers = (fault.code, fault.line, fault.slot, len(message), len(output))
    return FAULT_HEAD.pack(*numbers) + message + output


def parse_fault(payload: bytes | memoryview) -> Fault:
    """Read the payload of a FAULT frame.

    Raises:
        FrameError: lengths that do not add up, or an unknown code.
    """
    data = bytes(payload)
    if len(data) < FAULT_HEAD.size:
        raise FrameError("a fault report is too short")
    code, line, slot, message, output = FAULT_HEAD.unpack_from(data)
    if code >= len(REPORTED):
        raise FrameError(f"fault code {code} is unknown")
    if FAULT_HEAD.size + message + output != len(data):
        raise FrameError("the lengths in a fault report do not add up")
    middle = FAULT_HEAD.size + message
    return Fault(code, line, slot, clean(data[FAULT_HEAD.size : middle]), clean(data[middle:]))


def clean(data: bytes | memoryview, most: int | None = None) -> str:
    """Text from the sandbox, decoded leniently.

    No control characters but newline and tab, and no more than ``most`` characters.
    """
    text = bytes(data).decode("utf-8", "replace")[:most]
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text
    )
