"""Two lines of attack: beside the best policy, the promising one that behaves most unlike it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from promptpo.types import Candidate, Rollout, Trajectory

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def promising(candidate: Candidate, best: Candidate) -> bool:
    """Whether a policy that scores less shows something that the best has not.

    Its best episode is above the best policy's mean, or it gains more in a step while it lasts.
    """
    mine, other = candidate.pooled, best.pooled
    if (
        candidate.score.failed
        or mine is None
        or other is None
        or candidate.identity == best.identity
    ):
        return False
    return max(mine.returns) > other.score.mean_return or _per_step(mine) > _per_step(other)


def most_different(
    best: Candidate, others: Sequence[Candidate], episodes: Mapping[str, Sequence[Trajectory]]
) -> Candidate | None:
    """Of the others the one that behaves most unlike the best; None where there is none.

    ``episodes`` are some of each, by name. What is compared are means and movement of observations
    and actions, each in units of its spread over all these policies.
    """
    import numpy as np  # here, for commands that play nothing

    if not others:
        return None
    table = np.array([behaviour(episodes[c.name]) for c in (best, *others)])
    spread = table.std(axis=0)
    scaled = (table - table[0]) / np.where(spread > 0, spread, 1.0)
    distances = np.linalg.norm(scaled[1:], axis=1)
    return others[int(distances.argmax())]


def behaviour(episodes: Sequence[Trajectory]) -> NDArray[np.float64]:
    """How a policy moves: means over the steps of all its episodes, shape ``(2 n + 2 m,)``.

    Of each of n observed numbers the mean and the mean change in a step, of each of m numbers of
    an action the mean and the deviation.
    """
    import numpy as np

    seen = np.concatenate([e.observations[1:] for e in episodes])
    moved = np.concatenate([np.abs(np.diff(e.observations, axis=0)) for e in episodes])
    acted = np.concatenate([e.actions for e in episodes])
    parts = (seen.mean(axis=0), moved.mean(axis=0), acted.mean(axis=0), acted.std(axis=0))
    return np.concatenate(parts)


def _per_step(run: Rollout) -> float:
    return sum(run.returns) / max(sum(run.lengths), 1)
