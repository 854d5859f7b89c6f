"""Programs that are asked once: ``prepare``, and summaries of episodes."""

from __future__ import annotations

import fcntl
import hashlib
import os
from dataclasses import dataclass, replace

from sandbox import frames, tracing
from sandbox.frames import EPISODE_HEAD, SEED_HEAD, Kind
from sandbox.host.session import Session
from sandbox.interface import Episode, Limits
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
    """Return the limits of a process that only prepares."""
    return replace(limits, total_seconds=limits.init_seconds + limits.prepare_seconds)


def check_file(descriptor: int) -> None:
    """Check that a program's process may have the file.

    Raises:
        ValueError: it could be written to, or is empty.
    """
    if fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY:
        raise ValueError("the file for prepare must be open for reading only")
    if not os.fstat(descriptor).st_size:
        raise ValueError("the file for prepare is empty")


def _seed(source: str, key: bytes) -> int:
    """Return what the generators start from: it follows from the program's text and the key."""
    data = source.encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(data, digest_size=8, key=key, person=_PREPARE).digest()
    return int.from_bytes(digest, "little")


class Preparing(Session):
    """A program in its own process, of which ``prepare`` runs and nothing else."""

    def run(self) -> Preparation:
        """Prepare.

        Raises:
            ProgramError: the program failed, or its process answers with something else.
        """
        program, begun = self.program, self.channel.used
        payload = SEED_HEAD.pack(_seed(program.source, program.seed_key))
        reply = bytes(self.ask(Kind.PREPARE, payload, LIMIT))
        values = self.parsed(lambda: pack(unpack(reply)))
        return Preparation(values, self.output, self.channel.used - begun)


class Summarizer(Session):
    """A feedback program in its own process; one ``Feedback`` object serves all its episodes."""

    def summarize(self, episode: Episode) -> str:
        """Return the program's text about one episode, capped at ``limits.text_chars``.

        Raises:
            ProgramError: the program failed.
        """
        success = -1 if episode.success is None else int(episode.success)
        head = EPISODE_HEAD.pack(
            len(episode.rewards),
            episode.observations.shape[1],
            episode.actions.shape[1],
            episode.terminated,
            episode.truncated,
            success,
        )
        arrays = (episode.observations, episode.actions, episode.rewards)
        trace = tracing.pack({n: tracing.Column(v) for n, v in episode.trace.items()})
        payload = b"".join([head, *(array.tobytes() for array in arrays), trace])
        return frames.clean(self.ask(Kind.SUMMARIZE, payload), self.program.calls.text_chars)
