"""The fold of a run's events: the state that each event changes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from promptpo.llm.messages import Message
from promptpo.llm.recording import RecordedReply, reply_from_event
from promptpo.policies import CoverageRun
from promptpo.store.codec import decode, score_of
from promptpo.store.events import Event
from promptpo.store.trials import Call, FeedbackTexts, Tally, Trial, Usage
from promptpo.tuning import TuningAccount
from promptpo.types import Candidate, Key, MethodTable, Preparation, Rollout, SummaryRun

#: Fields of a candidate that its event names by their digest.
_BY_DIGEST: Mapping[str, Any] = {"rollout": None, "later": (), "hard": None, "preparation": None}

#: Events after which a run that has ended is still one that has ended.
_ASIDE = ("run", "resumed", "notice", "usage", "finished")


class Fold:
    """The events of a run, folded; of two events on the same thing the later one holds.

    Attributes:
        header: the data of its first event: spec, versions, isolation.
        configs: the settings of each session, the latest last.
        calls: model calls by their key; ``replies`` and ``refused`` (with the reason) likewise.
        trials: the candidates by name, in the order in which they were begun.
        rollouts: by digest; ``played_by`` is the key of the candidate in whose folder the
            episodes are: what is equal is played once.
        summaries: what Feedback classes made of episodes, by digest; ``feedback`` is the last of
            each candidate that did not fail, by name.
        feedback_classes: how many rounds were done when each was first used, by digest.
        coverages: which lines of policies ran, by digest; ``coverage_of`` is the last of each
            candidate that could be counted, by name.
        tunings: what was played for tuning, by digest, as in the events; ``tuned`` is the account
            of each tuning, by the name of the candidate that was tuned.
        preparations: results of ``prepare``, by the digest of program and data; ``prepared_by`` is
            the key of the candidate for which it ran, ``values_in`` its name by the digest of the
            values.
        ends: the events of the rounds that have ended, by number; ``rounds_done`` is the last one.
        tables: facts of the method's own, by title and round.
        selection, finished: the data of these events; None before them, and ``finished`` in a run
            that goes on after its end.
        tested: the last policy with held-out episodes that did not fail, and these.
        notices: notices to the user.
        tally: the usage by the events; ``reported_usage`` is that which a watched run reports.
        defines_success: whether any episode has been a success or a failure.
        started, latest: the times of the first and the latest event.
        seconds: the time between events, the pauses between sessions left out.
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.header: Mapping[str, Any] = {}
        self.configs: list[Mapping[str, Any]] = []
        self.calls: dict[Key, Call] = {}
        self.replies: dict[Key, RecordedReply] = {}
        self.refused: dict[Key, str] = {}
        self.trials: dict[str, Trial] = {}
        self.rollouts: dict[str, Rollout] = {}
        self.played_by: dict[str, Key] = {}
        self.summaries: dict[str, SummaryRun] = {}
        self.feedback: dict[str, FeedbackTexts] = {}
        self.feedback_classes: dict[str, int] = {}
        self.coverages: dict[str, CoverageRun] = {}
        self.coverage_of: dict[str, CoverageRun] = {}
        self.tunings: dict[str, Mapping[str, Any]] = {}
        self.tuned: dict[str, TuningAccount] = {}
        self.preparations: dict[str, Preparation] = {}
        self.prepared_by: dict[str, Key] = {}
        self.values_in: dict[str, str] = {}
        self.ends: dict[int, Mapping[str, Any]] = {}
        self.rounds_done = 0
        self.tables: dict[str, dict[int, MethodTable]] = {}
        self.selection: Mapping[str, Any] | None = None
        self.finished: Mapping[str, Any] | None = None
        self.tested: tuple[Candidate, Rollout] | None = None
        self.notices: list[str] = []
        self.tally = Tally()
        self.reported_usage: Usage | None = None
        self.defines_success = False
        self.started = self.latest = self.seconds = 0.0
        self._begun: defaultdict[int, set[int]] = defaultdict(set)
        self._test_event: Mapping[str, Any] | None = None
        self._test_played: Mapping[str, Any] | None = None
        self._without_rollout: defaultdict[str, list[Trial]] = defaultdict(list)
        for event in events:
            self.apply(event)

    def apply(self, event: Event) -> None:
        """Take note of one event, transient ones included; those of unknown types are skipped."""
        if self.started and event.type not in ("run", "resumed"):
            self.seconds += event.time - self.latest
        self.started = self.started or event.time
        self.latest = event.time
        if event.type not in _ASIDE:
            self.finished = None
        digest = event.data.get("digest")
        if not (event.transient and (digest in self.rollouts or digest in self.tunings)):
            self.tally.apply(event)  # what a resumed run repeats counts once
        handler = getattr(self, f"_on_{event.type}", None)
        if handler is not None:
            handler(event.data)

    def has_begun(self, round_: int) -> bool:
        """Return whether anything was asked or played for a round."""
        return round_ in self._begun

    def begun(self, round_: int, most: int) -> int:
        """Return the highest number, up to ``most``, of a round's candidates that were begun."""
        return max((n for n in self._begun.get(round_, ()) if n <= most), default=0)

    def _on_run(self, data: Mapping[str, Any]) -> None:
        self.header = data
        self.configs.append(data["config"])

    def _on_resumed(self, data: Mapping[str, Any]) -> None:
        self.configs.append(data["config"])

    def _on_notice(self, data: Mapping[str, Any]) -> None:
        self.notices.append(data["text"])

    def _on_usage(self, data: Mapping[str, Any]) -> None:
        self.reported_usage = decode(Usage, data)

    def _on_prompt(self, data: Mapping[str, Any]) -> None:
        prompt = decode(tuple[Message, ...], data["messages"])
        self._call(decode(Key, data["key"]), prompt=prompt, asked=self.latest)

    def _on_reply(self, data: Mapping[str, Any]) -> None:
        key, recorded = reply_from_event(data)
        self.replies[key] = recorded
        self._call(key, reply=recorded.reply)

    def _call(self, key: Key, **fields: Any) -> None:  # noqa: ANN401 - fields of a Call
        self._begun[key.round].add(key.candidate)
        self.calls[key] = call = replace(self.calls.get(key, Call(key)), **fields)
        if key.candidate:
            self._trial(key).calls[key] = call

    def _on_refused(self, data: Mapping[str, Any]) -> None:
        self.refused[decode(Key, data["key"])] = data["reason"]

    def _on_state(self, data: Mapping[str, Any]) -> None:
        """Of a candidate by its ``name``, or of the phase after the search."""
        if "name" in data:
            self._trial(Key.named(data["name"])).stage = data["state"]

    def _on_rollout(self, data: Mapping[str, Any]) -> None:
        key, digest, rollout = decode(Key, data["key"]), data["digest"], decode(Rollout, data)
        self.rollouts[digest] = rollout
        self.played_by.setdefault(digest, key)
        self.defines_success |= any(e.success is not None for e in rollout.episodes)
        for trial in self._without_rollout.pop(digest, ()):  # it was lost, and played again
            trial.candidate = replace(trial.candidate, rollout=rollout)
        if rollout.stream == "search" and key.candidate:
            self._begun[key.round].add(key.candidate)
            trial = self._trial(key)
            if not trial.ended and trial.played is None:
                trial.played, trial.at, trial.seconds = rollout, self.tally.usage, self.seconds
            trial.stage = trial.stage and "played"
        elif rollout.stream == "test":
            self._test_played = {"name": key.name, "digest": digest}

    def _on_candidate(self, data: Mapping[str, Any]) -> None:
        digest = data["rollout"] or ""
        later = (self.rollouts.get(of) for of in data.get("later", ()))
        candidate = replace(
            decode(Candidate, {**data, **_BY_DIGEST}),
            rollout=self.rollouts.get(digest),
            later=tuple(run for run in later if run is not None),
            hard=self.rollouts.get(data.get("hard") or ""),
            preparation=self.preparations.get(data.get("prepared") or ""),
        )
        trial = self._trial(candidate.key)
        before = trial.attempts.get(candidate.key.attempt)
        trial.candidate = trial.attempts[candidate.key.attempt] = candidate
        trial.digest, trial.recorded_score = digest, score_of(data["score"])
        trial.stage = ""
        new = before is None or before.rollout is not candidate.rollout  # not only played on
        if new and (trial.played is None or candidate.rollout is not trial.played):
            trial.at, trial.seconds = self.tally.usage, self.seconds
        if digest and digest not in self.rollouts:
            self._without_rollout[digest].append(trial)

    def _on_prepared(self, data: Mapping[str, Any]) -> None:
        key, done = decode(Key, data["key"]), decode(Preparation, data)
        self._begun[key.round].add(key.candidate)
        self.preparations[done.digest] = done
        self.prepared_by.setdefault(done.digest, key)
        if done.values is not None:
            self.values_in.setdefault(done.values, self.prepared_by[done.digest].name)

    def _on_feedback(self, data: Mapping[str, Any]) -> None:
        texts = tuple(data["texts"])
        self.summaries[data["digest"]] = SummaryRun(texts, data["error"])
        if data["error"] is None:
            if name := data.get("feedback_class"):
                self.feedback_classes.setdefault(name, self.rounds_done)
            self.feedback[decode(Key, data["key"]).name] = FeedbackTexts(
                texts, data["by"], tuple(data.get("seeds", ()))
            )

    def _on_coverage(self, data: Mapping[str, Any]) -> None:
        counts = tuple(zip(data["lines"], data["hits"], strict=False))
        run = CoverageRun(counts, data["steps"], data["error"])
        self.coverages[data["digest"]] = run
        if run.error is None:
            self.coverage_of[decode(Key, data["key"]).name] = run

    def _on_tuning(self, data: Mapping[str, Any]) -> None:
        self.tunings[data["digest"]] = data

    def _on_tuned(self, data: Mapping[str, Any]) -> None:
        key = decode(Key, data["key"])
        self.tuned[key.name] = decode(TuningAccount, data)
        if key.name in self.trials:
            self.trials[key.name].stage = ""

    def _on_round(self, data: Mapping[str, Any]) -> None:
        self.ends[data["round"]] = data
        self.rounds_done = max(self.rounds_done, data["round"])

    def _on_table(self, data: Mapping[str, Any]) -> None:
        table = decode(MethodTable, data)
        self.tables.setdefault(table.title, {})[table.round] = table

    def _on_selection(self, data: Mapping[str, Any]) -> None:
        self.selection = data

    def _on_test(self, data: Mapping[str, Any]) -> None:
        self._test_event = data
        parts = [self.rollouts[of] for of in data.get("parts") or () if of in self.rollouts]
        if parts:
            pooled = Rollout.pooled(parts)
            self.rollouts[data["digest"]] = pooled.of(pooled.seeds[: data["episodes"]])
        rollout, trial = self.rollouts.get(data["digest"]), self.trials.get(data["name"])
        if rollout is None or rollout.error is not None or trial is None:
            return
        if trial.candidate.source is not None:
            self.tested = trial.candidate, rollout

    def _on_finished(self, data: Mapping[str, Any]) -> None:
        """Of an interrupted run it has the held-out episodes of an earlier session, if any."""
        self.finished = data
        if test := data.get("test"):
            self._test_event = {"name": data["best"], "digest": ""}
            self.rollouts[""] = decode(Rollout, test)

    def _trial(self, key: Key) -> Trial:
        place = Key(key.round, key.candidate)
        return self.trials.setdefault(key.name, Trial(place, Candidate(place, None)))
