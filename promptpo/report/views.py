"""What the templates show: a run turned into words, tables, plots and lines of source."""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import quote

from promptpo.common.blocks import Chart, Figure
from promptpo.report import texts
from promptpo.report.facts import Fact, facts, figures, settings
from promptpo.report.feedback import ClassView, class_views
from promptpo.report.figures import curve_figures, life_chart, score_figures
from promptpo.report.preparing import PreparingSection, preparing_section
from promptpo.report.rounds import Budget, RoundView, round_views
from promptpo.report.standings import (
    hard_table,
    method_tables,
    probe_name,
    probes_table,
    rounds_table,
    selection_table,
    warmed_up,
)
from promptpo.report.tables import Table, evaluation_table, life_table
from promptpo.report.texts import Text
from promptpo.report.tuning import TuningSection, tuning_section
from promptpo.store.run import Run


@dataclass(frozen=True)
class Video:
    """A video's name and address."""

    name: str
    src: str


class RunView:
    """A run, ready to show.

    ``prefix`` keeps element ids of several runs apart; ``page`` is the folder that the page lies
    in (None: the run's own), from which videos are addressed.
    """

    def __init__(
        self,
        run: Run,
        budget: Budget,
        *,
        prefix: str = "",
        page: Path | None = None,
        inline_videos: bool = False,
    ) -> None:
        self.run = run
        self.prefix = prefix
        self._budget = budget
        self._page = page or run.folder
        self._inline_videos = inline_videos

    @cached_property
    def facts(self) -> list[Fact]:
        """The tiles at the top."""
        return facts(self.run)

    @cached_property
    def made_by(self) -> str:
        """The method and the model, with what there is to say of them."""
        words = self.run.made_by or "no model"
        return f"{words} (replies replayed)" if self.run.replayed else words

    @cached_property
    def notices(self) -> list[str]:
        """What the run has told, and what cannot be read of it."""
        return [*self.run.notices, *self.run.unread]

    @cached_property
    def curve_note(self) -> str:
        """Which episodes the scores of the learning curve are of."""
        played = [t.candidate.rollout.seeds for t in self.run.policies if t.candidate.rollout]
        rounds = {t.key.round for t in self.run.policies if t.candidate.rollout}
        if any(t.candidate.later for t in self.run.policies):
            return (
                "Search scores: of all search episodes that a policy has played. Each round's"
                " candidates and the best before them meet the same new ones; the bar through a"
                " winner is the 95% interval."
            )
        if len(rounds) > 1 and len(set(played)) == 1:
            return "Search scores: all candidates play the same episodes."
        if len(set(played)) > len(rounds):
            return "Search scores: each candidate plays new episodes."
        return "Search scores: each round plays new episodes, shared by its candidates."

    @cached_property
    def settings(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """How the run was made, by group."""
        return settings(self.run)

    @cached_property
    def best_strategy(self) -> str:
        """What the best policy says of itself."""
        best = self.run.best_trial
        return texts.strategy(best.candidate.source) if best else ""

    @cached_property
    def held_out(self) -> list[Fact]:
        """The held-out score; empty where there is none."""
        return figures(self.run.test)

    @cached_property
    def search(self) -> list[Fact]:
        """The best policy's search score."""
        best = self.run.best_trial
        return figures(best.candidate.pooled if best else None)

    @cached_property
    def score_figures(self) -> list[Figure]:
        """The held-out score beside the reference values."""
        return score_figures(self.run)

    @cached_property
    def life(self) -> tuple[Chart, Table] | None:
        """What the best policy has learned within its lives; None where a life is an episode."""
        test = self.run.test
        if test is None or test.error is not None or not test.life_curve:
            return None
        return life_chart(test, self.run.references), life_table(test)

    @cached_property
    def method_tables(self) -> list[tuple[Table, str]]:
        """The tables of the method's own facts, each with its summary."""
        return method_tables(self.run, self.prefix)

    @cached_property
    def tuning(self) -> TuningSection | None:
        """What tuning did to policies; None where it did nothing yet."""
        return tuning_section(self.run, self._budget.sources, self.prefix)

    @cached_property
    def preparing(self) -> PreparingSection | None:
        """What policies computed before they acted; None where none did."""
        return preparing_section(self.run, self._room, self.prefix)

    @cached_property
    def curves(self) -> list[Figure]:
        """The learning curves."""
        return curve_figures(self.run)

    @cached_property
    def standings(self) -> Table | None:
        """The best so far after each round."""
        return rounds_table(self.run)

    @cached_property
    def hard(self) -> Table | None:
        """Episodes in which the best so far had failed."""
        return hard_table(self.run)

    @cached_property
    def probes(self) -> Table | None:
        """What happens without any policy."""
        return probes_table(self.run)

    @cached_property
    def warmed_up(self) -> bool:
        """Whether these are random policies."""
        return warmed_up(self.run)

    @cached_property
    def probed(self) -> list[Text]:
        """The same in words."""
        return [
            Text(f"{probe_name(t)}. {note.title}", note.text)
            for t in self.run.probes
            for note in t.candidate.notes
        ]

    @cached_property
    def classes(self) -> list[ClassView]:
        """The Feedback classes that have described episodes."""
        return class_views(self.run)

    @cached_property
    def selection(self) -> Table | None:
        """How the winners of the rounds met again."""
        return selection_table(self.run)

    @cached_property
    def evaluations(self) -> list[Table]:
        """What was found when policies were scored again, the latest first."""
        return [evaluation_table(found) for found in reversed(self.run.evaluations)]

    @cached_property
    def opening(self) -> list[Text]:
        """The calls before the first round."""
        return [t.within(self._room) for t in self._opening]

    @cached_property
    def _opening(self) -> list[Text]:
        return [t for call in self.run.shared_calls(0) for t in texts.call_texts(call)]

    @cached_property
    def videos(self) -> list[Video]:
        """Beside the page, or inside it."""
        found = sorted((self.run.folder / "videos").glob("*.mp4"))
        names = [v.stem.replace("_seed", ", seed ").replace("_", " ") for v in found]
        return [Video(n, self._video(v)) for n, v in zip(names, found, strict=True)]

    @cached_property
    def policy_link(self) -> str:
        """Address of the exported policy; empty where there is none."""
        file = self.run.folder / "best" / "policy.py"
        return self._address(file) if file.is_file() else ""

    @cached_property
    def rounds(self) -> list[RoundView]:
        """All rounds, in order."""
        return round_views(self.run, self._budget, self._room, self.prefix)

    @cached_property
    def _room(self) -> int:
        found = [len(t.body) for t in self._opening]
        for record in self.run.round_records:
            found += [len(t.body) for t in texts.round_texts(record)]
            found += [len(t.body) for trial in record.trials for t in texts.trial_texts(trial)]
        return texts.room(found, self._budget.texts)

    def _video(self, file: Path) -> str:
        if self._inline_videos:
            return "data:video/mp4;base64," + base64.b64encode(file.read_bytes()).decode()
        return self._address(file)

    def _address(self, file: Path) -> str:
        return quote(Path(os.path.relpath(file, self._page)).as_posix())
