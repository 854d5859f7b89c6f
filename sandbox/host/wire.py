"""The host's ends of the two pipes to a process: whole requests out, whole replies in.

Nothing blocks but ``Patience.wait``, and nothing is read beyond what was asked for.
"""

from __future__ import annotations

import io
import os
import select
from collections.abc import Callable
from contextlib import suppress

from sandbox import frames
from sandbox.frames import HEADER, FrameError, Kind
from sandbox.host.clock import Patience
from sandbox.host.replies import ExpectedReply

_CHUNK = 1 << 16


class Wire:
    """Owns the descriptors.

    Attributes:
        readinto: reads what is there into a buffer; None if there is nothing, 0 at the end.
        poll: has an event when there is something to read.
        early: replies that came while a request was written.
    """

    def __init__(self, reader: int, writer: int) -> None:
        self._reader, self._writer = reader, writer
        os.set_blocking(reader, False)
        os.set_blocking(writer, False)
        self.readinto = io.FileIO(reader, closefd=False).readinto
        self.poll = select.poll()
        self.poll.register(reader, select.POLLIN)
        self.early = b""

    def write(self, message: bytearray, patience: Callable[[], Patience], replies: int) -> None:
        """Write a whole request.

        Args:
            message: the request.
            patience: asked for if the pipe is full.
            replies: bytes that may come meanwhile. A process may first have to get rid of its
                replies to earlier requests before it reads on.

        Raises:
            BrokenPipeError: the process has ended.
            EOFError: it has closed its other pipe.
            FrameError: more came than may.
            Exhausted, Stalled: the time is over.
        """
        try:
            sent = os.write(self._writer, message)
        except BlockingIOError:
            sent = 0
        if sent == len(message):
            return
        rest = memoryview(bytes(message))[sent:]
        poll = select.poll()
        poll.register(self._writer, select.POLLOUT)
        if replies:
            poll.register(self._reader, select.POLLIN)
        left = patience()
        while rest:
            left.wait(poll)
            if replies:
                self._take_early(replies)
            with suppress(BlockingIOError):
                rest = rest[os.write(self._writer, rest) :]

    def _take_early(self, most: int) -> None:
        with suppress(BlockingIOError):
            got = os.read(self._reader, _CHUNK)
            if not got:
                raise EOFError
            self.early += got
        if len(self.early) > most:
            raise FrameError("more bytes than were asked for")

    def read(
        self, sequence: int, expected: ExpectedReply, patience: Patience, data: bytes, alone: bool
    ) -> tuple[Kind, memoryview]:
        """Kind and payload of one whole frame.

        Args:
            sequence: number of the request.
            expected: what may come.
            patience: for all of it.
            data: what of it was read already.
            alone: no other request is under way, so not a byte may follow.

        Raises:
            FrameError: this is no such frame.
            EOFError: the process has closed its pipe.
            Exhausted, Stalled: the time is over.
        """
        data, self.early = self.early + data, b""
        extra = 1 if alone else 0  # room for one byte shows what follows
        data = self._read(data, HEADER.size, HEADER.size + expected.min_bytes + extra, patience)
        kind, length = frames.parse_header(data, sequence)
        expected.check(kind, length)
        total = HEADER.size + length
        data = self._read(data, total, total + extra, patience)
        if alone and len(data) > total:
            raise FrameError("bytes follow the frame")
        self.early = data[total:]
        return kind, memoryview(data)[HEADER.size : total]

    def _read(self, data: bytes, need: int, most: int, patience: Patience) -> bytes:
        """Read on until there are at least ``need`` bytes, and at most ``most``."""
        parts, have = [data], len(data)
        while have < need:
            patience.wait(self.poll)
            got = os.read(self._reader, most - have)
            if not got:
                raise EOFError
            parts.append(got)
            have += len(got)
        return b"".join(parts)

    def close(self) -> None:
        """Give the descriptors back; once."""
        os.close(self._reader)
        os.close(self._writer)
