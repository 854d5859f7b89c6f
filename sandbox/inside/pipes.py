"""The sandboxed process's end of the two pipes: whole requests in, whole replies out."""

from __future__ import annotations

import io
import os

from sandbox import frames
from sandbox.frames import HEADER, Kind

#: What a pipe holds.
_CHUNK = 1 << 16


class Closed(Exception):
    """The host is gone, or done with this process."""


class Pipes:
    """One request at a time, kept at the beginning of ``buffer`` until the next is received.

    Attributes:
        buffer: the request, header first; another object once a request has needed a longer one.
        end: of the request.
        sequence: number of the request.
    """

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._readinto = io.FileIO(read_fd, closefd=False).readinto
        self._writer = write_fd
        self._have = 0
        self.buffer = bytearray(_CHUNK)
        self.end = 0
        self.sequence = 0

    def receive(self) -> int:
        """Kind of the next request.

        Requests may have come together: what follows the first is kept.

        Raises:
            Closed: there is none.
        """
        rest = self._have - self.end
        if rest:
            self.buffer[:rest] = self.buffer[self.end : self._have]
        self._have = rest
        if rest < HEADER.size:
            self._read(HEADER.size)
        kind: int
        _, kind, self.sequence, length = HEADER.unpack_from(self.buffer)
        self.end = HEADER.size + length
        if self._have < self.end:
            self._read(self.end)
        return kind

    @property
    def payload(self) -> memoryview:
        """What follows the header of the request."""
        return memoryview(self.buffer)[HEADER.size : self.end]

    def _read(self, need: int) -> None:
        """Read on until there are at least ``need`` bytes."""
        if need > len(self.buffer):
            self.buffer = self.buffer[: self._have] + bytes(need - self._have)
        while self._have < need:
            room = memoryview(self.buffer)[self._have :] if self._have else self.buffer
            got = self._readinto(room)
            if not got:
                raise Closed
            self._have += got

    def reply(self, kind: Kind, payload: bytes = b"") -> None:
        """Write one reply to the request."""
        self.write(frames.header(kind, self.sequence, len(payload)) + payload)

    def write(self, data: bytes | bytearray) -> None:
        """Write one whole frame."""
        sent = os.write(self._writer, data)
        while sent < len(data):
            sent += os.write(self._writer, memoryview(data)[sent:])
