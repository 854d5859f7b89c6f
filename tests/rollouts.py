"""Rollouts with numbers of a test's choice."""

from promptpo.types import Episode, Rollout


def rollout(returns, *, stream="search", lengths=None, successes=None, seeds=None, **details):
    """Whole episodes with these returns, of one step each and from seed 1 on unless it is said."""
    count = len(returns)
    lengths = lengths or (1,) * count
    seeds = seeds or range(1, count + 1)
    successes = successes or (None,) * count
    episodes = map(Episode, seeds, returns, lengths, successes)
    return Rollout(stream, tuple(seeds), tuple(episodes), sum(lengths), **details)
