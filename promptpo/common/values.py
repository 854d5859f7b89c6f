"""Whether a value is one that a setting may have."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from promptpo.common.plaintext import control_character, shortened
from promptpo.errors import UsageError

#: Characters of a text: no path, address or name is longer.
_MOST_CHARACTERS = 4096

_WORDS = {int: "a whole number", float: "a number", str: "a string", bool: "true or false"}


def check_value(name: str, wanted: type, limits: Mapping[str, Any], value: object) -> None:
    """Raise UsageError unless a value is of the plain type ``wanted`` and within its limits.

    ``limits``: ``choices``, ``several`` (the value is a comma-separated list of them), and
    ``within``, the least and the most of a number, which is finite in any case. With ``auto`` that
    word would have been a value, too.
    """
    fits = isinstance(value, int | float if wanted is float else wanted)
    if not fits or (isinstance(value, bool) and wanted is not bool):
        words = _WORDS[wanted] + (" or 'auto'" if limits["auto"] else "")
        raise UsageError(f"{name} must be {words}, not {shown(value)}")
    if isinstance(value, str):
        _check_text(name, limits, value)
    elif isinstance(value, int | float) and wanted is not bool:
        _check_number(name, limits, value)


def _check_text(name: str, limits: Mapping[str, Any], value: str) -> None:
    choices = limits["choices"]
    for word in listed(value) if limits["several"] else [value]:
        if choices and word not in choices:
            near = difflib.get_close_matches(word, choices, 1)
            hint = f"did you mean '{near[0]}'?" if near else f"one of: {', '.join(choices)}"
            raise UsageError(f"{name}: {shown(word)} is not known; {hint}")
    if found := control_character(value.replace("\n", "\0")):
        what = "a line break" if "\n" in value else found[1]
        raise UsageError(f"{name} must not hold control characters ({what}): {shown(value)}")
    if len(value) > _MOST_CHARACTERS:
        raise UsageError(f"{name} has {len(value):,} characters: {shown(value)}")


def _check_number(name: str, limits: Mapping[str, Any], value: float) -> None:
    finite = -sys.float_info.max, sys.float_info.max
    least, most = limits["within"] or finite
    if not finite[0] <= value <= finite[1]:
        raise UsageError(f"{name} must be a finite number, not {shown(value)}")
    if value < least:
        raise UsageError(f"{name} must be at least {least:g}, not {shown(value)}")
    if value > most:
        raise UsageError(f"{name} must be at most {most:,}, not {shown(value)}")


#: Names that a complaint lists, at most.
_NAMED = 40


def unknown_name(what: str, name: object, known: Iterable[str]) -> str:
    """A complaint of a name that does not exist, with the nearest one that does."""
    names = list(known)
    word = name.replace("-", "_") if isinstance(name, str) else ""
    near = difflib.get_close_matches(word, names, 1, 0.5)
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    hint = f"known {what}s: {', '.join(names[:_NAMED])}{more}"
    if near:
        hint = f"did you mean '{near[0]}'?"
    return f"unknown {what} {shown(name)}; {hint}"


def listed(text: str) -> list[str]:
    """The words of a comma-separated list."""
    return [word.strip() for word in text.split(",") if word.strip()]


def shown(value: object) -> str:
    """A value as a message quotes it: on one line, and not longer than a line."""
    try:
        text = repr(value)
    except ValueError:  # a whole number of thousands of digits
        text = "a number of thousands of digits"
    except RecursionError:
        text = type(value).__name__
    return shortened(text, 120).replace("\n", " ")
