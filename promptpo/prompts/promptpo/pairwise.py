"""Two policies on the same episodes, in words: by how much one is better, and where they part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptpo.prompts.promptpo.words import paired_words
from promptpo.racing import Paired
from promptpo.types import Candidate, Episode, Trajectory

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from promptpo.spec import EnvSpec

#: Steps after the parting that are told, observed numbers of each, common episodes, and the share
#: of an action's range from which on two actions are different ones.
_AFTER, _NUMBERS, _EPISODES, _APART = (0, 1, 2, 5, 10, 20, 50), 8, 20, 0.05

#: The section as it is shown before any run.
SOME_PAIR = "### Two policies on the same episodes\n\n<by how much one is better, where they part>"


def pair_words(
    spec: EnvSpec,
    pair: tuple[Candidate, Candidate],
    told: Paired,
    episodes: tuple[Trajectory, Trajectory],
) -> str:
    """A section of a prompt: the first of the pair less the second, and one episode of each.

    The episodes have the same seed.
    """
    a, b = pair
    both = _common(a, b)
    word = "alike in every one" if told.same else paired_words(told)
    returns = ", ".join(f"{x.return_:.4g} / {y.return_:.4g}" for x, y in both[:_EPISODES])
    more = " ..." if len(both) > _EPISODES else ""
    parts = [
        f"### Two policies on the same episodes: {a.name} and {b.name}",
        f"{a.name} against {b.name} on their {len(both)} common episodes: {word}. Returns by"
        f" episode ({a.name} / {b.name}): {returns}{more}.",
        _parting(spec, (a.name, b.name), episodes),
    ]
    return "\n\n".join(parts)


def _common(a: Candidate, b: Candidate) -> list[tuple[Episode, Episode]]:
    assert a.pooled is not None and b.pooled is not None  # noqa: S101 - they have played
    other = {e.seed: e for e in b.pooled.whole}
    return [(e, other[e.seed]) for e in a.pooled.whole if e.seed in other]


def _parting(spec: EnvSpec, names: tuple[str, str], episodes: tuple[Trajectory, Trajectory]) -> str:
    """Where two episodes of one seed part, and how they go on from there."""
    from promptpo.prompts.r2po.episodes import observed_names

    one, other = episodes
    returns = f"returns {one.rewards.sum():.5g} and {other.rewards.sum():.5g}"
    lengths = f"{len(one.rewards)} and {len(other.rewards)} steps"
    head = f"The episode in which the first gains most on the second ({returns}, {lengths}):"
    step = parting(one, other)
    if step is None:
        return f"{head} they act alike as long as both last."
    shortest = min(len(one.rewards), len(other.rewards))
    steps = [step + after for after in _AFTER if step + after < shortest]
    columns = _telling(one, other, steps)
    labels = observed_names(spec)
    lines = [
        f"{head} they act alike before step {step}, and part there."
        if step
        else f"{head} they part at once.",
        "",
        f"step | policy | {', '.join(labels[i] for i in columns)} | action | rewards so far",
    ]
    for at in steps:
        for name, episode in zip(names, episodes, strict=True):
            seen = ", ".join(f"{episode.observations[at, i] + 0.0:.3g}" for i in columns)
            act = ", ".join(f"{x + 0.0:.3g}" for x in episode.actions[at])
            lines.append(f"{at} | {name} | {seen} | {act} | {episode.rewards[:at].sum():.4g}")
    for name, episode in zip(names, episodes, strict=True):
        seen = ", ".join(f"{episode.observations[-1, i] + 0.0:.3g}" for i in columns)
        how = "ended by the task" if episode.terminated else "the step limit"
        total = f"{episode.rewards.sum():.4g}"
        lines.append(f"{len(episode.rewards)} | {name} | {seen} | ({how}) | {total}")
    return "\n".join(lines)


def parting(one: Trajectory, other: Trajectory) -> int | None:
    """The first step at which actions differ by 5% of the range of all; None where none does."""
    import numpy as np

    steps = min(len(one.actions), len(other.actions))
    a, b = one.actions[:steps], other.actions[:steps]
    both = np.concatenate([one.actions, other.actions])
    least = _APART * (both.max(axis=0) - both.min(axis=0))
    apart = (np.abs(a - b) > least).any(axis=1)
    return int(apart.argmax()) if apart.any() else None


def _telling(one: Trajectory, other: Trajectory, steps: list[int]) -> list[int]:
    """The observed numbers in which the two differ most after their parting, in their order."""
    import numpy as np

    seen: NDArray[np.float64] = np.concatenate([one.observations, other.observations])
    spread = seen.std(axis=0)
    after = np.abs(one.observations[steps] - other.observations[steps]).max(axis=0)
    scaled = np.where(spread > 0, after / np.where(spread > 0, spread, 1.0), -1.0)
    most = [int(i) for i in np.argsort(-scaled, kind="stable") if scaled[i] >= 0]
    return sorted(most[:_NUMBERS])
