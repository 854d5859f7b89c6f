"""Model calls of a run: within its limits, recorded before anything else, and paid for once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from promptpo.limits import Ledger
from promptpo.llm.prompt_hash import prompt_hash
from promptpo.llm.recording import reply_event
from promptpo.methods.base import LimitReached
from promptpo.store.events import EventLog
from promptpo.store.folder import RunFolder
from promptpo.store.past import Past
from promptpo.types import CallKey, LanguageModel, Message, Reply, Request


@dataclass
class Asker:
    """Asks the model of a run; ``record`` writes an event down unless the log has it already."""

    model: LanguageModel
    log: EventLog
    folder: RunFolder
    ledger: Ledger
    past: Past
    record: Callable[..., None]

    async def ask(self, key: CallKey, messages: Sequence[Message]) -> Reply:
        """The recorded reply to this call, or the model's. Raises LimitReached and ModelError."""
        request = Request(key, tuple(messages))
        if key in self.past.replies:
            recorded = self.past.replies[key]
            if recorded.prompt_sha256 != prompt_hash(messages):
                text = f"{key}: the prompt has changed since the run recorded its reply"
                self.log.emit("notice", text=text)
            self.folder.restore_call(key, messages, recorded.reply.text)
            self._count(recorded.reply, new=False)
            return recorded.reply
        self._reserve(key)
        try:
            self.folder.write_prompt(key, messages)
            self.log.emit("prompt", key=asdict(key), messages=[asdict(m) for m in messages])
            self.log.emit("call", transient=True, key=asdict(key), state="sent")
            reply = await self.model.ask(request)
        finally:
            self.ledger.release_call(key)
        self.log.emit("reply", **reply_event(request, reply), note=reply.note)
        self.folder.write_reply(key, reply.text)
        self._count(reply, new=True)
        return reply

    def _reserve(self, key: CallKey) -> None:
        """Note that a call is about to be made; where a limit forbids it, that is recorded."""
        try:
            self.past.check_allowed(key)
            if key.candidate:  # a policy that could not be played is not worth its price
                self.ledger.check_attempt(key.round, key.candidate)
            self.ledger.reserve_call(key)
        except LimitReached as limit:
            self.record("refused", key=asdict(key), reason=str(limit))
            raise

    def _count(self, reply: Reply, *, new: bool) -> None:
        for notice in self.ledger.count_reply(reply, new=new):
            self.log.emit("notice", text=notice)
        self.ledger.report(self.log)
