"""The sandboxed process's end of the two pipes: whole requests in, whole replies out."""

from __future__ import annotations

import io
import os

from sandbox import frames
from sandbox.frames import HEADER, Kind

#: What most requests fit into. A process touches all of it: more would cost every start.
_CHUNK = 1 << 12


class Closed(Exception):
    """The host is gone, or done with this process."""


class Pipes:
    """One request at a time, at the beginning of ``buffer`` until the next is received.

    Attributes:
        readinto: reads what comes into a buffer.
        buffer: the request, header first; another object once a request has needed a longer one.
        end: of the request.
    """

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self.readinto = io.FileIO(read_fd, closefd=False).readinto
        self._writer = write_fd
        self.buffer = bytearray(_CHUNK)
        self.end = 0

    def receive(self, have: int = 0) -> int:
        """Return the kind of the next request, of which ``have`` bytes are read already.

        Raises:
            Closed: there is none.
        """
        have = self._read(have, HEADER.size)
        kind: int
        _, kind, _, length = HEADER.unpack_from(self.buffer)
        self.end = HEADER.size + length
        if have < self.end:
            self._read(have, self.end)
        return kind

    @property
    def sequence(self) -> int:
        """Number of the request."""
        number: int = HEADER.unpack_from(self.buffer)[2]
        return number

    @property
    def payload(self) -> memoryview:
        """What follows the header of the request."""
        return memoryview(self.buffer)[HEADER.size : self.end]

    def _read(self, have: int, need: int) -> int:
        """Read on until there are ``need`` bytes; return how many there are."""
        if need > len(self.buffer):
            self.buffer = self.buffer[:have] + bytes(need - have)
        while have < need:
            got = self.readinto(memoryview(self.buffer)[have:])
            if not got:
                raise Closed
            have += got
        return have

    def reply(self, kind: Kind, payload: bytes = b"") -> None:
        """Write one reply to the request."""
        self.write(frames.header(kind, self.sequence, len(payload)) + payload)

    def write(self, data: bytes | bytearray) -> None:
        """Write one whole frame."""
        sent = os.write(self._writer, data)
        while sent < len(data):
            sent += os.write(self._writer, memoryview(data)[sent:])
