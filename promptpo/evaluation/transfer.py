"""A policy on another world than its own, behind the order, signs and names that it knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from promptpo.common import text
from promptpo.errors import RunError, UsageError
from promptpo.evaluation.evaluation import Evaluation, references_data
from promptpo.evaluation.players import Player
from promptpo.evaluation.playing import score, settings_for
from promptpo.export.spec_copy import spec_of_run
from promptpo.spec import EnvSpec, load_spec
from promptpo.store.codec import encode, score_data
from promptpo.store.folder import RunFolder
from promptpo.store.reading import standing
from promptpo.types import Rollout, Score
from promptpo.ui.summary import Row, reference_rows


@dataclass(frozen=True)
class Transfer:
    """What a policy scores on its own world, and on another one.

    ``home`` and ``to`` are the two tasks, ``before`` the held-out episodes on the first, ``after``
    those on the other's world; ``random_before`` and ``random_after`` are what random actions score
    there.
    """

    home: EnvSpec
    to: EnvSpec
    before: Rollout
    after: Evaluation
    random_before: Score
    random_after: Score

    @property
    def kept(self) -> float | None:
        """The share that is left of what the policy gains over random actions on its own world.

        By the success rate where the task defines success, else by the mean return. None where the
        policy failed, or gains nothing at home.
        """
        if self.before.score.failed or self.after.score.failed:
            return None
        gain = self.before.score.value - self.random_before.value
        return (self.after.score.value - self.random_after.value) / gain if gain > 0 else None

    def rows(self) -> list[Row]:
        """What the command prints, as labelled lines."""
        after, before = self.after, self.before
        scores = [("before", before), ("after", after.rollout)]
        known = "order, signs and names"
        rows = [
            ("policy", after.policy),
            ("from", f"{self.home.name}: {self.home.title}"),
            ("to", f"{self.to.name}: {self.to.title}"),
            ("", f"its world alone: the policy meets the {known} of {self.home.name}"),
            ("episodes", f"{len(after.rollout.returns)} held-out ones of seed {after.seed}"),
            ("failed", after.error),
            *((name, text.success_words(played)) for name, played in scores),
            *((name, text.return_words(played)) for name, played in scores),
            ("kept", self._kept_words()),
            *reference_rows(references_data(after.references)),
        ]
        return [row for row in rows if row[1]]

    def _kept_words(self) -> str:
        if self.after.error:
            return ""
        randoms = ", ".join(
            f"{_shown(score)} {where}"
            for score, where in ((self.random_before, "before"), (self.random_after, "after"))
        )
        if self.kept is None:
            return f"nothing to keep: no better than random actions before ({randoms})"
        return f"{self.kept:.0%} of what it gained over random actions ({randoms})"

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain values, as ``promptpo transfer --json`` prints them."""
        before = score_data(self.before.score) or {}
        return {
            "from": self.home.ref,
            "to": self.to.ref,
            "seed": self.after.seed,
            "before": {**before, "episodes": encode(self.before.whole)},
            "after": self.after.as_dict(),
            "random": {"before": score_data(self.random_before),
                       "after": score_data(self.random_after)},
            "kept": self.kept,
            "references": references_data(self.after.references),
        }  # fmt: skip


def _shown(score: Score) -> str:
    """The number that policies are ranked by."""
    rate = score.success_rate
    return text.number(score.mean_return) if rate is None else f"success {rate:.2f}"


async def transfer(
    player: Player, to: str, given: Mapping[str, Any], tell: Callable[[str], None]
) -> Transfer:
    """Play a policy on the world of the spec ``to``, as if that were its own.

    ``given`` are settings; what is not given is as it was in the player's run. ``tell`` hears where
    the run's spec has changed since. Raises UsageError where the two specs are no twins, SpecError
    where one cannot be loaded.
    """
    home = _home(player, given, tell)
    other = load_spec(to)
    crossed = crossed_ref(home, other, player.label)
    after, chance = await _scores(player, {**given, "spec": crossed})
    before = _held_out(player)
    there = home.reference_scores.get("random")
    if before is None or there is None:
        own, own_chance = await _scores(player, {**given, "spec": home.ref})
        before, random_before = before or own.rollout, own_chance.score
    else:
        random_before = Score(there.mean_return, there.success_rate)
    return Transfer(home, other, before, after, random_before, chance.score)


async def _scores(player: Player, given: Mapping[str, Any]) -> tuple[Evaluation, Evaluation]:
    """A policy and random actions on the same held-out episodes."""
    players = [player, Player("random", baseline="random", settings=player.settings)]
    after, chance = await score(players, settings_for(players, given, tell=lambda _: None))
    return after, chance


def _home(player: Player, given: Mapping[str, Any], tell: Callable[[str], None]) -> EnvSpec:
    """The task that a policy was written for. Raises UsageError where nothing names it."""
    if player.baseline is not None:
        raise UsageError(f"{player.label} is no policy; name a run, or a policy's file")
    if player.run is None and not given.get("spec"):
        raise UsageError(f"{player.label}: give the task that it was written for with --spec")
    ref = str(given.get("spec") or player.settings["spec"])
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
    """What names the world of ``to`` behind the interface of ``home``.

    One is a twin of the other, or both are of the same task. Raises UsageError otherwise; ``label``
    is what the policy is called.
    """
    if home.ref == to.ref:
        raise UsageError(f"--to {to.ref}: {label} was written for it; `promptpo eval` scores it")
    known = home.ref.partition("@")[2] or "shipped"
    if to.twin_of and to.twin_of in (home.ref, home.twin_of):
        return (
            f"{to.ref.partition('+')[0]}+{known.rpartition('+')[2] if home.twin_of else 'original'}"
        )
    if home.twin_of and home.twin_of == to.ref:
        return f"{home.ref.partition('@')[0]}@original+{known.rpartition('+')[2]}"
    if to.twin_of:
        raise UsageError(
            f"--to {to.ref}: a twin of {to.twin_of}, but {label} was written for {home.ref};"
            f" name a run of {to.twin_of}"
        )
    raise UsageError(
        f"--to {to.ref}: no twin; name one of {home.twin_of or home.ref}"
        " (`promptpo list twin` shows the specs that have twins)"
    )


def _held_out(player: Player) -> Rollout | None:
    """The held-out episodes that a run has played with its best policy, if there are any."""
    if player.run is None:
        return None
    try:
        found = standing(RunFolder(player.run)).test
    except RunError:
        return None
    return found if found is not None and not found.score.failed else None
