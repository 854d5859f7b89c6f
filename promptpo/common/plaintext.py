"""Text from outside (a model, a provider, a spec, a policy) made fit for terminals and files.

Control characters move a terminal's cursor, colour it, write to its clipboard or turn the reading
direction round, so that a reader does not see what is there. None of them is printed, none is
written to a file that people read, and source code that holds one is refused.

Also names and values as messages quote them.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable

#: What takes the place of a control character.
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

# Unicode's categories Cc, Cf, Cs, Zl and Zp, but for newline, tab and the two joiners (U+200C,
# U+200D), which scripts and emoji need and which no terminal acts on.
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e"
    "\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff0-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e007f]"
)


def clean(text: str) -> str:
    """Return a text with U+FFFD for each control character; newlines and tabs stay."""
    if text.replace("\n", " ").replace("\t", " ").isprintable():
        return text  # as nearly all texts, in a sixth of the time
    return _CONTROL.sub(REPLACEMENT, text)


def clean_line(text: str) -> str:
    """Return a text on one line, clean, with a space for newlines and tabs."""
    return re.sub(r"[\n\t]+", " ", clean(text))


def control_character(text: str) -> tuple[int, str] | None:
    """Return the line (from 1) and the name of a text's first control character, or None."""
    match = _CONTROL.search(text)
    if match is None:
        return None
    name = unicodedata.name(match[0], "")
    code = f"U+{ord(match[0]):04X}"
    return text.count("\n", 0, match.start()) + 1, f"{code} ({name})" if name else code


def shortened(text: str, most: int) -> str:
    """Return a text, or of one longer than ``most`` characters its two ends and what is missing."""
    if len(text) <= most:
        return text
    gap = f"\n[... {len(text) - most:,} of {len(text):,} characters left out ...]\n"
    return text[: most - most // 3] + gap + text[len(text) - most // 3 :]


def fenced(text: str, language: str = "") -> str:
    """Return a text between fences that are longer than any row of backticks in it."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


#: Names that a complaint lists, at most.
_NAMED = 40


def unknown_name(what: str, name: object, choices: Iterable[str]) -> str:
    """Return a complaint of a name that does not exist, with the nearest one that does."""
    names = list(choices)
    word = name.replace("-", "_") if isinstance(name, str) else ""
    near = difflib.get_close_matches(word, names, 1, 0.5)
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    hint = f"known {what}s: {', '.join(names[:_NAMED])}{more}"
    if near:
        hint = f"did you mean '{near[0]}'?"
    return f"unknown {what} {shown(name)}; {hint}"


def listed(text: str) -> list[str]:
    """Return the words of a comma-separated list."""
    return [word.strip() for word in text.split(",") if word.strip()]


def shown(value: object) -> str:
    """Return a value as a message quotes it: on one line, at most 120 characters."""
    try:
        text = repr(value)
    except ValueError:  # a whole number of thousands of digits
        text = "a number of thousands of digits"
    except RecursionError:
        text = type(value).__name__
    return shortened(text, 120).replace("\n", " ")
