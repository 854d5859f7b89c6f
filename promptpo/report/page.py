"""Runs in, self-contained HTML pages out: one on a run, one on several.

Nothing that a model, a spec or a file name says is ever markup: the templates escape, ``chart.tag``
escapes, and a content security policy allows no script and no style but our own two, by their
hashes, and no connection at all (a live page: to its own server).
"""

from __future__ import annotations

import base64
import hashlib
import math
import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from markupsafe import Markup, escape

from promptpo.common import text
from promptpo.common.blocks import (
    Block,
    Cell,
    Columns,
    Details,
    Figure,
    Group,
    Prose,
    Section,
    Table,
    Text,
)
from promptpo.common.plaintext import clean
from promptpo.report import overview
from promptpo.report.chart import chart
from promptpo.report.code import Diff, Source
from promptpo.report.figures import score_figures
from promptpo.report.lineage import lineage_section
from promptpo.report.overview import Fact
from promptpo.report.preparing import preparing_section
from promptpo.report.rounds import round_sections
from promptpo.report.traces import Plots
from promptpo.report.tuning import tuning_section
from promptpo.store.run import Run
from promptpo.ui.progress import activity
from promptpo.version import __version__

if TYPE_CHECKING:
    import jinja2

#: Characters that texts, and bytes that sources, differences and plots of a page may take.
_TEXTS, _SOURCES, _DIFFERENCES, _PLOTS = 1_500_000, 1_000_000, 800_000, 400_000

#: Characters that the values of plots may take, which the page's script draws.
_SERIES = 2_000_000

#: Least room for a text, a source and a difference; fewest and most points of a line of a plot.
_LEAST_TEXT, _LEAST_SOURCE, _LEAST_DIFFERENCE, _POINTS = 1500, 40_000, 3000, (40, 300)


@dataclass(frozen=True)
class Videos:
    """Videos by their names, with their addresses."""

    videos: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Page:
    """A page on several runs.

    Attributes:
        title: its heading.
        kind: what it is of, a word or two above the heading.
        about: a line below it.
        facts: the tiles at the top.
        notices: what must be known before anything is read.
        sections: all else.
    """

    title: str
    kind: str = ""
    about: str = ""
    facts: tuple[Fact, ...] = ()
    notices: tuple[Prose, ...] = ()
    sections: tuple[Section, ...] = ()

    def render(self, state: str = "") -> str:
        """Return it as HTML; ``state`` as for ``render_report``."""
        return render("several.html", self, self.title, state)


@dataclass(frozen=True)
class RunView:
    """A run, ready to show.

    Attributes:
        run: what it is and has found.
        made_by: the method and the model.
        facts: the tiles at the top.
        held_out, search: the scores of the best policy, on held-out and on search episodes.
        figures: the held-out score beside the reference values.
        film: the name and the address of a film of the best policy; None where there is none.
        strip: moments of it side by side, as an address that holds them; empty where there is none.
        policy: the address of its file; empty where there is none.
        activity: what it waits for, where it goes on.
        sections: all else.
    """

    run: Run
    made_by: str
    facts: list[Fact]
    held_out: list[Fact]
    search: list[Fact]
    figures: list[Figure]
    film: tuple[str, str] | None
    strip: str
    policy: str
    activity: str
    sections: list[Section]


def run_view(run: Run, page: Path | None = None, *, inline_videos: bool = False) -> RunView:
    """Return a run, ready to show; ``page`` is the folder that its page lies in, if not its own."""

    def address(file: Path) -> str:
        return quote(Path(os.path.relpath(file, page or run.folder)).as_posix())

    def video(file: Path) -> tuple[str, str]:
        name = file.stem.replace("_seed", ", seed ").replace("_", " ")
        if not inline_videos:
            return name, address(file)
        return name, _inlined(file, "video/mp4")

    policy, strip = run.folder / "best" / "policy.py", run.folder / "videos" / "strip.jpg"
    films = tuple(map(video, sorted((run.folder / "videos").glob("*.mp4"))))
    sections = (
        overview.policy_section(run),
        overview.metrics_section(run),
        *overview.learning_sections(run),
        overview.trajectories_section(run),
        Section("videos", "More episodes", (Videos(films[1:]),)) if films[1:] else None,
        lineage_section(run),
        *round_sections(run),
        overview.method_section(run),
        tuning_section(run),
        preparing_section(run),
        *overview.other_sections(run),
        overview.about_section(run),
    )
    made_by = run.made_by or "no model"
    return RunView(
        run,
        f"{made_by} (replies replayed)" if run.replayed else made_by,
        overview.facts(run),
        overview.figures(run.test),
        overview.figures(run.evidence if run.test is None else None),
        score_figures(run),
        films[0] if films else None,
        _inlined(strip, "image/jpeg") if strip.is_file() else "",
        address(policy) if policy.is_file() else "",
        activity(run),
        [section for section in sections if section],
    )


def _inlined(file: Path, kind: str) -> str:
    """Return an address that holds the content of a file."""
    return f"data:{kind};base64,{base64.b64encode(file.read_bytes()).decode()}"


def render_report(
    run: Run, *, page: Path | None = None, inline_videos: bool = False, state: str = ""
) -> str:
    """Return the page of a run.

    ``page`` is the folder that the page will lie in (None: the run's). ``state`` names what the
    page shows on a server; the page reloads when the server names another one.
    """
    view = run_view(run, page, inline_videos=inline_videos)
    return render("run.html", view, run.spec, state)


def _room(blocks: Sequence[Block]) -> dict[str, int]:
    """Return how long a text may be, how many bytes of a source are shown, points of a line.

    ``every``: of how many steps a script may have one, so that all values fit.
    """
    sources = [sum(b.sizes) for b in blocks if isinstance(b, Source)]
    differences = [sum(b.sizes) for b in blocks if isinstance(b, Diff)]
    plots = [b for b in blocks if isinstance(b, Plots)]
    points = _PLOTS // (5 * max(sum(b.lines for b in plots), 1))
    return {
        "text": share([len(b.body) for b in blocks if isinstance(b, Text)], _TEXTS, _LEAST_TEXT),
        "source": share(sources, _SOURCES, _LEAST_SOURCE),
        "difference": share(differences, _DIFFERENCES, _LEAST_DIFFERENCE),
        "points": min(max(points, _POINTS[0]), _POINTS[1]),
        "every": math.ceil(max(sum(b.values for b in plots), 1) * 8 / 3 / _SERIES),
    }


def _walk(blocks: Iterable[Block]) -> Iterator[Block]:
    for block in blocks:
        yield block
        if isinstance(block, Section | Details | Group | Columns):
            yield from _walk(block.blocks)


def share(lengths: Iterable[int], budget: int, least: int) -> int:
    """Return the longest that a part may be so that all of them together keep to ``budget``.

    No part is cut below ``least``.
    """
    waiting = sorted(lengths)
    for i, length in enumerate(waiting):
        each = budget // (len(waiting) - i)
        if length > each:
            return max(each, least)
        budget -= length
    return max(waiting, default=least)


def fitting(sizes: Iterable[int], room: int) -> int:
    """Return how many rows of these sizes there is room for."""
    count = 0
    for count, size in enumerate(sizes, 1):
        room -= size
        if room < 0:
            return count - 1
    return count


def with_code(words: str) -> Markup:
    """Return words in which code stands between backticks."""
    return Markup(re.sub("`([^`]*)`", r"<code>\1</code>", str(escape(words))))  # noqa: S704 - escaped


def render(template: str, view: Page | RunView, title: str, state: str) -> str:
    """Return a page of one of the templates."""
    blocks = [*_walk(view.sections)]
    live = any(isinstance(b, Plots) for b in blocks)
    style = _asset("report.css") + (_asset("uplot.css") if live else "")
    names = ["report.js"] + ["uplot.js", "series.js"] * live + ["live.js"] * bool(state)
    script = "\n".join(map(_asset, names))
    page = _environment().get_template(template)
    return clean(
        page.render(
            view=view,
            title=title,
            state=state,
            room=_room(blocks),
            ids={str(b.id) for b in blocks if isinstance(b, Section | Details | Group)},
            csp=_policy(style, script, live=bool(state)),
            style=Markup(style),  # noqa: S704 - our own file
            script=Markup(script),  # noqa: S704 - our own files and uPlot
            version=__version__,
        )
    )


def rows_of(table: Table, ids: Collection[str]) -> Markup:
    """Return the rows of a table; ``ids`` are the places of the page that cells may lead to.

    Not in a template, which takes three times as long for thousands of cells.
    """
    numeric, heads = table.numeric, [escape(name) for name in table.columns]
    rows = []
    for row in table.rows:
        cells = [_cell(cell, heads[i], numeric[i], ids, i == 0) for i, cell in enumerate(row)]
        rows.append(f"<tr{' class=won' if row[0].strong else ''}>{''.join(cells)}</tr>\n")
    return Markup("".join(rows))  # noqa: S704 - all parts are escaped


def _cell(cell: Cell, head: str, numeric: bool, ids: Collection[str], first: bool) -> str:
    shown = str(escape(cell.text)).replace("/", "/<wbr>")
    if cell.href and (cell.href[0] != "#" or cell.href[1:] in ids):
        shown = f'<a href="{escape(cell.href)}">{shown}</a>'
    shown += f"<small>{escape(cell.note)}</small>" if cell.note else ""
    shown += "".join(f'<small class="is-failed">{escape(words)}</small>' for words in cell.wrong)
    css = " ".join(filter(None, ("num" * numeric, f"is-{escape(cell.kind)}" if cell.kind else "")))
    look = f' class="{css}"' if css else ""
    sort = "" if cell.sort is None else f' data-sort="{escape(cell.sort)}"'
    if first:
        return f"<th scope=row{sort}{look}>{shown}</th>"
    return f'<td{sort} data-label="{head}"{look}>{shown}</td>'


def _policy(style: str, script: str, *, live: bool) -> str:
    """Return the content security policy.

    ``file:`` is where a page opened from disk has its videos.
    """
    rules = {
        "default-src": "'none'",
        "style-src": _hash(style),
        "script-src": _hash(script),
        "img-src": "data:",
        "media-src": "'self'" if live else "'self' file: data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    if live:
        rules["connect-src"] = "'self'"
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def _hash(content: str) -> str:
    digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
    return f"'sha256-{digest}'"


@cache
def _asset(name: str) -> str:
    return (
        resources.files("promptpo.report").joinpath("templates", name).read_text(encoding="utf-8")
    )


@cache
def _environment() -> jinja2.Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_asset),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    series = {f"s{i}" for i in range(1, 9)}
    environment.globals.update(chart=chart, fitting=fitting, rows_of=rows_of, series_names=series)
    environment.globals.update(kind=lambda b: type(b).__name__)
    environment.filters.update(code=with_code, plural=text.plural)
    return environment
