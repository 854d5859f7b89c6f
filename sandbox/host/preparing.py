"""``prepare`` of a program as the host sees it: it runs once, and what comes back is checked."""

from __future__ import annotations

import fcntl
import hashlib
import os
from dataclasses import dataclass, replace

from sandbox.errors import ProtocolError
from sandbox.frames import SEED_HEAD, Kind
from sandbox.host.channel import Channel
from sandbox.host.session import Session
from sandbox.interface import Interface, Limits
from sandbox.prepared import LIMIT, pack, unpack

#: One purpose, one function: a number for another purpose is unrelated.
_PREPARE = b"prepare"


@dataclass(frozen=True)
class Preparation:
    """What ``prepare`` of a program did.

    Attributes:
        values: what it returned, as ``sandbox.unpack`` reads it; equal values are equal bytes.
        output: what it printed, capped, with a note where it was cut.
        seconds: processor time that it took.
    """

    values: bytes
    output: str
    seconds: float


def limits_to_prepare(limits: Limits) -> Limits:
    """The limits of a process that only prepares."""
    return replace(limits, total_seconds=limits.init_seconds + limits.prepare_seconds)


def check_file(descriptor: int) -> None:
    """Whether a program's process may have the file.

    Raises:
        ValueError: it could be written to, or is empty.
    """
    if fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY:
        raise ValueError("the file for prepare must be open for reading only")
    if not os.fstat(descriptor).st_size:
        raise ValueError("the file for prepare is empty")


def _seed(source: str, key: bytes) -> int:
    """What the generators start from: from the program's text and the key alone."""
    data = source.encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(data, digest_size=8, key=key, person=_PREPARE).digest()
    return int.from_bytes(digest, "little")


class Preparing(Session):
    """A program in its own process, of which ``prepare`` runs and nothing else."""

    def __init__(
        self,
        channel: Channel,
        source: str,
        interface: Interface,
        limits: Limits,
        extra_imports: tuple[str, ...],
        seed_key: bytes,
    ) -> None:
        self._begun = channel.used
        super().__init__("prepare", channel, source, interface, limits, extra_imports)
        self._seed = _seed(source, seed_key)

    def run(self) -> Preparation:
        """Prepare.

        Raises:
            ProgramError: the program failed, or its process answers with something else.
        """
        expected = self._replies.to(Kind.PREPARE, LIMIT)
        seconds, payload = self._limits.prepare_seconds, SEED_HEAD.pack(self._seed)
        reply = bytes(self._request(Kind.PREPARE, payload, expected, seconds, "prepare()"))
        try:
            values = pack(unpack(reply))
        except ValueError as error:
            self.close()
            raise ProtocolError(f"the program broke the protocol: {error}") from None
        return Preparation(values, self.output, self._channel.used - self._begun)
