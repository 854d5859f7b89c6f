"""What a run sets aside for the calls in flight, so that its limits on dollars and tokens hold.

For each try of a call the most that it may be billed is set aside before it is sent, at the full
price: the prompt by its bytes, as no tokenizer makes more tokens than bytes, and the tokens to
which the reply is limited (``max_tokens`` of the request). A reply gives that back for what it
cost. A try that brought none and may be billed all the same keeps it, and so does a reply that does
not tell its tokens or its price.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from promptpo.config import RunConfig
from promptpo.errors import LimitReached
from promptpo.llm.messages import Message
from promptpo.llm.prices import dearest_price, longest_reply
from promptpo.llm.providers import is_free
from promptpo.llm.usage import dollars, tokens_of
from promptpo.store.codec import decode, encode
from promptpo.store.events import Event
from promptpo.store.trials import Tally
from promptpo.types import Key

#: Tokens of a reply, at most, where a limit has to hold and none is given; and those below which no
#: call is worth its price.
REPLY, LEAST = 16_384, 1_500

#: Tokens of a request, and of each of its messages, beside its text.
_FRAME, _EACH = 64, 16


@dataclass(frozen=True)
class Bound:
    """The most that something may be billed: tokens and US dollars."""

    tokens: int = 0
    cost: float = 0.0

    def __add__(self, other: Bound) -> Bound:
        return Bound(self.tokens + other.tokens, self.cost + other.cost)


def prompt_bound(messages: Sequence[Message]) -> int:
    """Tokens that a prompt has, at most, whatever the tokenizer."""
    text = sum(len(m.content.encode("utf-8", "surrogatepass")) + _EACH for m in messages)
    return text + _FRAME


class Spending:
    """What is set aside, and what is lost: set aside for tries of which no bill is known.

    ``spent`` is what is known to be spent; ``past`` are the events of earlier sessions.
    """

    def __init__(self, config: RunConfig, spent: Tally, past: Sequence[Event] = ()) -> None:
        limited = config.max_cost is not None or config.max_tokens is not None
        self.config = config
        self.binds = limited and not is_free(config.model or "")
        self.lost = Bound()
        #: Why no call fits any more; empty while one may.
        self.ended = ""
        self._spent = spent
        self._held: dict[Key, Bound] = {}
        self._changed = asyncio.Event()
        for event in past:
            if event.type in ("reserved", "unbilled", "reply"):
                self._recall(event)
        for key in [*self._held]:  # cut short by a kill
            self.lose(key)

    def _recall(self, event: Event) -> None:
        key, data = decode(Key, event.data["key"]), event.data
        if event.type == "reserved":
            self.lose(key)
            self._held[key] = Bound(data["tokens"], data["cost"])
        elif event.type == "unbilled":
            self.free(key)
        else:
            self.settle(key, data.get("usage"), data.get("cost"))

    def lose(self, key: Key) -> None:
        """What is set aside for a call will not come back: no bill is known of it."""
        self.lost += self._held.pop(key, Bound())
        self._tell()

    def free(self, key: Key) -> None:
        """Nothing is set aside for a call any more."""
        self._held.pop(key, None)
        self._tell()

    def settle(self, key: Key, usage: object, cost: object) -> None:
        """A reply has come; what it does not tell is taken to be what was set aside."""
        held = self._held.pop(key, Bound())
        unknown = None in tokens_of(usage)
        price = held.cost if dollars(cost) is None else 0.0
        self.lost += Bound(held.tokens if unknown else 0, price)
        self._tell()

    async def reserve(self, key: Key, prompt: int, check: Callable[[], None]) -> tuple[int, Bound]:
        """Set aside what a try may be billed; returns tokens that the reply may have, and the sum.

        Waits while that does not fit beside the calls in flight. Where there is none, the reply
        may have what is left. Raises LimitReached where that is too little, and what ``check``
        raises.
        """
        most = self.config.max_reply_tokens or min(
            REPLY, longest_reply(self.config.model or "") or REPLY
        )
        while True:
            check()
            room = min(most, self._room(prompt))
            if room < most and self._held:
                await self._changed.wait()
                continue
            if room < min(most, LEAST):
                self.ended = self._refusal(prompt, min(most, LEAST))
                raise LimitReached(self.ended)
            self._held[key] = bound = self._bound(prompt, room)
            return room, bound

    def _bound(self, prompt: int, reply: int) -> Bound:
        price = dearest_price(self.config.model or "", prompt)
        return Bound(prompt + reply, price.of(prompt, reply) if price else 0.0)

    def _left(self) -> tuple[float, float]:
        """Tokens and dollars that are neither spent nor set aside."""
        gone = sum(self._held.values(), self.lost)
        config, spent = self.config, self._spent
        tokens = float("inf") if config.max_tokens is None else config.max_tokens
        cost = float("inf") if config.max_cost is None else config.max_cost
        return tokens - spent.known_tokens - gone.tokens, cost - spent.known_cost - gone.cost

    def _room(self, prompt: int) -> int:
        """Tokens of a reply for which there is room, after a prompt of so many."""
        tokens, cost = self._left()
        room = tokens - prompt
        price = dearest_price(self.config.model or "", prompt)
        if price is not None:
            room = min(room, (cost - price.of(prompt, 0)) / price.completion)
        return int(max(0.0, min(room, 1e12)))

    def _refusal(self, prompt: int, reply: int) -> str:
        config, least = self.config, self._bound(prompt, reply)
        if config.max_tokens is not None and self._left()[0] < least.tokens:
            limit, of = f"{config.max_tokens:,} tokens", f"{least.tokens:,}"
        else:
            limit, of = f"${config.max_cost:g}", f"${least.cost:.2g}"
        return f"the limit of {limit} leaves no room for another call, which may take {of}"

    def _tell(self) -> None:
        """Wake those that wait."""
        self._changed.set()
        self._changed = asyncio.Event()


class Allowance:
    """What a run allows one call; see ``promptpo.llm.messages.Allowance``.

    ``check`` raises LimitReached once no call may be sent any more, ``write`` writes an event down.
    """

    def __init__(
        self,
        spending: Spending,
        key: Key,
        messages: Sequence[Message],
        check: Callable[[], None],
        write: Callable[..., object],
    ) -> None:
        self.reply_tokens: int | None = None
        self._spending, self._key = spending, key
        self._prompt = prompt_bound(messages)
        self._check, self._write = check, write

    async def take(self) -> None:
        """Wait until there is room for a try, and set aside what it may be billed."""
        self._check()
        if not self._spending.binds:
            return
        self._spending.lose(self._key)
        self.reply_tokens, bound = await self._spending.reserve(
            self._key, self._prompt, self._check
        )
        self._write("reserved", key=encode(self._key), tokens=bound.tokens, cost=bound.cost)

    def give_back(self) -> None:
        """The try is not billed."""
        if self._spending.binds:
            self._spending.free(self._key)
            self._write("unbilled", key=encode(self._key))
