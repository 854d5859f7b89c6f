"""The Feedback class of a search: written, repaired, revised, and what it makes of episodes."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from promptpo.common.plaintext import fenced
from promptpo.errors import LimitReached
from promptpo.llm.extraction import ReplyRejected, extract_code
from promptpo.llm.messages import Reply
from promptpo.methods.base import Services
from promptpo.prompts import promptpo as prompts
from promptpo.types import Candidate, Key


def _class_in(reply: Reply) -> str:
    """The source of the class in a reply. Raises ReplyRejected."""
    return extract_code(reply, "Feedback")


class Feedback:
    """Turns episodes into texts by a class that a model has written, or by the built-in one.

    ``source`` is the class in force; None where there is none that runs.
    """

    def __init__(self, services: Services) -> None:
        self.services = services
        self.source: str | None = None
        self._repairs = 0

    async def write(self) -> None:
        """Ask for the class."""
        messages = prompts.feedback_messages(self.services.spec, self.services.config)
        reply = await self.services.ask(Key(role="feedback"), messages, _class_in)
        with contextlib.suppress(LimitReached):  # of a repair: there is a summary without it
            await self._take(reply, 0)

    async def texts(self, of: Candidate, seeds: Sequence[int]) -> tuple[str, ...]:
        """A text on each of these search episodes of a candidate."""
        while self.source is not None:
            run = await self.services.summarize(of, self.source, seeds)
            if run.error is None:
                return run.texts
            said = fenced(self.source, "python")
            with contextlib.suppress(LimitReached):
                await self._repair(said, run.error, of.key.round)
        return (await self.services.summarize(of, None, seeds)).texts

    async def revise(self, source: str, of: Candidate, seeds: Sequence[int]) -> bool:
        """Use another class from now on, if it runs on these episodes; says whether it does."""
        if source == self.source:
            return False
        run = await self.services.summarize(of, source, seeds)
        if run.error is None:
            self.source = source
        return run.error is None

    async def _take(self, reply: Reply, round_: int) -> None:
        """Use the class in a reply from now on; a reply without one goes back for repair."""
        try:
            self.source = _class_in(reply)
        except ReplyRejected as e:
            await self._repair(reply.text.strip() or "(empty reply)", str(e), round_)

    async def _repair(self, said: str, error: str, round_: int) -> None:
        """Ask for a corrected class; the built-in summary takes over when repairs run out."""
        self.source = None
        services = self.services
        if self._repairs < services.config.options.max_repairs:
            self._repairs += 1
            key = Key(round_, 0, self._repairs, "feedback_repair")
            asked = prompts.feedback_messages(services.spec, services.config)
            messages = prompts.repair_messages(asked, said, "class", error)
            await self._take(await services.ask(key, messages, _class_in), round_)
