"""The parts of a page, as data: tables, charts, texts. ``promptpo.report`` turns them into HTML."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TypeAlias

from promptpo.common import text
from promptpo.stats import Interval


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Attributes:
        text: what it shows.
        sort: what it is sorted by, a number or a text; its text by default. A blank cell stands
            below all others.
        href: where it leads; ``#id`` is a place of the same run.
        strong, kind: how it looks; ``kind`` is "won", "failed" or a run's status.
        numeric: True for a number, which is aligned to the right.
        note: a second line, in small.
        wrong: further lines, of what went wrong.
    """

    text: str = ""
    sort: float | str | None = None
    href: str = ""
    strong: bool = False
    kind: str = ""
    numeric: bool = False
    note: str = ""
    wrong: tuple[str, ...] = ()


def num(value: float | None, words: str | None = None) -> Cell:
    """Return a cell of a number, blank where there is none."""
    if value is None:
        return Cell()
    shown_text = text.number(value) if words is None else words
    return Cell(shown_text, value, numeric=True)


@dataclass(frozen=True)
class Table:
    """Rows of cells under the names of their columns; the first cell of a row names it.

    ``css`` is a class of the style sheet: "matrix" for one that is not to be sorted, "runs" for one
    that can also be filtered.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    css: str = ""

    @property
    def numeric(self) -> tuple[bool, ...]:
        """True for each column of numbers."""
        return tuple(any(row[i].numeric for row in self.rows) for i in range(len(self.columns)))

    def trimmed(self) -> Table:
        """Return the table without the columns in which no row has anything."""
        used = [i for i in range(len(self.columns)) if any(row[i].text for row in self.rows)]
        rows = tuple(tuple(row[i] for i in used) for row in self.rows)
        return replace(self, columns=tuple(self.columns[i] for i in used), rows=rows)


@dataclass(frozen=True)
class Line:
    """Values over x, with their intervals if there are any.

    Attributes:
        name: of what it is.
        x, y: its points.
        low, high: bounds of each point; empty or NaN where there are none.
        end: each value holds until the next x, and the last one up to here; None for a line from
            point to point.
        css: how it looks, a class of the style sheet.
        tips: words on each point, which has a dot then.
        named: True where its name stands at its end.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    end: float | None = None
    css: str = ""
    tips: Sequence[str] = ()
    named: bool = False

    @property
    def bounded(self) -> bool:
        """True where every point has an interval."""
        return bool(self.low) and all(map(math.isfinite, (*self.low, *self.high)))

    @property
    def right(self) -> float:
        """The x at which it ends."""
        return self.x[-1] if self.end is None else max(self.end, self.x[-1])


@dataclass(frozen=True)
class Chart:
    """Lines over one axis.

    Attributes:
        title: what is shown, for those who cannot see it.
        words: of the horizontal axis.
        references: levels that are known, by name; those far from all lines are not drawn.
        bounds: of the vertical axis; from the values by default.
        left, right: of the horizontal axis.
        whole: True where the horizontal axis counts.
        ticked: False where it has no numbers of its own, but names of ``spans``.
        spans: stretches of the horizontal axis (from, to, name).
        failures: what has no value: where it is on the horizontal axis, and words on it.
    """

    title: str
    words: str
    lines: tuple[Line, ...]
    references: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    bounds: tuple[float, float] | None = None
    left: float = 0.0
    right: float | None = None
    whole: bool = False
    ticked: bool = True
    spans: tuple[tuple[float, float, str], ...] = ()
    failures: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True)
class Mark:
    """A row of a chart of scores: a value, its interval if it has one, the episodes behind it."""

    name: str
    value: float
    label: str
    interval: Interval | None = None
    episodes: Sequence[float] = ()
    ours: bool = False


@dataclass(frozen=True)
class Scores:
    """Values of one kind side by side, a row each; ``bounds`` fix the axis.

    ``best`` is the value that is compared with the others.
    """

    title: str
    marks: tuple[Mark, ...]
    bounds: tuple[float, float] | None = None
    best: float | None = None


@dataclass(frozen=True)
class Figure:
    """A chart with its caption; ``keys`` explain classes of the style sheet in words."""

    caption: str
    chart: Chart | Scores
    keys: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Prose:
    """A paragraph, in which backticks mean code; ``css`` is a class of the style sheet."""

    text: str
    css: str = "note"


@dataclass(frozen=True)
class Items:
    """A list; its items are numbered, and keep their lines, where it is ``numbered``."""

    items: tuple[str, ...]
    numbered: bool = False


@dataclass(frozen=True)
class Entries:
    """Names with their texts, one below another; side by side where they are ``short``."""

    entries: tuple[tuple[str, str], ...]
    short: bool = False


@dataclass(frozen=True)
class Text:
    """A text behind a click, cut where a page has no room for it; ``file`` has all of it."""

    label: str
    body: str
    file: str = ""


@dataclass(frozen=True)
class Group:
    """Parts under a small heading with a remark beside it."""

    id: str
    title: str
    blocks: tuple[Block, ...]
    note: str = ""


@dataclass(frozen=True)
class Details:
    """Parts behind a click.

    Attributes:
        id: its place on the page.
        title, note: what it is, and a remark beside it.
        blocks: its parts.
        open: True where it is unfolded at first.
        printed: True where it is unfolded when the page is printed.
        small: True for a minor one.
    """

    id: str
    title: str
    blocks: tuple[Block, ...]
    note: str = ""
    open: bool = False
    printed: bool = True
    small: bool = False


@dataclass(frozen=True)
class Columns:
    """Parts side by side, where there is room."""

    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Links:
    """Words, and names that lead to addresses."""

    words: str
    links: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Section:
    """A titled part of a page; ``css`` is a class of the style sheet."""

    id: str
    title: str
    blocks: tuple[Block, ...]
    css: str = ""


#: A part of a section; ``promptpo.report`` has more of them.
Block: TypeAlias = object
