"""Model calls of a run: within its limits, recorded before anything else, and paid for once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from promptpo.errors import LimitReached
from promptpo.llm.extraction import ReplyRejected, answer_text, policy_source
from promptpo.llm.messages import LanguageModel, Message, Reply, Request, as_data, prompt_hash
from promptpo.llm.recording import ReplyMissing, reply_event
from promptpo.run.limits import Ledger
from promptpo.run.spending import Allowance
from promptpo.store.codec import encode
from promptpo.store.events import EventLog
from promptpo.store.folder import RunFolder
from promptpo.store.memo import Memo
from promptpo.types import Key


@dataclass
class Asker:
    """Asks the model of a run; ``record`` writes an event down unless the log has it already."""

    model: LanguageModel
    log: EventLog
    folder: RunFolder
    ledger: Ledger
    memo: Memo
    record: Callable[..., None]

    async def ask(
        self, key: Key, messages: Sequence[Message], read: Callable[[Reply], object] | None = None
    ) -> Reply:
        """The recorded reply to this call, or the model's. Raises LimitReached and ModelError.

        ``read`` takes out of a reply what is to be played, and raises ReplyRejected or ValueError.

        A repair for which a recording has no reply is not made: where the recorded candidate ran,
        there is none.
        """
        ledger, write = self.ledger, self.log.emit
        allowance = Allowance(ledger.spending, key, messages, ledger.check, write)
        request = Request(key, tuple(messages), allowance)
        recorded = self.memo.record.replies.get(key)
        if recorded is not None:
            if recorded.prompt_sha256 != prompt_hash(messages):
                text = f"{key}: the prompt has changed since the run recorded its reply"
                self.log.emit("notice", text=text)
            self.folder.restore_call(key, messages, recorded.reply.text)
            self._count(recorded.reply, new=False)
            return recorded.reply
        self._reserve(key)
        try:
            self.log.emit("prompt", key=encode(key), messages=as_data(messages))
            self.folder.write_prompt(key, messages)
            self.log.emit("call", transient=True, key=encode(key), state="sent")
            reply = await self.model.ask(request)
        except ReplyMissing as missing:
            if not key.attempt:
                raise
            raise LimitReached(str(missing)) from None
        except LimitReached as limit:
            self.record("refused", key=encode(key), reason=str(limit))
            raise
        else:
            self.log.emit("reply", **reply_event(request, reply), note=reply.note)
            ledger.spending.settle(key, reply.usage, reply.cost)
        finally:
            ledger.release_call(key)
        self.folder.write_reply(key, reply.text)
        self._count(reply, new=True)
        self._judge(key, reply, read)
        return reply

    def _judge(self, key: Key, reply: Reply, read: Callable[[Reply], object] | None) -> None:
        """Count a reply that holds nothing to play; of one that need not, whether it is empty.

        Without ``read`` a policy is looked for where the key's role says that one was asked for.
        """
        if read is None and key.role == "policy":
            read = policy_source
        if self.model.name.partition(":")[0] == "recorded":
            return
        try:
            (read or answer_text)(reply)
        except (ReplyRejected, ValueError):
            self.ledger.count_reading(readable=False)
        else:
            if read is not None:
                self.ledger.count_reading(readable=True)

    def _reserve(self, key: Key) -> None:
        """Note that a call is about to be made; where a limit forbids it, that is recorded."""
        try:
            self.memo.check_allowed(key)
            if key.candidate:  # a policy that could not be played is not worth its price
                self.ledger.check_attempt(key)
            self.ledger.reserve_call(key)
        except LimitReached as limit:
            self.record("refused", key=encode(key), reason=str(limit))
            raise

    def _count(self, reply: Reply, *, new: bool) -> None:
        for notice in self.ledger.count_reply(reply, new=new):
            self.log.emit("notice", text=notice)
        self.ledger.report(self.log.emit)
