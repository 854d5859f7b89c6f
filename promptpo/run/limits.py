"""The limits of a run: what it has used, what calls in flight may cost, and what ends it."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Sequence, Set
from dataclasses import asdict, dataclass

from promptpo.common.text import plural
from promptpo.config import RunConfig
from promptpo.errors import GoalReached, LimitReached
from promptpo.llm.messages import Message, Reply, dollars, tokens_of
from promptpo.llm.providers import dearest_price, is_free, longest_reply
from promptpo.racing import ranked_error
from promptpo.spec import EnvSpec
from promptpo.store.codec import decode, encode
from promptpo.store.events import Event
from promptpo.store.trials import Tally, Usage
from promptpo.types import Candidate, Key, Round, Stream, best_round

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
    """Return the most tokens that a prompt may have, whatever the tokenizer."""
    text = sum(len(m.content.encode("utf-8", "surrogatepass")) + _EACH for m in messages)
    return text + _FRAME


class Spending:
    """Dollars and tokens that are set aside for the calls in flight, so that the limits hold.

    For each try of a call the most that it may be billed is set aside before it is sent, at the
    full price: the prompt by its bytes, as no tokenizer makes more tokens than bytes, and the
    tokens to which the reply is limited (``max_tokens`` of the request). A reply frees that, at its
    own cost. A try without a reply that may be billed all the same keeps it: it is ``lost``; and so
    does a reply without its tokens or its price. ``spent`` is what is known to be spent; ``past``
    are the events of earlier sessions.
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
            data = event.data
            if event.type == "reserved":
                key = decode(Key, data["key"])
                self.lose(key)
                self._held[key] = Bound(data["tokens"], data["cost"])
            elif event.type == "unbilled":
                self.free(decode(Key, data["key"]))
            elif event.type == "reply":
                self.settle(decode(Key, data["key"]), data.get("usage"), data.get("cost"))
        for key in [*self._held]:  # cut short by a kill
            self.lose(key)

    def free(self, key: Key, lost: Bound | None = None) -> None:
        """Set nothing aside for a call any more; ``lost`` of it may have been billed."""
        if self._held.pop(key, None) is not None:
            self.lost += lost or Bound()
        self._changed.set()  # wakes those that wait
        self._changed = asyncio.Event()

    def lose(self, key: Key) -> None:
        """Count what is set aside for a call as spent: no bill is known of it."""
        self.free(key, self._held.get(key))

    def settle(self, key: Key, usage: object, cost: object) -> None:
        """Free what is set aside for a call with a reply, but for what the reply does not say."""
        held = self._held.get(key, Bound())
        tokens = held.tokens if None in tokens_of(usage) else 0
        self.free(key, Bound(tokens, held.cost if dollars(cost) is None else 0.0))

    async def reserve(self, key: Key, prompt: int, check: Callable[[], None]) -> tuple[int, Bound]:
        """Set aside what a try may be billed; return tokens that the reply may have, and the sum.

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
        """Return the tokens and dollars that are neither spent nor set aside."""
        used = sum(self._held.values(), self.lost)
        config, spent = self.config, self._spent
        tokens = float("inf") if config.max_tokens is None else config.max_tokens
        cost = float("inf") if config.max_cost is None else config.max_cost
        return tokens - spent.known_tokens - used.tokens, cost - spent.known_cost - used.cost

    def _room(self, prompt: int) -> int:
        """Return the tokens of a reply for which there is room, after a prompt of so many."""
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


class RunAllowance:
    """The share of one call in a run's limits; see ``promptpo.llm.messages.Allowance``.

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
        """Free what was set aside for a try that is not billed."""
        if self._spending.binds:
            self._spending.free(self._key)
            self._write("unbilled", key=encode(self._key))


#: A score is known well enough to be held against the best possible one where its standard error
#: is at most this share of what lies between that and random actions, from so many episodes on.
_NOISE, _EPISODES = 0.05, 10


def check_optimum(spec: EnvSpec, best: Candidate) -> None:
    """Raise GoalReached where a policy reaches the best possible score within noise.

    That score is the spec's reference ``optimum``.
    """
    optimum, run = spec.reference_scores.get("optimum"), best.pooled
    if optimum is None or run is None or best.score.failed or len(run.returns) < _EPISODES:
        return
    chance = spec.reference_scores.get("random")
    worst = chance.mean_return if chance is not None else 0.0
    error = ranked_error(run)
    if error > _NOISE * abs(optimum.mean_return - worst):
        return
    rate = best.score.success_rate
    if rate is not None and optimum.success_rate is not None:
        spread = math.sqrt(max(rate * (1 - rate), 0.0) / len(run.returns))
        if rate + spread < optimum.success_rate:
            return
    # Its worst tenth may be unknown; no policy's is above its mean.
    most = optimum.mean_return
    if best.score.worst_tenth is not None and optimum.worst_tenth is not None:
        most = optimum.worst_tenth
    if best.score.ranked + error >= most:
        score = f"a return of {most:.6g}"
        raise GoalReached(f"the best possible score, {score}, is reached within noise")


class Ledger:
    """The account of what a run has spent in all its sessions, and of what the limits allow.

    ``past`` are the events of earlier sessions: all that they spent counts from the start, whether
    or not this session asks for it again. Limits forbid what is new, never what is on record.
    ``earlier`` is the time in seconds that those sessions took. ``reached`` sums only what this
    session has come across so far, recorded or new: where the search stands.
    """

    def __init__(
        self, config: RunConfig, horizon: int, past: Sequence[Event] = (), earlier: float = 0.0
    ) -> None:
        self.config = config
        self.horizon = horizon
        self.spent, self.reached = Tally(), Tally()
        for event in past:
            self.spent.apply(event)
        self._each = config.first_episodes * horizon
        self._earlier = earlier
        self._started = time.monotonic()
        # Calls that are sent and not answered. Those that a kill cut short are asked again, and
        # keep their place until then: a resumed run decides as one that was never killed.
        keys = {
            kind: {decode(Key, e.data["key"]) for e in past if e.type == kind}
            for kind in ("prompt", "reply", "refused")
        }
        self._open = keys["prompt"] - keys["reply"] - keys["refused"]
        self.spending = Spending(config, self.spent, past)
        #: Replies since the last one that held something to play; those of this session alone.
        self._unreadable = 0
        self._reserved = 0
        self._used: dict[str, int] = {}
        self._share: int | None = None
        self._sharing: Callable[[Key], bool] = lambda _: False

    @property
    def elapsed(self) -> float:
        """Seconds that the run has taken, earlier sessions included."""
        return self._earlier + time.monotonic() - self._started

    @property
    def usage(self) -> Usage:
        """The totals of all sessions."""
        return self.spent.usage

    def count_reading(self, *, readable: bool) -> None:
        """Count a new reply that held something to play, or that did not."""
        self._unreadable = 0 if readable else self._unreadable + 1

    def count_reply(self, reply: Reply, *, new: bool = True) -> list[str]:
        """Count a reply, a ``new`` or a recorded one; unknown parts make a total unknown.

        Returns notices to the user: limits that do not see all of the run any more.
        """
        self.reached.count(reply.usage, reply.cost)
        if not new:
            return []
        before = self.usage
        self.spent.count(reply.usage, reply.cost)
        config, now, notices = self.config, self.usage, []
        how = "counts what was set aside for it" if self.spending.binds else "does not count it"
        if config.max_cost is not None and now.cost is None and before.cost is not None:
            notices.append(f"the price of {reply.model} is unknown: --max-cost {how}")
        if config.max_tokens is not None and not now.has_tokens and before.has_tokens:
            notices.append(f"{reply.model} does not tell its tokens: --max-tokens {how}")
        return notices

    def count_steps(self, stream: Stream, steps: int, *, new: bool) -> None:
        """Count what has been played, a ``new`` thing or a recorded one; each thing once."""
        self.reached.step(stream, steps)
        if new:
            self.spent.step(stream, steps)

    def count_share(self, key: Key, steps: int) -> None:
        """Count search steps of a candidate's share of its round, whoever played them."""
        self._used[key.name] = self._used.get(key.name, 0) + steps

    def report(self, tell: Callable[..., None]) -> None:
        """Tell the listeners of a log the totals, and where in them the search stands."""
        reached = asdict(self.reached.usage)
        tell("usage", **asdict(self.usage), reached=reached, elapsed=self.elapsed)

    def reserve_call(self, key: Key) -> None:
        """Count a call that is about to be made. Raises LimitReached where none may be."""
        self.check()
        self._check_calls({key})
        self._open.add(key)

    def release_call(self, key: Key) -> None:
        """Count a reserved call as ended, with a reply or without."""
        self._open.discard(key)
        self.spending.lose(key)

    def check(self) -> None:
        """Raise LimitReached once cost, tokens or time are used up, or replies bring nothing."""
        c, spent, lost = self.config, self.spent, self.spending.lost
        if c.max_unreadable and self._unreadable >= c.max_unreadable:
            replies = "reply" if c.max_unreadable == 1 else "replies in a row"
            raise LimitReached(f"{c.max_unreadable:,} {replies} held nothing to play")
        for used, limit, words in (
            (spent.known_cost + lost.cost, c.max_cost, "${:g}"),
            (spent.known_tokens + lost.tokens, c.max_tokens, "{:,} tokens"),
            (self.elapsed, c.max_time, "{:g} s"),
        ):
            if limit is not None and used >= limit:
                raise LimitReached(f"the limit of {words.format(limit)} is reached")
        if self.spending.ended:
            raise LimitReached(self.spending.ended)

    def check_round(self) -> None:
        """Raise LimitReached where a round cannot begin, because nothing is left for it."""
        self.check()
        self._check_calls()

    def _check_calls(self, again: Set[Key] = frozenset()) -> None:
        """Raise LimitReached where no call is left; those in flight count, but for ``again``."""
        limit = self.config.max_calls
        if limit is not None and self.spent.usage.calls + len(self._open - again) >= limit:
            raise LimitReached(f"the limit of {plural(limit, 'model call')} is reached")

    def open_round(self, number: int, begun: int = 0, guests: Sequence[Key] = ()) -> int:
        """Return how many candidates the step limit allows in a round.

        Each may take whole episodes at worst. What is left is shared out among them and the
        ``guests``: policies of earlier rounds that play along, and revisions of this one's. Repairs
        and further episodes are taken from these shares, so that nothing depends on whose reply
        comes first. ``begun`` candidates are recorded already and stay. Raises LimitReached where
        not one fits.
        """
        limit = self.config.max_env_steps
        if limit is None:
            return self.config.candidates
        left = limit - self.reached.usage.searched
        fitting = left // self._each - len(guests)
        allowed = max(min(fitting, self.config.candidates), begun)
        if allowed < 1:
            raise LimitReached(
                f"the limit of {limit:,} environment steps leaves no room for a candidate's"
                f" {self._each:,}"
            )
        names = {key.name for key in guests}
        self._share = left // (allowed + len(guests))
        self._sharing = lambda key: key.name in names or (key.round == number and key.candidate > 0)
        self._used = {}
        return allowed

    @property
    def tuning_left(self) -> int:
        """Steps of tuning that the run has left, within those of all search."""
        config, reached = self.config, self.reached.usage.steps
        if not config.tune:
            return 0
        left = config.tune_steps - reached.get("tuning", 0)
        if config.max_env_steps is not None:
            left = min(left, config.max_env_steps - self.reached.usage.searched)
        return max(left, 0)

    def check_tuning(self, steps: int) -> None:
        """Raise LimitReached where a limit is reached, or leaves no room for so many steps."""
        self.check()
        self._check_steps(steps)

    def _check_steps(self, steps: int) -> None:
        limit = self.config.max_env_steps
        if limit is not None and self.spent.usage.searched + self._reserved + steps > limit:
            raise LimitReached(
                f"the limit of {limit:,} environment steps leaves no room for {steps:,} more"
            )

    def check_attempt(self, key: Key) -> None:
        """Raise LimitReached where one more attempt could take a candidate beyond its share."""
        self._check_share(key, self._each)

    def reserve_steps(self, key: Key, episodes: int) -> int:
        """Take the steps of so many whole search episodes from the budget; return how many.

        A candidate of an open round takes them from its share; anything else from what the run
        has left. Raises LimitReached where they are not there.
        """
        steps = episodes * self.horizon
        if self._share is not None and self._sharing(key):
            self._check_share(key, steps)
            return 0
        self._check_steps(steps)
        self._reserved += steps
        return steps

    def release_steps(self, reserved: int) -> None:
        """Give back steps that have been played, or will not be."""
        self._reserved -= reserved

    def _check_share(self, key: Key, steps: int) -> None:
        share = self._share if self._sharing(key) else None
        if share is not None and self._used.get(key.name, 0) + steps > share:
            raise LimitReached(
                f"the limit of {self.config.max_env_steps:,} environment steps leaves no room for"
                f" another attempt's {steps:,}"
            )

    def check_progress(self, rounds: Sequence[Round]) -> None:
        """Raise GoalReached when the target is met or the patience is at its end."""
        if not rounds:
            return
        best = best_round(rounds)
        score = best.winner.score
        target, patience = self.config.target, self.config.patience
        if target is not None and not score.failed and score.value >= target:
            raise GoalReached(f"the target of {target:g} is reached")
        if patience and len(rounds) - best.number >= patience:
            raise GoalReached(f"{plural(patience, 'round')} brought nothing better")
