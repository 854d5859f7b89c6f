"""What a run is and has done, as its events tell it: what everyone reads who shows runs."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from promptpo.config import flat
from promptpo.llm.messages import BUILTIN
from promptpo.store.codec import decode, score_of
from promptpo.store.events import Event
from promptpo.store.fold import Fold
from promptpo.store.tally import Usage
from promptpo.store.trials import Call, RoundRecord, Trial
from promptpo.types import Note, Rollout, Score

#: The method whose name goes without saying.
USUAL_METHOD = "promptpo"


class Record(Fold):
    """A run as its events tell it; ``apply`` takes one event more."""

    _rounds: tuple[RoundRecord, ...] | None = None

    def apply(self, event: Event) -> None:
        """Take note of one event, transient ones included."""
        super().apply(event)
        self._rounds = None

    @property
    def config(self) -> Mapping[str, Any]:
        """The settings of the latest session."""
        return self.configs[-1] if self.configs else {}

    @property
    def settings(self) -> dict[str, Any]:
        """The same, the method's own options beside the others.

        Whether facts were told is a setting only where the spec has some.
        """
        settings = flat(self.config)
        if not self.run.get("spec", {}).get("facts"):
            settings.pop("facts", None)
        return settings

    @property
    def facts_withheld(self) -> bool:
        """Whether the spec states facts of the body that no prompt told."""
        return self.settings.get("facts") is False

    @property
    def spec(self) -> str:
        """Name of the task."""
        return str(self.run.get("spec", {}).get("name") or "")

    @property
    def twin_of(self) -> str:
        """Name of the task that this one is a twin of; empty for all others."""
        return str(self.run.get("spec", {}).get("twin_of") or "")

    @property
    def title(self) -> str:
        """The task in one line."""
        return str(self.run.get("spec", {}).get("title") or "")

    @property
    def references(self) -> dict[str, Score]:
        """What known behaviours score."""
        known = self.run.get("spec", {}).get("references") or {}
        return {name: score_of(value) for name, value in known.items()}

    @property
    def method(self) -> str:
        """The method's name."""
        return str(self.config.get("method") or "")

    @property
    def model(self) -> str:
        """The model's name; empty for a method that asks none."""
        return str(self.config.get("model") or "")

    @property
    def asks_model(self) -> bool:
        """Whether a language model is asked, or was."""
        return bool(self.model or self.replies)

    @property
    def replayed(self) -> bool:
        """Whether replies come from a recording, so that no model is paid."""
        return self.model.partition(":")[0] == "recorded"

    @property
    def given_file(self) -> str:
        """The name of the file that ``given`` is, without its folder; empty where there is none."""
        return Path(self.given).name

    @property
    def synthesized(self) -> bool:
        """Whether the builtin synthesizer answers, and no language model."""
        return self.model == BUILTIN

    @property
    def given(self) -> str:
        """The file of the policy that stands for a model's reply; empty where there is none."""
        kind, _, path = self.model.partition(":")
        return path if kind == "file" else ""

    @property
    def made_by(self) -> str:
        """The method and the model, as far as there is something to say; facts withheld."""
        method = self.method if self.method != USUAL_METHOD else ""
        synthesized = "no language model: builtin synthesizer" if self.synthesized else ""
        facts = "without facts" if self.facts_withheld else ""
        model = self.given_file or synthesized or self.model
        return " · ".join(filter(None, (method, model, facts)))

    @property
    def usage(self) -> Usage:
        """What the run has used in all its sessions."""
        return self.reported_usage or self.tally.usage

    @property
    def probes(self) -> tuple[Trial, ...]:
        """What was played before the first round to see what happens without a policy."""
        return tuple(t for t in self.trials.values() if not t.key.round)

    @property
    def policies(self) -> tuple[Trial, ...]:
        """The candidates of all rounds, in the order in which they were begun."""
        return tuple(t for t in self.trials.values() if t.key.round)

    @property
    def rounds(self) -> tuple[RoundRecord, ...]:
        """All rounds that have begun, in order."""
        if self._rounds is None:
            begun = sorted(self.policies, key=lambda t: t.key)
            groups = groupby(begun, key=lambda t: t.key.round)
            self._rounds = tuple(self._round(number, tuple(group)) for number, group in groups)
        return self._rounds

    def _round(self, number: int, trials: tuple[Trial, ...]) -> RoundRecord:
        end = self.ends.get(number)
        return RoundRecord(
            number=number,
            trials=trials,
            done=end is not None,
            winner=self.trials.get(end["winner"]) if end and end["score"] else None,
            notes=tuple(decode(Note, note) for note in end["notes"]) if end else (),
            calls=self.shared_calls(number),
        )

    def shared_calls(self, round_: int) -> tuple[Call, ...]:
        """The calls of a round (0: before the first) that belong to no single candidate."""
        return tuple(c for k, c in self.calls.items() if (k.round, k.candidate) == (round_, 0))

    @property
    def best_so_far(self) -> tuple[str, Score] | None:
        """The best candidate by search score once the last round was done, and that score."""
        told = self.ends.get(self.rounds_done, {}).get("best") or {}
        return (told["name"], score_of(told["score"])) if told.get("score") else None

    @property
    def best(self) -> str | None:
        """The name of the policy that stands, so far or in the end."""
        if test := self.test:
            return str(test["name"])
        finished, selection = self.finished or {}, self.selection or {}
        so_far = self.best_so_far
        return finished.get("best") or selection.get("winner") or (so_far[0] if so_far else None)

    @property
    def best_trial(self) -> Trial | None:
        """The candidate that stands as the run's policy."""
        return self.trials.get(self.best or "")

    @property
    def best_score(self) -> Score | None:
        """The search score of the policy that stands."""
        if (trial := self.best_trial) is not None and trial.ended:
            return trial.score
        so_far = self.best_so_far
        if so_far and so_far[0] == self.best:
            return so_far[1]
        told = (self.finished or {}).get("score")
        return score_of(told) if told and self.best else None

    @property
    def held_out(self) -> Rollout | None:
        """The held-out episodes of the policy that stands."""
        return self.rollouts.get(self.test["digest"]) if self.test else None

    def folder_of(self, trial: Trial) -> str:
        """The name of the candidate in whose folder a candidate's search episodes are."""
        played = self.played_by.get(trial.digest)
        return played.name if played else trial.name
