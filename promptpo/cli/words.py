"""The words of a command line told apart: options with their values, and all others."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

#: What follows an option and is its value although it begins with a dash: ``--target -1e3``.
_NUMBER = re.compile(r"-(\d|\.\d|inf|nan)", re.IGNORECASE)


@dataclass(frozen=True)
class Part:
    """An option (``name`` is its spelling) with its ``value``, or a word, which has no ``name``.

    ``action`` is what the parser makes of the option, None where it knows no such option.
    ``first`` and ``end`` are the places in the command line: from, and up to but without.
    """

    first: int
    end: int
    value: str | None
    name: str = ""
    action: argparse.Action | None = None


def parts(argv: Sequence[str], parser: argparse.ArgumentParser) -> Iterator[Part]:
    """The parts of a command line, from left to right; what follows ``--`` are words."""
    place = 0
    while place < len(argv):
        text = argv[place]
        if text == "--":
            yield from (Part(i, i + 1, argv[i]) for i in range(place + 1, len(argv)))
            return
        part = Part(place, place + 1, text)
        if _is_option(text):
            part = _option(argv, place, parser)
        yield part
        place = part.end


def _option(argv: Sequence[str], place: int, parser: argparse.ArgumentParser) -> Part:
    name, equals, joined = argv[place].partition("=")
    action = parser._option_string_actions.get(name)
    if equals:
        return Part(place, place + 1, joined, name, action)
    takes_value = action is not None and action.nargs != 0
    if takes_value and place + 1 < len(argv) and not _is_option(argv[place + 1]):
        return Part(place, place + 2, argv[place + 1], name, action)
    return Part(place, place + 1, None, name, action)


def _is_option(text: str) -> bool:
    named = text.startswith("-") and text != "-" and not _NUMBER.match(text)
    return named and " " not in text.partition("=")[0]


def options_first(argv: Sequence[str], parser: argparse.ArgumentParser) -> list[str]:
    """The same command line as argparse takes it whatever stands where: options, then words."""
    options: list[str] = []
    words: list[str] = []
    for part in parts(argv, parser):
        if not part.name:
            words.append(part.value or "")
        else:
            options.append(part.name if part.value is None else f"{part.name}={part.value}")
    return [*options, *(["--"] if any(word.startswith("-") for word in words) else []), *words]
