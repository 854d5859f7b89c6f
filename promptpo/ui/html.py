"""Results as HTML, for notebooks: tables that take the notebook's own style."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from markupsafe import escape

from promptpo.common.plaintext import clean_line

#: Notebooks align every cell to the right unless it says otherwise.
_LEFT, _RIGHT = "text-align: left", "text-align: right"


def heading(text: str) -> str:
    """A line above a table."""
    return f"<p><b>{_words(text)}</b></p>"


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], numbers: Collection[str] = ()
) -> str:
    """A table; columns of ``numbers`` are aligned to the right, empty ones are left out."""
    used = [i for i in range(len(header)) if any(row[i] for row in rows)]
    styles = [_RIGHT if header[i] in numbers else _LEFT for i in used]
    head = "".join(
        f'<th style="{style}">{_words(header[i])}</th>'
        for i, style in zip(used, styles, strict=True)
    )
    lines = (
        "".join(
            f'<td style="{style}">{_words(row[i])}</td>'
            for i, style in zip(used, styles, strict=True)
        )
        for row in rows
    )
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    top = f"<thead><tr>{head}</tr></thead>" if any(header) else ""
    return f"<table>{top}<tbody>{body}</tbody></table>"


def facts(rows: Sequence[tuple[str, str]]) -> str:
    """Labelled lines, as commands print them, as a table without a head."""
    return table(("", ""), rows)


def remarks(texts: Sequence[str]) -> str:
    """A list of remarks; nothing where there are none."""
    items = "".join(f"<li>{_words(text)}</li>" for text in texts)
    return f"<ul>{items}</ul>" if items else ""


def source(code: str, title: str) -> str:
    """Source code that unfolds."""
    return (
        f"<details><summary>{_words(title)}</summary><pre><code>{escape(code)}</code></pre>"
        "</details>"
    )


def _words(text: str) -> str:
    """Words from outside: never markup, and without control characters."""
    return str(escape(clean_line(text)))
