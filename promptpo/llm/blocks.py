"""The fenced blocks of a text, and the ways to read its fences where these are not plain."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass

_FENCE = re.compile(r"^([ \t]*)(`{3,}|~{3,})[ \t]*([^`\n]*)$")

#: A fence that opens a block behind other words of its line: ``Here it is: ```python``.
_BEHIND = re.compile(
    r"^([ \t]*)[^`~]*[^`~ \t][ \t]*(`{3,}|~{3,}(?=\w))[ \t]*((?i:python3?|py)?)[ \t]*$"
)

#: What begins or ends a string in a line of Python, or hides that.
_STRINGS = re.compile(r"""#|(\"{3}|'{3})|"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?""")
_ENDS = {quote: re.compile(rf"(?:[^\\]|\\.)*?{quote}") for quote in ('"""', "'''")}

_CODE = re.compile(r"(?m)^[ \t]*(?:class|def|import|from|return|self\.\w+ =)\b")

#: What blocks are called that hold text rather than code.
_TEXTS = frozenset({"markdown", "md", "text", "txt"})

#: Characters of a line that may be a fence, and blocks that are looked at, counted from the end;
#: fences within fences that are opened.
_FENCE_LINE, _MOST_BLOCKS, _LEVELS = 200, 40, 3


@dataclass(frozen=True)
class Block:
    """A fenced block; ``closed`` is false where the text ended before its fence did.

    ``info`` is what follows its first fence, in small letters.
    """

    code: str
    closed: bool
    info: str = ""


@dataclass
class _Open:
    """A block that is being read: its fence, with how it is indented and what it says."""

    indent: str
    fence: str
    info: str
    lines: list[str]
    string: str = ""

    def read(self, line: str, *, strings: bool) -> None:
        """Take a line, and with ``strings`` whether it ends within one."""
        self.lines.append(line)
        if strings:
            self.string = _string_after(line, self.string)

    def block(self, *, closed: bool) -> Block:
        """The block without its fence's indentation."""
        kept = [_without(line, len(self.indent)) for line in self.lines]
        code = textwrap.dedent("\n".join(kept))
        return Block(code.strip("\n") + "\n", closed, self.info.strip().lower())


def blocks_of(text: str, *, strings: bool = False, within_lines: bool = False) -> list[Block]:
    """The last blocks of a text, in order, without their fences' indentation.

    With ``strings`` a fence within a string of several lines ends no block, and what blocks hold
    that are in fences of their own counts as blocks. With ``within_lines`` a block may begin behind
    words of a line, and end at the end of one.
    """
    found = _read(text, strings=strings, within_lines=within_lines)[-_MOST_BLOCKS:]
    for _ in range(_LEVELS if strings else 0):
        found = [inner for block in found for inner in _inner(block)][-_MOST_BLOCKS:]
    return found


def _read(text: str, *, strings: bool, within_lines: bool) -> list[Block]:
    blocks: list[Block] = []
    block: _Open | None = None
    for line in text.split("\n"):
        found = _FENCE.match(line) if len(line) <= _FENCE_LINE else None
        if block is None:
            if found is None and within_lines and len(line) <= _FENCE_LINE:
                found = _BEHIND.match(line)
            if found:
                block = _Open(found[1], found[2], found[3], [])
        elif strings and block.string:
            block.read(line, strings=strings)
        elif found and found[2].startswith(block.fence) and not found[3].strip():
            blocks.append(block.block(closed=True))
            block = None
        elif within_lines and _ends_with(line, block.fence):
            blocks.append(_glued(block, line))
            block = None
        else:
            block.read(line, strings=strings)
    if block is not None:
        last = block.lines.pop() if block.lines else ""
        # A last fence glued to the end of the last line of code still closes the block.
        if last.rstrip().endswith(block.fence):
            blocks.append(_glued(block, last))
        else:
            block.lines.append(last)
            rest = block.block(closed=False)
            # A fence too many at the end is no block that was cut off.
            if rest.info or _CODE.search(rest.code):
                blocks.append(rest)
    return blocks


def _glued(block: _Open, line: str) -> Block:
    block.lines.append(line.rstrip().removesuffix(block.fence))
    return block.block(closed=True)


def _ends_with(line: str, fence: str) -> bool:
    """Whether a line of code has one fence, at its end."""
    before = line.rstrip().removesuffix(fence)
    return len(before) < len(line.rstrip()) and fence[0] not in before


def _inner(block: Block) -> list[Block]:
    """The blocks within a block of text, or one that begins with a fence; else itself."""
    found = _read(block.code, strings=True, within_lines=False)
    if not found or not all(inner.closed for inner in found):
        return [block]
    text = block.info in _TEXTS or _FENCE.match(block.code.split("\n", 1)[0])
    return found if text else [block]


def _string_after(line: str, quote: str) -> str:
    """The quotes of the string within which a line of Python ends, by those of its beginning."""
    at = 0
    while True:
        if quote:
            end = _ENDS[quote].match(line, at)
            if end is None:
                return quote
            at, quote = end.end(), ""
        found = _STRINGS.search(line, at)
        if found is None or found[0] == "#":
            return ""
        at, quote = found.end(), found[1] or ""


def _without(line: str, indent: int) -> str:
    """A line without so much of its indentation, or what there is of it."""
    return line[min(indent, len(line) - len(line.lstrip(" \t"))) :]
