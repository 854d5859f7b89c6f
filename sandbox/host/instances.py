"""Several instances of one policy program in one process, each with constants of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sandbox import frames
from sandbox.frames import RESET_HEAD, SLOT_HEAD, Kind
from sandbox.host.channel import Channel
from sandbox.host.policy import Policy, slot_seed
from sandbox.interface import Box, FloatArray, Interface, Limits, Place, action_bounds

#: Bytes of an error that are read: of ``inside.instances.MAX_ERROR`` characters.
_ERROR_BYTES = 2000


class Instances(Policy):
    """A policy program whose slots have constants of their own, at the ``places`` of its text.

    An instance that fails, or whose action is none, leaves the others alone: its actions are NaN
    then. Time limits and memory are the process's: they end all, and the error names the slot
    where it is known. Nothing is traced.
    """

    role = "instances"

    def __init__(
        self,
        channel: Channel,
        source: str,
        interface: Interface,
        limits: Limits,
        extra_imports: tuple[str, ...] = (),
        seed_key: bytes = b"",
        places: Sequence[Place] = (),
        prepared: bytes = b"",
    ) -> None:
        self._places = tuple(places)
        super().__init__(
            channel, source, interface, limits, extra_imports, seed_key, places, prepared
        )
        self.may_trace = False

    def reset(
        self,
        slots: Sequence[int],
        seeds: Sequence[int],
        fresh: bool = True,
        traced: Sequence[int] = (),
        constants: Sequence[Sequence[float]] = (),
    ) -> None:
        """Begin an episode in each slot.

        Args:
            slots: numbers of lockstep episodes, chosen by the caller.
            seeds: as for any policy.
            fresh: make a new object, with the slot's constants.
            traced: none.
            constants: the values of each slot, one for each place and in their order.

        Raises:
            ProgramError: the process ran out of time or memory.
            ValueError: other numbers of slots, seeds and values, or values that are not finite.
        """
        values = np.asarray(constants, np.float64).reshape(len(slots), -1)
        if values.shape[1] != len(self._places) or not np.isfinite(values).all():
            raise ValueError(f"each slot has {len(self._places)} constants, all finite")
        if len(slots) != len(seeds) or traced:
            raise ValueError(f"{len(slots)} slots, {len(seeds)} seeds, {len(traced)} traced")
        hashes = [slot_seed(seed, self._seed_key) for seed in seeds]
        payload = b"".join(
            (
                RESET_HEAD.pack(len(slots), fresh, 0),
                np.asarray(slots, np.int64).tobytes(),
                np.asarray(hashes, np.uint64).tobytes(),
                values.tobytes(),
            )
        )
        self._begin(slots, payload)

    def finish(self) -> NDArray[np.float64]:
        """Second half of ``act``: rows that are no actions are NaN."""
        request = self._receive()
        request.acts += 1
        actions = request.actions.copy()
        actions[~_legal(actions, self._interface)] = np.nan
        return actions

    def error(self, slot: int) -> str:
        """Why a slot's instance failed, in its process's words; empty where it did not.

        Raises:
            ProgramError: the program failed.
        """
        seconds, payload = self._limits.act_seconds, SLOT_HEAD.pack(slot)
        expected = self._replies.to(Kind.ERROR, _ERROR_BYTES)
        reply = self._request(Kind.ERROR, payload, expected, seconds, "reading an error")
        return frames.clean(reply)


def _legal(actions: FloatArray, interface: Interface) -> NDArray[np.bool_]:
    """Which rows of actions ``(k, size)`` are actions."""
    space = interface.action
    with np.errstate(invalid="ignore"):
        if isinstance(space, Box):
            legal = np.isfinite(actions)
        else:
            low, high = action_bounds(space)
            legal = (actions >= low) & (actions <= high) & (actions == np.rint(actions))
    found: NDArray[np.bool_] = np.logical_and.reduce(legal, axis=1)
    return found
