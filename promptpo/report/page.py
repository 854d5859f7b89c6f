"""Run records in, one self-contained HTML page out.

Nothing that a model, a spec or a file name says is ever markup: the templates escape, ``svg.tag``
escapes, and a content security policy allows no script and no style but our own two, by their
hashes, and no connection at all (a live page: to its own server).
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from promptpo.common import text
from promptpo.common.plaintext import clean
from promptpo.common.twins import side_by_side
from promptpo.report.chart import chart
from promptpo.report.rounds import Budget
from promptpo.report.tables import Table, runs_table
from promptpo.report.views import RunView
from promptpo.store.run import LIVE, Run
from promptpo.store.summary import Summary
from promptpo.version import __version__

if TYPE_CHECKING:
    import jinja2

#: A page without videos stays below this many bytes.
LIMIT = 5_000_000

#: What the parts of a page may take together; where they overrun it, they get less and less.
_BUDGET = Budget(texts=2_000_000, sources=1_500_000, plots=1_200_000)
_SHRINKS = (1, 3, 10)


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
    assert runs  # noqa: S101 - the callers see to it
    runs = side_by_side(runs, lambda run: (run.spec, run.twin_of))
    html = ""
    for shrink in _SHRINKS:
        views = _views(runs, _BUDGET.shared(shrink * len(runs)), page, inline_videos=inline_videos)
        overview = None
        if len(views) > 1:
            linked = [(Summary.of(v.run), v.run.folder.name, f"#{v.prefix}run") for v in views]
            overview = runs_table(linked, "The runs of this report")
        title = " · ".join(dict.fromkeys(run.spec for run in runs))
        html = render("report.html", title=title, views=views, overview=overview, state=state)
        if inline_videos or len(html.encode()) < LIMIT:
            break
    return html


def render_index(runs: Sequence[tuple[Summary, str, str]], where: str, state: str) -> str:
    """Return the list of runs of ``promptpo view``, with the name and the address of each."""
    table: Table = runs_table(runs, f"In {where}, the latest first")
    return render("index.html", title="Runs", table=table, where=where, state=state)


def _views(
    runs: Sequence[Run], budget: Budget, page: Path | None, *, inline_videos: bool
) -> list[RunView]:
    several = len(runs) > 1
    return [
        RunView(
            run,
            budget,
            prefix=f"run{i}-" if several else "",
            page=page,
            inline_videos=inline_videos,
        )
        for i, run in enumerate(runs, 1)
    ]


def render(
    template: str,
    *,
    state: str = "",
    styles: Sequence[str] = ("report.css",),
    **values: Any,  # noqa: ANN401
) -> str:
    """A page of one of the templates; ``styles`` are the sheets that it needs."""
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
    """The content security policy. ``file:`` is where a page opened from disk has its videos."""
    rules = {
        "default-src": "'none'",
        "style-src": _hashed(style),
        "script-src": _hashed(script),
        "img-src": "data:",
        "media-src": "'self' file: data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    if live:
        rules |= {"connect-src": "'self'", "media-src": "'self'"}
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def _hashed(content: str) -> str:
    digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
    return f"'sha256-{digest}'"


@cache
def _asset(name: str) -> str:
    return files("promptpo.report").joinpath("templates", name).read_text(encoding="utf-8")


@cache
def _environment() -> jinja2.Environment:
    import jinja2

    from promptpo.report.compiled import CompiledTemplates

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_asset),
        bytecode_cache=CompiledTemplates(),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(is_live=lambda run: run.status == LIVE, chart=chart)
    environment.filters.update(number=text.number, plural=text.plural)
    return environment
