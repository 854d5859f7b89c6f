"""Runs in, one self-contained HTML page out.

Nothing that a model, a spec or a file name says is ever markup: the templates escape, ``chart.tag``
escapes, and a content security policy allows no script and no style but our own two, by their
hashes, and no connection at all (a live page: to its own server).
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from markupsafe import Markup, escape

from promptpo.common import text
from promptpo.common.blocks import Block, Details, Figure, Group, Section, Text
from promptpo.common.plaintext import clean
from promptpo.common.text import side_by_side
from promptpo.report import overview
from promptpo.report.chart import chart
from promptpo.report.code import Diff, Source, strategy
from promptpo.report.figures import score_figures
from promptpo.report.overview import Fact
from promptpo.report.preparing import preparing_section
from promptpo.report.rounds import round_sections
from promptpo.report.tables import runs_table
from promptpo.report.traces import Plots
from promptpo.report.tuning import tuning_section
from promptpo.store.run import Run
from promptpo.store.summary import Summary
from promptpo.ui.progress import activity
from promptpo.version import __version__

if TYPE_CHECKING:
    import jinja2

#: Characters that texts, and bytes that sources, differences and plots of a page may take.
_TEXTS, _SOURCES, _DIFFERENCES, _PLOTS = 1_500_000, 1_000_000, 800_000, 1_000_000

#: Least room for a text, a source and a difference; fewest and most points of a line of a plot.
_LEAST_TEXT, _LEAST_SOURCE, _LEAST_DIFFERENCE, _POINTS = 1500, 40_000, 3000, (40, 500)


@dataclass(frozen=True)
class Videos:
    """Videos by their names, with their addresses."""

    videos: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class RunView:
    """A run, ready to show.

    Attributes:
        run: what it is and has found.
        prefix: of its element ids, which keeps those of several runs apart.
        made_by: the method and the model.
        facts: the tiles at the top.
        held_out, search: the scores of the best policy, on held-out and on search episodes.
        figures: the held-out score beside the reference values.
        strategy: what the best policy says of itself.
        policy: the address of its file; empty where there is none.
        activity: what it waits for, where it goes on.
        sections: all else.
    """

    run: Run
    prefix: str
    made_by: str
    facts: list[Fact]
    held_out: list[Fact]
    search: list[Fact]
    figures: list[Figure]
    strategy: str
    policy: str
    activity: str
    sections: list[Section]


def run_view(
    run: Run, prefix: str = "", page: Path | None = None, *, inline_videos: bool = False
) -> RunView:
    """Return a run, ready to show; ``page`` is the folder that its page lies in, if not its own."""

    def address(file: Path) -> str:
        return quote(Path(os.path.relpath(file, page or run.folder)).as_posix())

    def video(file: Path) -> tuple[str, str]:
        name = file.stem.replace("_seed", ", seed ").replace("_", " ")
        if not inline_videos:
            return name, address(file)
        return name, "data:video/mp4;base64," + base64.b64encode(file.read_bytes()).decode()

    best, policy = run.best_trial, run.folder / "best" / "policy.py"
    sections = [*overview.learning_sections(run)]
    if files := sorted((run.folder / "videos").glob("*.mp4")):
        sections.insert(0, Section("videos", "Episodes", (Videos(tuple(map(video, files))),)))
    if (measured := overview.metrics_section(run)) is not None:
        sections.insert(0, measured)
    own = (overview.method_section(run), tuning_section(run), preparing_section(run))
    sections += filter(None, own)
    sections += overview.other_sections(run)
    sections += round_sections(run)
    sections.append(overview.about_section(run))
    made_by = run.made_by or "no model"
    return RunView(
        run,
        prefix,
        f"{made_by} (replies replayed)" if run.replayed else made_by,
        overview.facts(run),
        overview.figures(run.test),
        overview.figures(run.evidence if run.test is None else None),
        score_figures(run),
        strategy(best.candidate.source) if best else "",
        address(policy) if policy.is_file() else "",
        activity(run),
        sections,
    )


def render_report(
    runs: Sequence[Run],
    *,
    page: Path | None = None,
    inline_videos: bool = False,
    state: str = "",
) -> str:
    """Return the page for one run or several.

    ``page`` is the folder that the page will lie in (None: the folder of its one run). ``state``
    names what the page shows on a server; the page reloads when the server names another one.
    """
    runs = side_by_side(runs, lambda run: (run.spec, run.twin_of))
    several = len(runs) > 1
    views = [
        run_view(run, f"run{i}-" if several else "", page, inline_videos=inline_videos)
        for i, run in enumerate(runs, 1)
    ]
    overview_table = None
    if several:
        linked = [(Summary.of(v.run), v.run.folder.name, f"#{v.prefix}run") for v in views]
        overview_table = runs_table(linked, "The runs of this report")
    title = " · ".join(dict.fromkeys(run.spec for run in runs))
    return render(
        "report.html", title=title, views=views, overview=overview_table, state=state,
        room=_room(views), ids={name for view in views for name in _ids(view)},
    )  # fmt: skip


def render_index(runs: Sequence[tuple[Summary, str, str]], where: str, state: str) -> str:
    """Return the list of runs of ``promptpo view``, with the name and the address of each."""
    table = runs_table(runs, f"In {where}, the latest first")
    return render("index.html", title="Runs", table=table, state=state)


def _room(views: Sequence[RunView]) -> dict[str, int]:
    """Return how long a text may be, how many bytes of a source are shown, points of a line."""
    blocks = [b for view in views for section in view.sections for b in _walk(section.blocks)]
    sources = [sum(b.sizes) for b in blocks if isinstance(b, Source)]
    differences = [sum(b.sizes) for b in blocks if isinstance(b, Diff)]
    points = _PLOTS // (5 * max(sum(b.lines for b in blocks if isinstance(b, Plots)), 1))
    return {
        "text": share([len(b.body) for b in blocks if isinstance(b, Text)], _TEXTS, _LEAST_TEXT),
        "source": share(sources, _SOURCES, _LEAST_SOURCE),
        "difference": share(differences, _DIFFERENCES, _LEAST_DIFFERENCE),
        "points": min(max(points, _POINTS[0]), _POINTS[1]),
    }


def _ids(view: RunView) -> Iterator[str]:
    """Yield the places of a run that links may lead to."""
    yield f"{view.prefix}run"
    for section in view.sections:
        blocks = (b for b in _walk(section.blocks) if isinstance(b, Details | Group))
        yield from (f"{view.prefix}{block.id}" for block in (section, *blocks))


def _walk(blocks: Iterable[Block]) -> Iterator[Block]:
    for block in blocks:
        yield block
        if isinstance(block, Details | Group):
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


def render(
    template: str,
    *,
    state: str = "",
    styles: Sequence[str] = ("report.css",),
    **values: Any,  # noqa: ANN401
) -> str:
    """Return a page of one of the templates; ``styles`` are the sheets that it needs."""
    style = "".join(map(_asset, styles))
    script = _asset("report.js") + (_asset("live.js") if state else "")
    page = _environment().get_template(template)
    return clean(
        page.render(
            csp=_policy(style, script, live=bool(state)),
            style=Markup(style),  # noqa: S704 - our own file
            script=Markup(script),  # noqa: S704 - our own file
            version=__version__,
            state=state,
            **values,
        )
    )


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
    environment.globals.update(chart=chart, fitting=fitting, kind=lambda b: type(b).__name__)
    environment.filters.update(code=with_code, plural=text.plural)
    return environment
