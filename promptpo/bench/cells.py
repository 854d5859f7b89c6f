"""The cells of a suite as rows: what each scored on held-out episodes, and what it spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from promptpo.bench.suite import Cell, Measure, Scale, Suite
from promptpo.comparison.groups import Group, Panel
from promptpo.comparison.history import History, read_history
from promptpo.comparison.measures import value
from promptpo.comparison.scores import SampleScore, sample_score
from promptpo.errors import PromptPOError
from promptpo.stats import Interval

#: States of cells without a record: not begun yet, not to be run or failed before it was, damaged.
WAITING, IDLE, UNREADABLE = "not begun", "not run", "unreadable"

#: States of a run that came to its own end or to a limit.
_SOUND = ("finished", "stopped")


@dataclass(frozen=True)
class PlayedCell:
    """A cell, and the run that stands behind it; ``history`` is None where none can be read."""

    cell: Cell
    measure: Measure
    scale: Scale | None
    history: History | None = None
    problem: str = ""

    @property
    def state(self) -> str:
        """How its run stands: ``finished``, ``stopped``, ``failed``, ``killed``, ..."""
        if self.history is not None:
            return self.history.run.status
        return UNREADABLE if self.problem else IDLE if self.cell.problem else WAITING

    @property
    def reason(self) -> str:
        """What ended it, or why there is no score; empty where there is nothing to say."""
        told = self.history.run.reason if self.history is not None else ""
        return self.problem or told or self.cell.problem

    @property
    def ended(self) -> str:
        """The state and the reason in a phrase."""
        state, reason = self.state, self.reason
        return f"{state}: {reason}" if reason not in ("", state) else state

    @property
    def is_idle(self) -> bool:
        """Whether it cannot be run, e.g. for want of a recording."""
        return self.state == IDLE

    @property
    def why_missing(self) -> str:
        """Why it has no score, in a phrase; empty where it has one."""
        if self.score is not None:
            return ""
        if self.state in _SOUND:
            return f"{self.state} without a policy that was scored on held-out episodes"
        return self.ended

    @cached_property
    def held_out(self) -> SampleScore | None:
        """The held-out score of its policy, with an interval over episodes."""
        return sample_score(_sample(self), self.measure)

    @cached_property
    def score(self) -> float | None:
        """The held-out score in one number; None where there is none."""
        found = self.held_out
        return None if found is None else found.mean

    @property
    def search_score(self) -> float | None:
        """The best score in search, which is optimistic; no result of a cell."""
        points = self.history.points if self.history is not None else ()
        return value(points[-1].best, self.measure) if points else None

    @property
    def normalized(self) -> float | None:
        """The held-out score on the scale of its spec."""
        return None if self.score is None else normalized(self.score, self.scale)


def normalized(score: float, scale: Scale | None) -> float | None:
    """A score with 0 for random actions and 1 for the best known; None where either is unknown.

    It is not clipped: below 0 is worse than random, above 1 better than what was known.
    """
    if scale is None or scale.random is None or scale.best is None or scale.best == scale.random:
        return None
    return (score - scale.random) / (scale.best - scale.random)


@dataclass(frozen=True)
class Played:
    """A suite with all its cells, in the order of specs, methods and seeds."""

    suite: Suite
    cells: tuple[PlayedCell, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """The methods."""
        return tuple(entrant.label for entrant in self.suite.entrants)

    def of(self, spec: str, label: str) -> tuple[PlayedCell, ...]:
        """The cells of a method on a spec."""
        return self._places.get((spec, label), ())

    @cached_property
    def _places(self) -> dict[tuple[str, str], tuple[PlayedCell, ...]]:
        places: dict[tuple[str, str], tuple[PlayedCell, ...]] = {}
        for played in self.cells:
            place = (played.cell.spec, played.cell.label)
            places[place] = (*places.get(place, ()), played)
        return places

    def on(self, spec: str) -> tuple[PlayedCell, ...]:
        """The cells of a spec."""
        return tuple(c for c in self.cells if c.cell.spec == spec)

    def measure(self, spec: str) -> Measure:
        """What scores of a spec are read as."""
        return next((c.measure for c in self.on(spec)), "return")

    def score(self, spec: str, label: str) -> SampleScore | None:
        """The held-out score of a method on a spec, over the runs that have one."""
        return self._scores[spec, label]

    @cached_property
    def _scores(self) -> dict[tuple[str, str], SampleScore | None]:
        """Of all specs and methods, because each costs a bootstrap."""
        found = {}
        for spec in self.suite.specs:
            for label in self.labels:
                runs = tuple(c.history for c in self.of(spec, label) if c.history is not None)
                found[spec, label] = sample_score(Group(label, runs), self.measure(spec))
        return found

    def normalized(self, spec: str, label: str) -> tuple[float, Interval | None] | None:
        """The same on the scale of the spec, with its interval; None where it is not known."""
        found = self.score(spec, label)
        scale = next((c.scale for c in self.on(spec)), None)
        mean = None if found is None else normalized(found.mean, scale)
        if found is None or mean is None:
            return None
        ends = [found.interval.low, found.interval.high] if found.interval else []
        low_high = sorted(n for end in ends if (n := normalized(end, scale)) is not None)
        return mean, Interval(*low_high) if low_high else None

    @cached_property
    def panels(self) -> tuple[Panel, ...]:
        """The specs that any run has begun on, as ``promptpo compare`` draws them."""
        found = []
        for spec in self.suite.specs:
            groups = []
            for label in self.labels:
                runs = tuple(c.history for c in self.of(spec, label) if c.history is not None)
                if runs:
                    groups.append(Group(label, runs))
            if groups:
                found.append(Panel(spec, tuple(groups)))
        return tuple(found)


def read_cells(folder: Path, suite: Suite, cells: Sequence[Cell]) -> Played:
    """Read the runs of a suite's cells from its folder; one that cannot be read says so."""
    read = [(cell, *_history(folder, cell)) for cell in cells]
    played = {cell.spec for cell, history, _ in read if history is not None}
    succeed = {c.spec for c, h, _ in read if h is not None and h.run.defines_success}
    found = []
    for cell, history, problem in read:
        scale = suite.scales.get(cell.spec)
        if scale and scale.measure == "success" and cell.spec in played - succeed:
            scale = None  # made for another task of this name: no score of this one lies on it
        usual: Measure = "success" if cell.spec in succeed else "return"
        found.append(PlayedCell(cell, scale.measure if scale else usual, scale, history, problem))
    labels = [entrant.label for entrant in suite.entrants]
    places = [suite.specs, labels]
    found.sort(key=lambda c: (*map(_place, places, (c.cell.spec, c.cell.label)), c.cell.seed))
    return Played(suite, tuple(found))


def _place(names: Sequence[str], name: str) -> int:
    return names.index(name) if name in names else len(names)


def _history(folder: Path, cell: Cell) -> tuple[History | None, str]:
    if not cell.run:
        return None, ""
    try:
        return read_history(folder / cell.run), ""
    except (PromptPOError, OSError) as e:
        return None, str(e)


def _sample(cell: PlayedCell) -> Group:
    return Group(cell.cell.label, () if cell.history is None else (cell.history,))
