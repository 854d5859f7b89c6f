"""From a reply to a revised source: edits of the one that was shown, or a whole class.

An edit is a block between ``<<<<<<< SEARCH``, ``=======`` and ``>>>>>>> REPLACE``: lines that the
source holds exactly once, and what is to stand in their place.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from promptpo.common.plaintext import clean_line, shortened
from promptpo.llm.extraction import ReplyRejected, answer_text, checked_source, extract_code
from promptpo.llm.messages import Reply

#: What a reply says, on a line of its own, that leaves the source as it is.
UNCHANGED = "UNCHANGED"

_SEARCH = re.compile(r"[ \t]*<{5,9}[ \t]*SEARCH[ \t]*")
_MIDDLE = re.compile(r"[ \t]*={5,9}[ \t]*")
_REPLACE = re.compile(r"[ \t]*>{5,9}[ \t]*REPLACE[ \t]*")

#: Edits that are taken from one reply, at most, and characters of a line that a complaint quotes.
_MOST, _QUOTED = 50, 80

#: Lines and characters of one among which a similar line is looked for, places that are counted,
#: and lines that are compared letter by letter.
_LINES, _LONG, _PLACES, _CLOSE = 5_000, 200, 100, 5


@dataclass(frozen=True)
class Edit:
    """Lines to be found, and those to be put in their place."""

    search: tuple[str, ...]
    instead: tuple[str, ...]


def revised(reply: Reply, source: str, class_name: str) -> str:
    """The source after the edits in a reply, the whole class in it, or the source as it was.

    Edits are made in their order, each on what the earlier ones left. Raises ReplyRejected for a
    reply that was cut off, that has none of these, or whose edits do not fit.
    """
    text = answer_text(reply)
    if edits := _edits(text):
        return checked_source(_edited(source, edits), class_name)
    if re.search(rf"(?m)^class\s+{re.escape(class_name)}\b", text):
        return extract_code(reply, class_name)
    if re.search(rf"(?m)^[ \t`*]*{UNCHANGED}[ \t`*.]*$", text):
        return source
    raise ReplyRejected(
        "the reply has no edit: write blocks of <<<<<<< SEARCH, =======, >>>>>>> REPLACE, each mark"
        f" on a line of its own, or the whole class, or the line {UNCHANGED}"
    )


def _edits(text: str) -> list[Edit]:
    """The edits in a text, in their order. Raises ReplyRejected for one that is not whole."""
    found: list[Edit] = []
    search: list[str] | None = None
    instead: list[str] | None = None
    for line in text.split("\n"):
        if _SEARCH.fullmatch(line):
            if search is not None:
                raise ReplyRejected(f"edit {len(found) + 1} has no end: >>>>>>> REPLACE is missing")
            search, instead = [], None
        elif search is not None and instead is None and _MIDDLE.fullmatch(line):
            instead = []
        elif search is not None and _REPLACE.fullmatch(line):
            if instead is None:
                raise ReplyRejected(f"edit {len(found) + 1} has no ======= between its two parts")
            found.append(Edit(tuple(search), tuple(instead)))
            search = instead = None
        elif search is not None:
            (search if instead is None else instead).append(line)
    if search is not None:
        raise ReplyRejected(f"edit {len(found) + 1} has no end: >>>>>>> REPLACE is missing")
    if len(found) > _MOST:
        raise ReplyRejected(f"{len(found)} edits are more than {_MOST}; send the whole class")
    return found


def _edited(source: str, edits: Sequence[Edit]) -> str:
    lines = source.replace("\r\n", "\n").split("\n")
    for number, edit in enumerate(edits, 1):
        at = _place(lines, edit.search, number)
        lines[at : at + len(edit.search)] = edit.instead
    return "\n".join(lines).strip("\n") + "\n"


def _place(lines: Sequence[str], search: Sequence[str], number: int) -> int:
    """Where the lines to be found begin; space at the ends of lines does not count."""
    wanted = [line.rstrip() for line in search]
    if not any(wanted):
        raise ReplyRejected(f"edit {number} searches for nothing; name the lines that it replaces")
    held = [line.rstrip() for line in lines]
    text, found = "\n".join(["", *held, ""]), "\n".join(["", *wanted, ""])
    at, count = text.find(found), 0
    first = at
    while at >= 0 and count < _PLACES:
        count += 1
        at = text.find(found, at + 1)
    if count == 1:
        return text.count("\n", 0, first)
    if count:
        raise ReplyRejected(
            f"edit {number}: its search lines stand {count} times in the policy; add lines"
            " around them until they stand there once"
        )
    raise ReplyRejected(f"edit {number}: {_missing(held, wanted)}")


def _missing(held: Sequence[str], wanted: Sequence[str]) -> str:
    """Which of the lines to be found the source does not hold, and what comes near."""
    known = set(held)
    for line in wanted:
        if line and line not in known:
            quoted = shortened(clean_line(line.strip()), _QUOTED)
            near = _nearest(line, held)
            hint = f"; the policy has {shortened(near, _QUOTED)!r}" if near else ""
            return f"the policy has no line {quoted!r}{hint}. Copy its lines exactly, indents too"
    return "the policy has its search lines, but not one after the other. Copy them as they stand"


def _nearest(line: str, held: Sequence[str]) -> str:
    """The line that is most like another one; empty where none is, or they are too long to tell."""
    if len(line) > _LONG:
        return ""
    matcher = difflib.SequenceMatcher(None, "", line)
    likely = []
    for other in dict.fromkeys(held[:_LINES]):
        if len(other) <= _LONG:
            matcher.set_seq1(other)
            if matcher.real_quick_ratio() >= 0.6 and (share := matcher.quick_ratio()) >= 0.6:
                likely.append((share, other))
    likely = sorted(likely, key=lambda pair: pair[0], reverse=True)[:_CLOSE]
    near = difflib.get_close_matches(line, [other for _, other in likely], 1, 0.6)
    return near[0] if near else ""
