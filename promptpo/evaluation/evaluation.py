"""What came of one policy's held-out episodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from promptpo.common import text
from promptpo.comparison.measures import Measure, episode_values
from promptpo.spec import Reference
from promptpo.stats import Interval
from promptpo.store.codec import digest, encode
from promptpo.store.evals import ScoredPolicy
from promptpo.types import Rollout, Score
from promptpo.ui import html
from promptpo.ui.summary import Row, reference_rows


@dataclass(frozen=True, repr=False)
class Evaluation:
    """One policy on held-out episodes of a task.

    ``policy`` is what it is called: its file as seen from here, or ``expert``, ``random``,
    ``zero``. ``seed`` is the run seed whose held-out episodes these are. ``error`` is one line
    where the policy failed, else empty; then there is no score. ``references`` are what the spec
    states to compare with. ``source`` is the policy's text, empty for a part of the task; ``run``
    is the folder of the run whose best policy it is, if it is one.
    """

    policy: str
    spec: str
    title: str
    seed: int
    rollout: Rollout
    error: str = ""
    references: Mapping[str, Reference] = field(default_factory=dict)
    source: str = ""
    run: Path | None = None

    @property
    def score(self) -> Score:
        """Mean return and success rate (None: the task defines no success)."""
        return self.rollout.score

    @property
    def mean_return(self) -> float:
        """Mean return of an episode; minus infinity where the policy failed."""
        return self.score.mean_return

    @property
    def success_rate(self) -> float | None:
        """Share of the episodes that succeed, 0 to 1; None where the task defines no success."""
        return self.score.success_rate

    @property
    def mean_return_interval(self) -> Interval | None:
        """95% bootstrap interval of the mean return, over lives; None for fewer than two."""
        return self.rollout.return_interval

    @property
    def success_rate_interval(self) -> Interval | None:
        """95% interval (Wilson's) of the success rate; None where the task defines no success."""
        return self.rollout.success_interval

    @property
    def label(self) -> str:
        """What sets it apart from others that it is compared with."""
        return self.policy

    @property
    def tests(self) -> tuple[Rollout, ...]:
        """Its episodes as a comparison takes them; none where the policy failed."""
        return () if self.score.failed else (self.rollout,)

    @property
    def measures(self) -> tuple[Measure, ...]:
        """What its score can be read as."""
        return ("return",) if self.success_rate is None else ("success", "return")

    def values(self, measure: Measure) -> list[float]:
        """One number per episode, in the order of ``rollout.seeds``: return, or success 0 or 1."""
        return episode_values(self.rollout, measure)

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain values, as ``promptpo eval --json`` prints them."""
        r, failed = self.rollout, self.score.failed
        scored = ScoredPolicy(
            policy=self.policy,
            source_sha=digest(self.source) if self.source else None,
            error=self.error or None,
            mean_return=None if failed else self.mean_return,
            mean_return_interval=_bounds(self.mean_return_interval),
            success_rate=self.success_rate,
            success_rate_interval=_bounds(self.success_rate_interval),
            steps=r.steps,
            clipped=r.clipped,
            episodes=r.whole,
        )
        data: dict[str, Any] = encode(scored)
        if r.life > 1 and not failed:
            data |= {"life": r.life, "life_curve": encode(r.life_curve)}
        return data

    def rows(self) -> list[Row]:
        """What the command prints, as labelled lines."""
        r = self.rollout
        clipped = f"{r.clipped:.1%} of the actions were clipped to their bounds"
        rows = [
            ("policy", self.policy),
            ("task", f"{self.spec}: {self.title}"),
            ("episodes", f"{len(r.returns)} held-out ones of seed {self.seed}, {r.steps:,} steps"),
            ("failed", self.error),
            ("success", text.success_words(r).removeprefix("success ")),
            ("return", text.return_words(r).removeprefix("mean return ")),
            ("learning", text.life_words(r)),
            *reference_rows(references_data(self.references)),
            ("note", clipped if r.clipped else ""),
        ]
        return [row for row in rows if row[1]]

    def __str__(self) -> str:
        return "\n".join(f"{label:11}  {words}" for label, words in self.rows())

    def __repr__(self) -> str:
        return f"<Evaluation of {self.policy} on {self.spec}: {self.words}>"

    @property
    def words(self) -> str:
        """Its score, or why it has none."""
        if self.error:
            return f"failed: {self.error}"
        r = self.rollout
        words = (text.success_words(r), text.return_words(r))
        return ", ".join(filter(None, words))

    def _repr_html_(self) -> str:
        return html.facts(self.rows())


def references_data(references: Mapping[str, Reference]) -> dict[str, dict[str, float | None]]:
    """Reference values as plain values."""
    return {
        name: {"mean_return": r.mean_return, "success_rate": r.success_rate}
        for name, r in references.items()
    }


def _bounds(interval: Interval | None) -> tuple[float, ...] | None:
    return (interval.low, interval.high) if interval else None
