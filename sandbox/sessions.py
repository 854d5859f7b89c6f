"""Programs as the host sees them: a policy that acts, a summarizer that writes."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sandbox import frames
from sandbox.acting import ACT_HEAD
from sandbox.actions import no_action
from sandbox.answers import Answer, Answers
from sandbox.channel import Channel
from sandbox.child import EPISODE_HEAD, RESET_HEAD
from sandbox.errors import BadAction, ProgramError
from sandbox.forms import Form, Forms
from sandbox.frames import Kind
from sandbox.interface import Episode, FloatArray, Interface, Limits, action_as_dict
from sandbox.seeds import slot_seed

_OUTPUT_SECONDS = 0.1


class _Session:
    """What both kinds of program share."""

    def __init__(
        self,
        role: str,
        channel: Channel,
        source: str,
        interface: Interface,
        limits: Limits,
        extra_imports: tuple[str, ...],
    ) -> None:
        self._channel = channel
        self._interface = interface
        self._limits = limits
        self._output = ""
        task = {
            "role": role,
            "source": source,
            "interface": {**asdict(interface), "action": action_as_dict(interface.action)},
            "limits": asdict(limits),
            "extra_imports": extra_imports,
        }
        data = json.dumps(task).encode()
        self._answers = Answers(source, limits)
        answer = self._answers.to(Kind.START)
        try:
            self._request(Kind.START, data, answer, limits.init_seconds, "loading the program")
        except BaseException:
            channel.kill()
            raise

    def _request(
        self, kind: Kind, payload: bytes, answer: Answer, seconds: float, what: str
    ) -> memoryview:
        try:
            return self._channel.request(kind, payload, answer, seconds, what)
        except ProgramError as error:
            self._output = error.output or self._output
            raise

    @property
    def pid(self) -> int:
        """Process id of the program's process."""
        return self._channel.pid

    @property
    def output(self) -> str:
        """What the program has printed, capped, with a note where it was cut."""
        if self._channel.alive:
            try:
                answer = self._answers.to(Kind.OUTPUT)
                what = "reading the output"
                reply = self._request(Kind.OUTPUT, b"", answer, _OUTPUT_SECONDS, what)
            except ProgramError:
                return self._output
            self._output = frames.clean(reply, self._answers.output_chars)
        return self._output

    def close(self) -> None:
        """End the process; calling it twice is harmless."""
        self._channel.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class Policy(_Session):
    """A policy program in its own process. After any error it is dead; make a new one."""

    def __init__(
        self,
        channel: Channel,
        source: str,
        interface: Interface,
        limits: Limits,
        extra_imports: tuple[str, ...] = (),
        seed_key: bytes = b"",
    ) -> None:
        super().__init__("policy", channel, source, interface, limits, extra_imports)
        self._seed_key = seed_key
        self._asked: deque[Form] = deque()
        self._forms = Forms(interface, self._answers)

    def reset(self, slots: Sequence[int], seeds: Sequence[int], fresh: bool = True) -> None:
        """Begin an episode in each slot.

        Args:
            slots: numbers of lockstep episodes, chosen by the caller.
            seeds: one non-negative integer below 2**64 per slot; ``np.random`` and ``random`` of
                that slot start from a keyed hash of it (``Host.policy``: ``seed_key``).
            fresh: make a new object of the policy class. Otherwise keep the slot's object and call
                its ``reset()`` if it has one.

        Raises:
            ProgramError: the program failed.
        """
        if len(slots) != len(seeds):
            raise ValueError(f"{len(slots)} slots and {len(seeds)} seeds")
        hashes = [slot_seed(seed, self._seed_key) for seed in seeds]
        payload = b"".join(
            (
                RESET_HEAD.pack(len(slots), fresh),
                np.asarray(slots, np.int64).tobytes(),
                np.asarray(hashes, np.uint64).tobytes(),
            )
        )
        seconds = self._limits.init_seconds * max(1, len(slots))
        answer = self._answers.to(Kind.RESET, slots=slots)
        self._request(Kind.RESET, payload, answer, seconds, "making the policy object")
        self._forms.begin(slots)

    def act(
        self, slots: Sequence[int], observations: FloatArray | Sequence[FloatArray]
    ) -> NDArray[np.float64]:
        """Actions for k lockstep episodes, in one hand-over.

        Args:
            slots: the k episodes, each reset before.
            observations: float64 ``(k, n_obs)``; for ragged observations
                (``observation_size=None``) k vectors of any lengths.

        Returns:
            float64 ``(k, action.size)``, finite, integers in range for discrete spaces; a Box is
            not clipped.

        Raises:
            ProgramError: the program failed.
        """
        self.begin(slots, observations)
        return self.finish()

    def begin(self, slots: Sequence[int], observations: FloatArray | Sequence[FloatArray]) -> None:
        """First half of ``act``: returns at once, so that the caller can step other episodes.

        A second ``begin``, for other slots, may come before the first ``finish``: then the process
        never waits for work. Nothing else may be asked of this policy in between.
        """
        form = self._forms.get(tuple(slots))
        message = form.message
        if self._interface.observation_size is None:
            message = self._ragged(slots, observations)
        else:
            table = np.asarray(observations, np.float64)
            if table.shape != form.table.shape:
                raise ValueError(f"observations have shape {table.shape}, not {form.table.shape}")
            form.table[:] = table
        seconds = self._limits.act_seconds * len(slots)
        self._channel.send(Kind.ACT, message, form.answer, seconds, "act()")
        self._asked.append(form)

    def finish(self) -> NDArray[np.float64]:
        """Second half of ``act``: waits for the actions of the oldest ``begin``."""
        form = self._asked.popleft()
        try:
            self._channel.receive_into(form.reply)
        except ProgramError as error:
            self._output = error.output or self._output
            self._place(error, form)
            raise
        bad = form.check()
        if bad is not None:
            raise self._no_action(form, bad)
        form.acts += 1
        return form.actions.copy()

    def _no_action(self, form: Form, row: int) -> BadAction:
        """Found here and not by the program's process, which is not believed in any case."""
        if not self._asked:
            _ = self.output
        self.close()
        text = no_action(form.actions[row], self._interface.action)
        error = BadAction(text, slot=form.slots[row], output=self._output)
        self._place(error, form)
        return error

    def _place(self, error: ProgramError, form: Form) -> None:
        """Add the number of the act, where the process has named a slot that it was asked for."""
        if error.slot is not None and error.slot in form.slots:
            error.place(self._forms.steps(error.slot))

    @staticmethod
    def _ragged(slots: Sequence[int], observations: FloatArray | Sequence[FloatArray]) -> bytearray:
        rows = [np.asarray(row, np.float64).ravel() for row in observations]
        if len(rows) != len(slots):
            raise ValueError(f"{len(slots)} slots and {len(rows)} observations")
        parts = (
            ACT_HEAD.pack(len(slots), 1),
            np.asarray(slots, np.int64).tobytes(),
            np.array([row.size for row in rows], np.int64).tobytes(),
            np.concatenate(rows).tobytes(),
        )
        return frames.message(b"".join(parts))


class Summarizer(_Session):
    """A feedback program in its own process; one ``Feedback`` object serves all its episodes."""

    def __init__(
        self,
        channel: Channel,
        source: str,
        interface: Interface,
        limits: Limits,
        extra_imports: tuple[str, ...] = (),
    ) -> None:
        super().__init__("feedback", channel, source, interface, limits, extra_imports)

    def summarize(self, episode: Episode) -> str:
        """The program's text about one episode, capped at ``limits.text_chars``.

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
        payload = head + b"".join(array.tobytes() for array in arrays)
        reply = self._request(
            Kind.SUMMARIZE,
            payload,
            self._answers.to(Kind.SUMMARIZE),
            self._limits.act_seconds,
            "summarize_trajectory()",
        )
        return frames.clean(reply, self._answers.text_chars)
