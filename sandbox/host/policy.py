"""Policies as the host sees them: each process plays one episode at a time.

What a policy's generators start from tells nothing of its environment, whose own is a known
function of its seed, and seeds are small numbers that people choose. Were a program's generators
started from the seed itself, or from a hash of it that anybody can compute, the program could read
their state, try all likely seeds, and foretell every draw of the environment. So the hash has a
key: with one that the program cannot know, there is nothing to try. It is taken here, and the seed
never crosses.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sandbox import frames, tracing
from sandbox.frames import BEGIN_HEAD, EPISODE_HEAD, LINE_HITS, SEAT, SEED_HEAD, FrameError, Kind
from sandbox.host.channel import Channel
from sandbox.host.session import Program, Session
from sandbox.host.together import Acting, Together
from sandbox.interface import Episode, FloatArray
from sandbox.prepared import LIMIT, pack, unpack
from sandbox.tracing import MAX_STEPS, Value

#: One purpose, one function: a number for another purpose is unrelated.
_EPISODE = b"policy slot"


def episode_seed(seed: int, key: bytes) -> int:
    """Return what a policy's generators start from, in 0 .. 2**64 - 1.

    Args:
        seed: of the episode, in 0 .. 2**64 - 1.
        key: at most 64 bytes; the same key and seed give the same number.
    """
    data = int(seed).to_bytes(8, "little")
    digest = hashlib.blake2b(data, digest_size=8, key=key, person=_EPISODE).digest()
    return int.from_bytes(digest, "little")


class Seat(Acting):
    """One of the episodes that a process of a policy program plays at the same time.

    Attributes:
        may_trace: its class may name attributes to be traced; only then anything about it is asked.
        lives: how many policy objects it has made.
        number: its place among them.
    """

    def __init__(self, program: Program, channel: Channel, number: int | None = None) -> None:
        """``number``: of a process that has the program already; None: it plays no other."""
        super().__init__(program, channel, number is None)
        self.number = number or 0
        self.may_trace = tracing.DECLARATION in program.source
        self.lives = self._acts_before = 0

    def begin(
        self,
        seed: int,
        *,
        fresh: bool = True,
        traced: bool = False,
        constants: Sequence[float] = (),
    ) -> None:
        """Begin an episode.

        Args:
            seed: below 2**64, not negative; ``np.random`` and ``random`` start from a keyed hash
                of it (``Host.policy``: ``seed_key``).
            fresh: execute the module anew and make a new object of its policy class, with all of
                ``Limits.total_seconds``. Otherwise keep the object and call its ``reset()`` if it
                has one.
            traced: ``trace`` will be asked for.
            constants: the values at the program's places, all finite.

        Raises:
            ProgramError: the program failed.
            ValueError: another number of constants, or some are not finite.
        """
        values = np.asarray(constants, np.float64)
        if values.shape != (len(self.program.places),) or not np.isfinite(values).all():
            raise ValueError(f"{len(self.program.places)} finite constants are needed")
        if fresh and self.channel.alive:
            self.channel.renew()
        number = episode_seed(seed, self.program.seed_key)
        payload = BEGIN_HEAD.pack(number, fresh, traced, self.number) + values.tobytes()
        self.ask(Kind.BEGIN, payload)
        self.lives += bool(fresh)
        self._acts_before += self.acts
        self.acts = 0

    def trace(self) -> dict[str, tuple[Value, ...]]:
        """Return what the attributes that ``TRACE`` names were after each act of the episode.

        By name, as many values as there were acts; empty where nothing is named, or the episode
        was not to be traced. None stands for what is no number and no short string.

        Raises:
            ProgramError: the program failed, or its process answers with something else.
        """
        if not self.may_trace:
            return {}
        steps = min(self.acts, MAX_STEPS)
        reply = self.ask(Kind.TRACE, SEAT.pack(self.number), tracing.longest(steps))
        columns = self.parsed(lambda: tracing.parse(reply, steps))
        missing = (None,) * (self.acts - steps)
        return {name: (*values, *missing) for name, values in columns.items()}


class Policy(Seat):
    """A policy program in a process of its own, which plays one episode at a time.

    After any error it is dead; make a new one.
    """

    def act(self, observation: FloatArray) -> NDArray[np.float64]:
        """Return the action, float64 ``(action.size,)``, for an observation ``(n,)``.

        It is finite, and of integers in range for discrete spaces; a Box is not clipped.

        Raises:
            ProgramError: the program failed.
        """
        actions, errors = self._alone.act(np.asarray(observation)[np.newaxis])
        for error in errors.values():
            raise error
        action: NDArray[np.float64] = actions[0]
        return action

    @cached_property
    def _alone(self) -> Together:
        return Together([self])

    def line_hits(self) -> tuple[tuple[int, int], ...]:
        """Return each line that has run, in order, and in how many acts; 0: only outside of them.

        For programs of the role "counting". The process is not believed beyond what can be:
        some lines of the program, each once and in no more acts than there were.

        Raises:
            ProgramError: the program failed, or its process answers with something else.
        """
        reply = self.ask(Kind.LINES)
        lines, acts = self.program.calls.lines, self._acts_before + self.acts
        return self.parsed(lambda: _line_hits(reply, lines, acts))


def _line_hits(reply: memoryview, lines: int, acts: int) -> tuple[tuple[int, int], ...]:
    if len(reply) % LINE_HITS.size:
        raise FrameError("the counts of lines are cut off")
    hits_by_line: tuple[tuple[int, int], ...] = tuple(LINE_HITS.iter_unpack(reply))
    before = 0
    for line, hits in hits_by_line:
        if not before < line <= lines or hits > acts:
            raise FrameError(f"line {line} cannot have run in {hits} of {acts} acts")
        before = line
    return hits_by_line


#: One purpose, one function: a number for another purpose is unrelated.
_PREPARE = b"prepare"


@dataclass(frozen=True)
class Preparation:
    """Result of a program's ``prepare``.

    Attributes:
        values: what it returned, as ``sandbox.unpack`` reads it; equal values are equal bytes.
        output: what it printed, capped, with a note where it was cut.
        seconds: processor time that it took.
    """

    values: bytes
    output: str
    seconds: float


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
