"""What views say of a candidate that is tuned, and of what came of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from promptpo.common import text
from promptpo.tuning import Standpoint, TuningAccount

#: A log has a first line of a tuning, and one after each such share of its steps; never sooner than
#: so many seconds after the last.
_SHARE, _SECONDS = 0.1, 10.0


@dataclass
class TuningProgress:
    """A tuning under way, as it was last told of at ``time``, in seconds since the epoch.

    ``score`` is the incumbent's; None where it fails. ``left`` is a guess at the seconds that it
    will take from then on. ``due``: a log should have a line of it, which it last had of ``told``
    steps.
    """

    name: str
    steps: int
    budget: int
    score: Mapping[str, Any] | None
    left: float
    time: float
    due: bool
    told: int
    told_at: float

    @classmethod
    def of(
        cls, data: Mapping[str, Any], time: float, before: TuningProgress | None
    ) -> TuningProgress:
        """What an event "tuning_state" tells; ``before`` is what was told of the same tuning."""
        steps, budget = int(data["steps"]), int(data["budget"])
        told, told_at = (before.told, before.told_at) if before else (0, time)
        due = not told or steps - told >= _SHARE * budget
        due = due and time - told_at >= _SECONDS
        if due:
            told, told_at = steps, time
        left = float(data["seconds_left"])
        return cls(data["name"], steps, budget, data["score"], left, time, due, told, told_at)

    @property
    def words(self) -> str:
        """Steps of the budget, and how the values that stand do."""
        return f"{self.steps:,} of {self.budget:,} steps, {text.score(self.score)}"

    def seconds_left(self, now: float) -> float:
        """A guess at the seconds that it still takes."""
        return max(self.left - (now - self.time), 0.0)

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        score = self.score or {"mean_return": None, "success_rate": None}
        return {
            "name": self.name,
            "steps": self.steps,
            "budget": self.budget,
            "mean_return": score["mean_return"],
            "success_rate": score.get("success_rate"),
            "seconds_left": round(self.left, 1),
        }


def outcome_words(account: TuningAccount) -> str:
    """``kept: return 9.1 to 500, +490.9 ± 0.25 (20 episodes)``: as written, and tuned."""
    before, after = account.before, account.after
    if before is None or after is None:
        return f"not changed: nothing better was found in {account.steps:,} steps"
    words = change_words(before, after)
    if account.difference is not None:
        words += f", {difference_words(account)}"
    verdict = "kept" if account.kept else "not kept, no better beyond noise"
    return f"{verdict}: {words} ({text.plural(account.final, 'episode')})"


def change_words(before: Standpoint, after: Standpoint) -> str:
    """``success 0.10 to 0.90, return 9.1 to 500``."""
    if before.mean_return is None or after.mean_return is None:
        return f"{_score(before)} to {_score(after)}"
    words = f"return {text.number(before.mean_return)} to {text.number(after.mean_return)}"
    if before.success_rate is None or after.success_rate is None:
        return words
    return f"success {before.success_rate:.2f} to {after.success_rate:.2f}, {words}"


def difference_words(account: TuningAccount) -> str:
    """``+490.9 ± 0.25``, the mean of paired differences and its standard error."""
    error, value = account.difference_error, account.difference or 0.0
    noise = ""
    if error:  # two digits of it, and as many decimals of the difference
        places = 1 - math.floor(math.log10(error))
        value, noise = round(value, places), f" ± {text.number(round(error, places))}"
    return f"{'+' if value > 0 else ''}{text.number(value)}{noise}"


def _score(standing: Standpoint) -> str:
    mean = standing.mean_return
    return "failed" if mean is None else f"return {text.number(mean)}"
