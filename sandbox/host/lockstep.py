"""Many episodes of one program in one process, step by step: where none of them counts.

A hand-over to a process of its own costs some 16 us for each episode and step, to a process that
plays sixteen 5 (``benchmarks/sandbox_throughput.py``). Episodes of honest programs do not notice
each other: each has a namespace and an object of its own. Those of others may; so what is scored
for good is never played so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from sandbox.errors import ProgramError, SandboxError
from sandbox.frames import SEAT, Kind
from sandbox.host.channel import Channel
from sandbox.host.policy import Seat
from sandbox.host.session import Program, Session
from sandbox.host.together import Acting, Together, bad_action, bad_rows
from sandbox.interface import FloatArray

#: Takes observations to actions, and to errors by row.
Acts = Callable[[FloatArray], tuple[NDArray[np.float64], dict[int, SandboxError]]]
#: What episodes in one process would share: generators, clocks, what is printed.
_SHARED = re.compile(r"\b(random|print|scipy)\b|\bimport\b.*\btime\b|\bfrom\s+time\b")


def keeps_lockstep(program: Program) -> bool:
    """Tell whether the program's episodes can be played in one process."""
    return (
        program.role == "policy"
        and program.interface.observation_size > 0
        and not program.extra_imports
        and _SHARED.search(program.source) is None
    )


class Lockstep(Session):
    """A process of a policy program that plays several episodes at the same time.

    Where a program fails in one seat, that episode is over and the others go on. Where its process
    ends (memory, a crash, an act that cannot be interrupted), all are over, and it is not known
    which of them did it.

    Attributes:
        seats: what plays them. Use none of them after the process has ended.
    """

    def __init__(self, program: Program, channel: Channel, count: int) -> None:
        super().__init__(program, channel)
        self.seats = [Seat(program, channel, number) for number in range(count)]
        self._together = Together([Acting(program, channel, start=False)], count)
        self._observations = np.empty((count, program.interface.observation_size))
        self._row = self._observations.reshape(1, -1)
        self._size = program.interface.action.size
        self._call = program.calls.to(Kind.ACT)
        self._bad = bad_rows(program.interface.action)

    def together(self, seats: Sequence[Seat]) -> Acts:
        """Return what takes observations ``(k, n_obs)``, one for each of ``seats``.

        It returns actions and errors as ``Together.act`` does, and is good until the next call of
        this method. It raises ProgramError, SandboxFailed and Disturbed where the process ends.
        """
        rows = np.array([seat.number for seat in seats])
        self._observations.fill(np.nan)

        def act(observations: FloatArray) -> tuple[NDArray[np.float64], dict[int, SandboxError]]:
            self._observations[rows] = observations
            table, ends = self._together.act(self._row)
            for end in ends.values():
                raise end
            actions = table.reshape(-1, self._size)[rows]
            errors = {row: self._failure(seats[row], actions[row]) for row in self._bad(actions)}
            for row, seat in enumerate(seats):
                seat.acts += row not in errors
            return actions, errors

        return act

    def _failure(self, seat: Seat, action: FloatArray) -> SandboxError:
        """Return why a seat has no action; its process is not believed to have checked."""
        body = self.ask(Kind.FAILURE, SEAT.pack(seat.number), self._call.max_fault_bytes)
        error: ProgramError = bad_action(self.program.interface.action, action)
        if body:
            error = self.parsed(lambda: self._call.error(body))
        error.step = seat.acts
        return error
