"""The frames that cross the two pipes, and their strict parser.

    header    magic, kind, sequence number, payload length     4 x uint32, little endian
    payload   a fixed head, then raw float64 arrays; or text in UTF-8

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
from typing import NamedTuple

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

#: The seed; whether to make a new policy object; whether to trace it; the seat. Constants follow.
BEGIN_HEAD = struct.Struct("<QHHI")
#: A seat: its place among the episodes that a process plays at the same time.
SEAT = struct.Struct("<I")
#: What the generators of ``prepare`` start from.
SEED_HEAD = struct.Struct("<Q")
#: A line of the program, and how many acts have reached it; one after the other.
LINE_HITS = struct.Struct("<II")
#: Steps, numbers in an observation and in an action, terminated, truncated, success (-1: unknown);
#: observations, actions and rewards (float64) and the trace (``sandbox.tracing``) follow.
EPISODE_HEAD = struct.Struct("<IIIBBbx")
#: Code, line, bytes of the message and of the output, which follow.
FAULT_HEAD = struct.Struct("<IiII")

#: Characters of an error message that are kept.
MAX_MESSAGE = 8000


class Kind(IntEnum):
    """Requests are below 16, replies above."""

    START = 1
    BEGIN = 2
    ACT = 3
    SUMMARIZE = 4
    OUTPUT = 5
    TRACE = 6
    LINES = 7
    PREPARE = 8
    FAILURE = 9
    DONE = 17
    ACTIONS = 18
    TEXT = 19
    FAULT = 20
    READY = 21
    DATA = 22


class Request(NamedTuple):
    """A kind of request: its name in messages, its one reply, and what else may come of it.

    Attributes:
        what: the call, in words.
        reply: the kind of its reply.
        limit: processor time that it may take: a field of ``Limits``, or seconds.
        faults: that may be reported instead, besides those of running code.
    """

    what: str
    reply: Kind
    limit: str | float = "act_seconds"
    faults: tuple[type[ProgramError], ...] = ()


REQUESTS: dict[int, Request] = {
    Kind.START: Request("loading the program", Kind.DATA, "init_seconds", (CompileError,)),
    Kind.BEGIN: Request("making the policy object", Kind.DONE, "init_seconds", (CompileError,)),
    Kind.ACT: Request("act()", Kind.ACTIONS, faults=(BadAction,)),
    Kind.SUMMARIZE: Request("summarize_trajectory()", Kind.TEXT),
    Kind.OUTPUT: Request("reading the output", Kind.TEXT, 0.1),
    Kind.TRACE: Request("reading the trace", Kind.DATA),
    Kind.LINES: Request("reading the counts of lines", Kind.DATA, 1.0),
    Kind.PREPARE: Request("prepare()", Kind.DATA, "prepare_seconds", (CompileError,)),
    Kind.FAILURE: Request("reading the failure", Kind.DATA),
}


def possible_faults(request: int) -> tuple[type[ProgramError], ...]:
    """Return the faults that a process may report in reply to a request."""
    return (*REQUESTS[request].faults, PolicyError, MemoryLimit, TimeLimit)


class FrameError(Exception):
    """Bytes that are not the frame that was expected."""


@dataclass(frozen=True)
class Fault:
    """A fault that the sandboxed process reports about its program; line -1 is unknown."""

    code: int
    line: int
    message: str
    output: str


def header(kind: int, sequence: int, length: int) -> bytes:
    """Return the 16 bytes before a payload of ``length`` bytes."""
    return HEADER.pack(MAGIC, kind, sequence & 0xFFFFFFFF, length)


def parse_header(data: bytes | bytearray | memoryview, sequence: int) -> tuple[Kind, int]:
    """Return kind and payload length of a reply to request number ``sequence``.

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
    """Return the payload of a FAULT frame."""
    message = fault.message.encode("utf-8", "replace")
    output = fault.output.encode("utf-8", "replace")
    return FAULT_HEAD.pack(fault.code, fault.line, len(message), len(output)) + message + output


def parse_fault(payload: bytes | memoryview) -> Fault:
    """Read the payload of a FAULT frame.

    Raises:
        FrameError: lengths that do not add up, or an unknown code.
    """
    data = bytes(payload)
    if len(data) < FAULT_HEAD.size:
        raise FrameError("a fault report is too short")
    code, line, message, output = FAULT_HEAD.unpack_from(data)
    if code >= len(REPORTED):
        raise FrameError(f"fault code {code} is unknown")
    if FAULT_HEAD.size + message + output != len(data):
        raise FrameError("the lengths in a fault report do not add up")
    middle = FAULT_HEAD.size + message
    return Fault(code, line, clean(data[FAULT_HEAD.size : middle]), clean(data[middle:]))


def clean(data: bytes | memoryview, most: int | None = None) -> str:
    """Decode text from the sandbox leniently.

    Control characters but newline and tab are replaced; at most ``most`` characters are kept.
    """
    text = bytes(data).decode("utf-8", "replace")[:most]
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text
    )
