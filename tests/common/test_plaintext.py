"""Control characters: which they are, and that none gets to where people look."""

import ast
import sys
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest
import scripted

from promptpo.common.plaintext import clean, clean_line, control_character, shortened
from promptpo.errors import UsageError
from promptpo.store.events import Event
from promptpo.ui.plain import PlainView

ROOT = Path(__file__).parents[2]

#: Colours, a title, a link, a cursor that goes back, a reversed reading direction, C1, a surrogate.
HOSTILE = (
    "\x1b[31mred\x1b]0;title\x07 back\rward \u202eesrever\u202c \x9b2J \x7f \ud800 \ufeff[/bold]"
)


def controls(text):
    """The characters of a text that are neither visible nor newline, tab or joiner."""
    hidden = ("Cc", "Cf", "Cs", "Zl", "Zp")
    return {c for c in text if unicodedata.category(c) in hidden} - set("\n\t\u200c\u200d")


def test_every_control_and_format_character_is_one_and_nothing_that_is_seen():
    everything = [chr(i) for i in range(sys.maxunicode + 1)]
    replaced = {c for c in everything if clean(c) != c}
    known = {c for c in replaced if unicodedata.category(c) != "Cn"}  # not given out yet
    assert known == controls(everything)


def test_ordinary_text_stays_as_it_is():
    text = "θ = 3.5°\tcafé 東京 \N{WOMAN}\u200d\N{PERSONAL COMPUTER}\ufe0f\xa0!\n"
    assert clean(text) == text


def test_a_line_is_one_line():
    assert controls(clean_line(HOSTILE)) == set()
    assert clean_line("a\n\tb") == "a b"


def test_the_place_of_a_control_character_is_named():
    assert control_character("one\ntwo \u202e") == (2, "U+202E (RIGHT-TO-LEFT OVERRIDE)")
    assert control_character("one\n\ttwo") is None


def test_what_is_too_long_keeps_its_ends_and_says_what_is_missing():
    text = "a" * 600 + "b" * 600
    short = shortened(text, 300)
    assert short.startswith("a" * 200)
    assert short.endswith("b" * 100)
    assert "900 of 1,200 characters left out" in short
    assert shortened(text, 1200) == text


def test_nothing_prints_but_by_the_function_that_cleans():
    free = {
        "promptpo/common/terminal.py",
    }
    callers = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "promptpo").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print"
    }
    assert callers - free == set()


@pytest.mark.slow
def test_no_file_and_no_line_of_a_run_holds_a_control_character(tmp_path, capsys):
    script = scripted.replies([scripted.GOOD, f"No code, only {HOSTILE}"], [scripted.BAD, ""])
    spoken = scripted.policy(f"print({HOSTILE!r}); raise ValueError({HOSTILE!r})")
    script.say(spoken, "policy", 2, 2).say(f"It {HOSTILE}.", "reflection", 1)
    script.update({key: replace(r, model=f"m{HOSTILE}") for key, r in script.items()})
    _, events = scripted.run(tmp_path, script)
    with PlainView(sys.stdout) as view:
        for event in [*events, Event("notice", {"text": HOSTILE})]:
            view(event)
    out = capsys.readouterr().out
    assert "ValueError" in out
    assert controls(out) == set()
    files = [f for f in (tmp_path / "runs").rglob("*.*") if f.is_file() and f.suffix != ".npz"]
    assert len(files) > 10
    found = {f.name: controls(f.read_text(encoding="utf-8")) for f in files}
    assert {name: hidden for name, hidden in found.items() if hidden} == {}


def test_an_error_is_one_clean_line(monkeypatch, capsys):
    from promptpo import cli

    def fail(_):
        raise UsageError(f"{HOSTILE}\n" + "more" * 10_000)

    monkeypatch.setattr(cli, "_dispatch", fail)
    assert cli.main([]) == 2
    err = capsys.readouterr().err
    assert controls(err) == set()
    assert err.count("\n") == 1
    assert len(err) < 2100


@pytest.mark.parametrize("words", ["[bold]x", "[/]", ":smile:", HOSTILE])
def test_the_live_view_takes_no_markup_and_no_escape_from_outside(words):
    import io

    from rich.console import Console

    from promptpo.ui.live import rows_of

    console = Console(file=io.StringIO(), force_terminal=True, color_system=None, width=200)
    console.print(rows_of([("model", words)]))
    shown = console.file.getvalue()
    assert clean_line(words)[:60] in shown
    assert controls(shown) == set()
