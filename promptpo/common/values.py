"""Names and values as messages quote them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from promptpo.common.plaintext import shortened

#: Names that a complaint lists, at most.
_NAMED = 40


def unknown_name(what: str, name: object, known: Iterable[str]) -> str:
    """Return a complaint of a name that does not exist, with the nearest one that does."""
    names = list(known)
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
