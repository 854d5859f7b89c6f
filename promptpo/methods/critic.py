"""R2PO's Critic (arXiv 2605.08315) on code: a policy that has played is revised, by what it did.

After a round's first episodes its winner (``--critic winner``), or every policy that was written in
it (``all``), goes to a model in a conversation of its own: its source, statistics of all episodes,
and the median one step by step, with its rewards. The edits that come back make another candidate
of the round, which plays the same episodes; the better of the two stays, as between any two. What
is the paper's: a fresh reader, aggregate statistics, one median trajectory in full, leaving alone
what does well. What is not: source in place of parameters, common episodes in place of fresh ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from promptpo.common.concurrency import all_of
from promptpo.llm.edits import revised
from promptpo.llm.messages import Reply
from promptpo.methods.base import Services
from promptpo.methods.contest import Contest
from promptpo.methods.writing import Author, Order
from promptpo.prompts.promptpo import Memory, revisions
from promptpo.types import Candidate, Key, best_of

#: The role of its calls, as the log has it.
ROLE = "critic"


class Critic:
    """Has policies of a round revised."""

    def __init__(self, services: Services, author: Author) -> None:
        self.services = services
        self.author = author
        self.config = services.config

    def keys(self, number: int, taken: int = 0) -> list[Key]:
        """The keys of a round's revisions, after all that a model is asked to write in it."""
        first = max(self.config.candidates, taken) + 1
        return [Key(number, first + i) for i in range(revisions(self.config))]

    async def revise(
        self,
        contest: Contest,
        candidates: Sequence[Candidate],
        best: Candidate | None,
        memory: Memory,
    ) -> list[Candidate]:
        """The revisions of a round's candidates, after the round's first episodes.

        ``best`` is the best policy of earlier rounds; ``memory`` is what its candidates were told.
        """
        taken = max((c.key.candidate for c in candidates), default=0)
        keys = self.keys(contest.number, taken)
        jobs = [
            self._revision(key, of, contest, best, memory)
            for key, of in zip(keys, self._chosen(candidates), strict=False)
        ]
        return await all_of(jobs)

    def _chosen(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Those that are revised, of those that got through their episodes."""
        played = [c for c in candidates if not c.score.failed]
        if self.config.options.critic == "winner":
            return [best_of(played)] if played else []
        texts = {c.identity: c for c in reversed(played) if c.kind == "policy"}
        return sorted(texts.values(), key=lambda c: c.key)

    async def _revision(
        self,
        key: Key,
        of: Candidate,
        contest: Contest,
        best: Candidate | None,
        memory: Memory,
    ) -> Candidate:
        from promptpo.methods.r2po import chosen  # here: the help of a command comes by
        from promptpo.prompts.promptpo.critic import critic_again, critic_messages

        assert of.rollout is not None  # noqa: S101 - it has played
        seeds = chosen(of.rollout, self.config.options.critic_shows)
        episodes = await self.services.episodes(of, list(seeds.values()))
        shown = {
            f"{title} (return {e.rewards.sum():.5g}, {len(e.rewards)} steps)": e
            for title, e in zip(seeds, episodes, strict=True)
        }
        order = Order(
            prompt=critic_messages(self.services.spec, self.config, memory, of, best, shown),
            source=partial(_source, of=of.source or ""),
            again=critic_again,
            role=ROLE,
            repair=ROLE,
            kind="revision",
            parents=(of.name,),
            insists=True,
        )
        return await self.author.write(key, order, contest)


def _source(reply: Reply, of: str) -> str:
    return revised(reply, of, "Policy")
