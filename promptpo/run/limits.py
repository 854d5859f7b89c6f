"""What a run has used, and the limits that end it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence, Set
from dataclasses import asdict

from promptpo.common.text import plural
from promptpo.config import RunConfig
from promptpo.errors import GoalReached, LimitReached
from promptpo.llm.messages import Reply
from promptpo.racing import standard_error
from promptpo.run.spending import Spending
from promptpo.spec import EnvSpec
from promptpo.store.codec import decode
from promptpo.store.events import Event
from promptpo.store.trials import Tally, Usage, searched
from promptpo.types import Candidate, Key, Round, Stream, best_round

#: A score is known well enough to be held against the best possible one where its standard error
#: is at most this share of what lies between that and random actions, from so many episodes on.
_NOISE, _EPISODES = 0.05, 10


def check_optimum(spec: EnvSpec, best: Candidate) -> None:
    """Raises GoalReached where a policy reaches the best possible score, as far as noise can tell.

    That score is what a spec states as its reference ``optimum``.
    """
    optimum, run = spec.reference_scores.get("optimum"), best.pooled
    if optimum is None or run is None or best.score.failed or len(run.returns) < _EPISODES:
        return
    chance = spec.reference_scores.get("random")
    worst = chance.mean_return if chance is not None else 0.0
    error = standard_error(run.life_returns)
    if error > _NOISE * abs(optimum.mean_return - worst):
        return
    rate = best.score.success_rate
    if rate is not None and optimum.success_rate is not None:
        spread = math.sqrt(max(rate * (1 - rate), 0.0) / len(run.returns))
        if rate + spread < optimum.success_rate:
            return
    if best.score.mean_return + error >= optimum.mean_return:
        told = f"{optimum.mean_return:.6g}"
        raise GoalReached(f"the best possible score, a return of {told}, is reached within noise")


class Ledger:
    """Knows what a run has spent in all its sessions, and what the limits still allow.

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
        """A new reply held something to play, or did not."""
        self._unreadable = 0 if readable else self._unreadable + 1

    def count_reply(self, reply: Reply, *, new: bool = True) -> list[str]:
        """A reply has come, a ``new`` one or one on record; unknown parts make a total unknown.

        Returns what the user should be told: limits that do not see all of the run any more.
        """
        self.reached.count(reply.usage, reply.cost)
        if not new:
            return []
        before = self.usage
        self.spent.count(reply.usage, reply.cost)
        now = self.usage
        lost = []
        how = "counts what was set aside for it" if self.spending.binds else "does not count it"
        if self.config.max_cost is not None and now.cost is None and before.cost is not None:
            lost.append(f"the price of {reply.model} is unknown: --max-cost {how}")
        if self.config.max_tokens is not None and not now.has_tokens and before.has_tokens:
            lost.append(f"{reply.model} does not tell its tokens: --max-tokens {how}")
        return lost

    def count_steps(self, stream: Stream, steps: int, *, new: bool) -> None:
        """Something has been played, a ``new`` thing or one on record; each thing counts once."""
        self.reached.step(stream, steps)
        if new:
            self.spent.step(stream, steps)

    def count_share(self, key: Key, steps: int) -> None:
        """A candidate has had these search steps of its round's share, whoever played them."""
        self._used[key.name] = self._used.get(key.name, 0) + steps

    def report(self, tell: Callable[..., None]) -> None:
        """Tell the listeners of a log the totals, and where in them the search stands."""
        reached = asdict(self.reached.usage)
        tell("usage", **asdict(self.usage), reached=reached, elapsed=self.elapsed)

    def reserve_call(self, key: Key) -> None:
        """Note that a call is about to be made. Raises LimitReached where none may be."""
        self.check()
        self._check_calls({key})
        self._open.add(key)

    def release_call(self, key: Key) -> None:
        """A reserved call has ended, with a reply or without."""
        self._open.discard(key)
        self.spending.lose(key)

    def check(self) -> None:
        """Raises LimitReached once cost, tokens or time are used up, or replies bring nothing."""
        c, lost = self.config, self.spending.lost
        if c.max_unreadable and self._unreadable >= c.max_unreadable:
            replies = "reply" if c.max_unreadable == 1 else "replies in a row"
            raise LimitReached(f"{c.max_unreadable:,} {replies} held nothing to play")
        if c.max_cost is not None and self.spent.known_cost + lost.cost >= c.max_cost:
            raise LimitReached(f"the limit of ${c.max_cost:g} is reached")
        if c.max_tokens is not None and self.spent.known_tokens + lost.tokens >= c.max_tokens:
            raise LimitReached(f"the limit of {c.max_tokens:,} tokens is reached")
        if self.spending.ended:
            raise LimitReached(self.spending.ended)
        if c.max_time is not None and self.elapsed >= c.max_time:
            raise LimitReached(f"the limit of {c.max_time:g} s is reached")

    def check_round(self) -> None:
        """Raises LimitReached where a round cannot begin, because nothing is left for it."""
        self.check()
        self._check_calls()

    def _check_calls(self, again: Set[Key] = frozenset()) -> None:
        """Raises LimitReached where no call is left, those in flight counted but for ``again``."""
        limit = self.config.max_calls
        if limit is not None and self.spent.usage.calls + len(self._open - again) >= limit:
            raise LimitReached(f"the limit of {plural(limit, 'model call')} is reached")

    def open_round(self, number: int, begun: int = 0, guests: Sequence[Key] = ()) -> int:
        """Candidates that the step limit allows in a round, each taking whole episodes at worst.

        What is left is shared out among them and the ``guests``, policies of earlier rounds that
        play along, and revisions of this one's; their repairs and all further episodes have to do
        with it: so nothing depends on whose reply comes first. ``begun`` candidates are on record
        already and stay. Raises LimitReached where not one fits.
        """
        limit = self.config.max_env_steps
        if limit is None:
            return self.config.candidates
        left = limit - searched(self.reached.usage.steps)
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
            left = min(left, config.max_env_steps - searched(reached))
        return max(left, 0)

    def check_tuning(self, steps: int) -> None:
        """Raises LimitReached where a limit is reached, or leaves no room for so many steps."""
        self.check()
        limit = self.config.max_env_steps
        if limit is not None and self.searched + self._reserved + steps > limit:
            raise LimitReached(
                f"the limit of {limit:,} environment steps leaves no room for {steps:,} more"
            )

    @property
    def searched(self) -> int:
        """Steps of the search so far, tuning included."""
        return searched(self.spent.usage.steps)

    def check_attempt(self, key: Key) -> None:
        """Raises LimitReached where one more attempt could take a candidate beyond its share."""
        self._check_share(key, self._each)

    def reserve_steps(self, key: Key, episodes: int) -> int:
        """Take the steps of so many whole search episodes from the budget; returns how many.

        A candidate of an open round takes them from its share; anything else from what the run
        has left. Raises LimitReached where they are not there.
        """
        steps = episodes * self.horizon
        if self._share is not None and self._sharing(key):
            self._check_share(key, steps)
            return 0
        limit = self.config.max_env_steps
        if limit is not None and self.searched + self._reserved + steps > limit:
            raise LimitReached(
                f"the limit of {limit:,} environment steps leaves no room for {steps:,} more"
            )
        self._reserved += steps
        return steps

    def release_steps(self, reserved: int) -> None:
        """What was reserved has been played, or will not be."""
        self._reserved -= reserved

    def _check_share(self, key: Key, steps: int) -> None:
        share = self._share if self._sharing(key) else None
        if share is not None and self._used.get(key.name, 0) + steps > share:
            raise LimitReached(
                f"the limit of {self.config.max_env_steps:,} environment steps leaves no room for"
                f" another attempt's {steps:,}"
            )

    def check_progress(self, rounds: Sequence[Round]) -> None:
        """Raises GoalReached when the target is met or the patience is at its end."""
        if not rounds:
            return
        best = best_round(rounds)
        score = best.winner.score
        target, patience = self.config.target, self.config.patience
        if target is not None and not score.failed and score.value >= target:
            raise GoalReached(f"the target of {target:g} is reached")
        if patience and len(rounds) - best.number >= patience:
            raise GoalReached(f"{plural(patience, 'round')} brought nothing better")
