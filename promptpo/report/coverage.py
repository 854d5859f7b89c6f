"""A policy's source beside how often its lines ran."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from promptpo.policies import CoverageRun, line_hits, unreached

#: Shares of the steps below which a line counts as run in few, and in some of them.
_FEW, _SOME = 0.1, 0.9


@dataclass(frozen=True)
class SourceLine:
    """A line of source: ``ran`` says how often it was reached, ``level`` shades it.

    Both are empty where it holds no code, or nothing is known.
    """

    html: Markup
    ran: str = ""
    level: str = ""


@dataclass(frozen=True)
class Coverage:
    """In how many steps lines were counted, and in words what never ran.

    ``whole``: there is no line that never ran.
    """

    steps: int
    unreached: tuple[Markup, ...]
    whole: bool


def covered(
    lines: Sequence[Markup], source: str, run: CoverageRun | None
) -> tuple[tuple[SourceLine, ...], Coverage | None]:
    """Lines of a source, which may be cut, with what is known of how often they ran."""
    if run is None or run.error is not None or run.steps < 1:
        return tuple(map(SourceLine, lines)), None
    hits = line_hits(source, run.counts)
    shown = tuple(
        _line(html, hits[number], run.steps) if number in hits else SourceLine(html)
        for number, html in enumerate(lines, 1)
    )
    never = tuple(map(_with_code, unreached(source, run.counts)))
    return shown, Coverage(run.steps, never, all(line.level != "never" for line in shown))


def _with_code(words: str) -> Markup:
    """Words in which code stands between backticks."""
    return Markup(re.sub("`(.*)`", r"<code>\1</code>", str(escape(words))))  # noqa: S704 - escaped


def _line(html: Markup, hits: int | None, steps: int) -> SourceLine:
    if hits is None:
        return SourceLine(html, "never", "never")
    share = min(max(hits / steps, 0.0), 1.0)
    if not share:
        return SourceLine(html, "start", "start")
    words = "<1%" if share < 0.01 else f"{min(share, 0.99):.0%}" if share < 1 else "100%"
    return SourceLine(html, words, "few" if share < _FEW else "some" if share < _SOME else "most")
