"""A policy on another world than its own, behind the order, signs and names that it knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from promptpo.common import text
from promptpo.errors import UsageError
from promptpo.evaluation.evaluation import Evaluation, references_data
from promptpo.evaluation.players import Player
from promptpo.evaluation.playing import score, settings_for
from promptpo.export.folder import spec_of_run
from promptpo.spec import EnvSpec, load_spec
from promptpo.store.codec import score_data
from promptpo.types import Score
from promptpo.ui.summary import Row, reference_rows


@dataclass(frozen=True)
class Transfer:
    """What a policy scores on its own task, and on the world of another.

    ``home`` and ``to`` are the two tasks, ``before`` and ``after`` the policy's held-out episodes
    on them, ``random_before`` and ``random_after`` what random actions score in the same episodes.
    """

    home: EnvSpec
    to: EnvSpec
    before: Evaluation
    after: Evaluation
    random_before: Score
    random_after: Score

    @property
    def error(self) -> str:
        """The line that tells why the policy failed on one of the two; empty where it did not."""
        return self.before.error or self.after.error

    @property
    def kept(self) -> float | None:
        """The share that is left of what the policy gains over random actions on its own task.

        By the success rate where the task defines success, else by the mean return. None where the
        policy failed, or gains nothing on its own task.
        """
        gain = self.before.score.value - self.random_before.value
        if self.error or gain <= 0:
            return None
        return (self.after.score.value - self.random_after.value) / gain

    def rows(self) -> list[Row]:
        """Return what the command prints, as labelled lines."""
        scores = [("before", self.before), ("after", self.after)]
        played = [(name, e.rollout) for name, e in scores if not e.error]
        count = len(self.after.rollout.seeds)
        rows = [
            ("policy", self.after.policy),
            ("from", f"{self.home.name}: {self.home.title}"),
            ("to", f"{self.to.name}: {self.to.title}"),
            ("", f"its world alone: order, signs and names are those of {self.home.name}"),
            ("episodes", f"{count} held-out ones of seed {self.after.seed}"),
            ("failed", self.error),
            *((name, text.success_words(rollout)) for name, rollout in played),
            *((name, text.return_words(rollout)) for name, rollout in played),
            ("kept", self._kept_words()),
            *reference_rows(references_data(self.after.references)),
        ]
        return [row for row in rows if row[1]]

    def _kept_words(self) -> str:
        if self.error:
            return ""
        random = f"{_words(self.random_before)} before, {_words(self.random_after)} after"
        if self.kept is None:
            return f"nothing to keep: no better than random actions before ({random})"
        return f"{self.kept:.0%} of what it gained over random actions ({random})"

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as plain values, as ``promptpo eval --on TWIN --json`` prints them."""
        random = {"before": self.random_before, "after": self.random_after}
        return {
            "from": self.home.ref,
            "to": self.to.ref,
            "seed": self.after.seed,
            "before": self.before.as_dict(),
            "after": self.after.as_dict(),
            "random": {when: score_data(found) for when, found in random.items()},
            "kept": self.kept,
            "references": references_data(self.after.references),
        }


def _words(score: Score) -> str:
    rate = score.success_rate
    return text.number(score.mean_return) if rate is None else f"success {rate:.2f}"


async def transfer(
    player: Player, to: str, given: Mapping[str, Any], tell: Callable[[str], None]
) -> Transfer:
    """Play a policy on its own task, and on the world of the spec ``to`` as if that were its own.

    ``given`` are settings; what is not given is as it was in the player's run. ``tell`` hears where
    the run's spec has changed since. Raises UsageError where the two specs are no twins, SpecError
    where one cannot be loaded.
    """
    home, other = _home(player, given, tell), load_spec(to)
    crossed = crossed_ref(home, other, player.label)
    players = [player, Player("random", baseline="random", settings=player.settings)]
    (before, random_before), (after, random_after) = [
        await score(players, settings_for(players, {**given, "spec": ref}, tell))
        for ref in (home.ref, crossed)
    ]
    return Transfer(home, other, before, after, random_before.score, random_after.score)


def _home(player: Player, given: Mapping[str, Any], tell: Callable[[str], None]) -> EnvSpec:
    """Return the task that a policy was written for. Raises UsageError where nothing names it."""
    if player.baseline is not None:
        raise UsageError(f"{player.label} is no policy; name a run, or a policy's file")
    ref = given.get("spec") or player.settings.get("spec")
    if not ref:
        raise UsageError(f"{player.label}: give the task that it was written for with --spec")
    home = load_spec(ref)
    if player.run is not None and not given.get("spec") and spec_of_run(player.run, ref)[1]:
        if home.twin_of:
            raise UsageError(
                f"{player.label}: {ref} has changed since this run was made, and with it the order,"
                " signs and names that the policy knows; start a new run of it"
            )
        tell(f"{ref} has changed since this run was made; it is taken as it is now")
    return home


def crossed_ref(home: EnvSpec, to: EnvSpec, label: str) -> str:
    """Return the name of the world of ``to`` behind the interface of ``home``.

    One is a twin of the other, or both are of the same task. Raises UsageError otherwise; ``label``
    is what the policy is called.
    """
    if home.ref == to.ref:
        raise UsageError(f"--on {to.ref}: {label} was written for it; leave out --on")
    known = home.ref.partition("@")[2] or "shipped"
    if to.twin_of and to.twin_of in (home.ref, home.twin_of):
        return (
            f"{to.ref.partition('+')[0]}+{known.rpartition('+')[2] if home.twin_of else 'original'}"
        )
    if home.twin_of and home.twin_of == to.ref:
        return f"{home.ref.partition('@')[0]}@original+{known.rpartition('+')[2]}"
    if to.twin_of:
        raise UsageError(
            f"--on {to.ref}: a twin of {to.twin_of}, but {label} was written for {home.ref};"
            f" name a run of {to.twin_of}"
        )
    raise UsageError(
        f"--on {to.ref}: no twin; name one of {home.twin_of or home.ref}"
        " (`promptpo list twin` shows the specs that have twins)"
    )
