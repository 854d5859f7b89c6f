"""What a run plays: some episodes of one policy, and all that its search has played so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from promptpo.store.memo import digest
from promptpo.types import Candidate, Episode, Key, Rollout, Stream, identity

#: Where digests once had what was found against a policy. Of nearly all there was nothing, and what
#: older runs have on record is found under this.
NO_MARK = ""

#: What was found against the others: their episodes were played anew, each alone, and these stand.
MARKS = ("depends on other episodes", "does not repeat itself")


@dataclass(frozen=True)
class Play:
    """Some episodes of one policy: all that decides what becomes of them.

    ``prepared`` is the digest of the values that policies are made with; None: without any.
    """

    source: str
    stream: Stream
    seeds: tuple[int, ...]
    prepared: str | None = None

    @classmethod
    def of(cls, candidate: Candidate, stream: Stream, seeds: Sequence[int]) -> Play:
        """Episodes of a candidate, which has a source."""
        return cls(candidate.source or "", stream, tuple(seeds), candidate.prepared)

    @property
    def identity(self) -> str | tuple[str, str] | None:
        """What decides how the policy acts."""
        return identity(self.source, self.prepared)


@dataclass(frozen=True)
class Gathered:
    """Episodes of a play that ended, in the ``round`` in which they were first asked for.

    ``digest`` names the play, ``key`` is that of the candidate that played.
    """

    digest: str
    play: Play
    key: Key
    round: int
    episodes: tuple[Episode, ...]

    @property
    def name(self) -> tuple[str, str, int, list[int]]:
        """All that tells it from others, as digests have it."""
        return self.digest, self.key.name, self.round, [e.seed for e in self.episodes]


@dataclass
class Gathering:
    """All that a search has played, on record or new, in an order that no chance decides.

    Resuming is running the method again: so what it has asked for when a round begins is the same
    in every session, whatever else is on record.
    """

    _round: int = 0
    _found: dict[str, Gathered] = field(default_factory=dict)

    def open_round(self, number: int) -> None:
        """What is played from now on belongs to this round."""
        self._round = number

    def note(self, of: str, play: Play, key: Key, run: Rollout) -> None:
        """Episodes have been played for a candidate; of equal candidates the first one's count."""
        known = self._found.get(of)
        if known is None:
            self._found[of] = Gathered(of, play, key, self._round, run.whole)
        elif known.round == self._round and key < known.key:
            self._found[of] = replace(known, key=key)

    def before(self, round_: int, most: int) -> list[Gathered]:
        """What was played before a round, in the order of time: the newest whole episodes.

        They have ``most`` steps at most.
        """
        entries = [g for g in self._found.values() if g.round < round_ and g.episodes]
        entries.sort(key=lambda g: (g.round, g.key, g.play.seeds))
        kept: list[Gathered] = []
        left = most
        for entry in reversed(entries):
            episodes: list[Episode] = []
            for episode in reversed(entry.episodes):
                left -= episode.length
                if left < 0:
                    break
                episodes.append(episode)
            if episodes:
                kept.append(replace(entry, episodes=tuple(reversed(episodes))))
            if left < 0:
                break
        return kept[::-1]


def name_of(gathered: Sequence[Gathered]) -> str:
    """A digest of what was gathered."""
    return digest("gathered", *(g.name for g in gathered))
