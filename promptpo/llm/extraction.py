"""Extraction of the requested class from a reply.

Of several fenced blocks the last one that defines the class counts (a model that shows a draft
first ends with its final version), preceded by those earlier blocks that define names which it uses
and does not define itself (imports or helpers in a block of their own).
"""

from __future__ import annotations

import ast
import builtins
import re
import textwrap
from dataclasses import dataclass

from promptpo.common import bounds
from promptpo.common.plaintext import clean_line, control_character
from promptpo.common.python_text import parsed, tree_of
from promptpo.llm.messages import TOO_LARGE, Reply

_FENCE = re.compile(r"^([ \t]*)(`{3,}|~{3,})[ \t]*([^`\n]*)$")
#: A fence that opens a block behind other words of its line: ``Here it is: ```python``.
_BEHIND = re.compile(
    r"^([ \t]*)[^`~]*[^`~ \t][ \t]*(`{3,}|~{3,}(?=\w))[ \t]*((?i:python3?|py)?)[ \t]*$"
)
_CODE = re.compile(r"(?m)^[ \t]*(?:class|def|import|from|return|self\.\w+ =)\b")
#: Lines behind a fence that show that it stood within a string, and the code went on.
_ON = re.compile(r"^[ \t]*(?:\"{3}|'{3})[ \t]*$|^[ \t]+(?:def|return)\b", re.MULTILINE)
#: Languages of blocks that hold text rather than code.
_TEXTS = frozenset({"markdown", "md", "text", "txt"})
#: Characters of a line that may be a fence; blocks that are read, from the end; levels of blocks
#: within blocks; closing fences that are tested for lying within a string.
_FENCE_LINE, _MOST_BLOCKS, _LEVELS, _TRIES = 200, 40, 3, 40

_TAGS = "think|thinking|thought|reasoning"
_REASONING = re.compile(rf"\s*<({_TAGS})>.*?</\1>", re.DOTALL)
_REASONING_START = re.compile(rf"\s*<(?:{_TAGS})>")
_REASONING_END = re.compile(rf"^[ \t]*</(?:{_TAGS})>", re.MULTILINE)
_CUT_OFF = {"length", "max_tokens"}
_FILTERED = {"content_filter", "refusal"}


class ReplyRejected(Exception):
    """A reply that holds no candidate; ``reason`` is written for the model and for people."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def extract_code(reply: Reply, class_name: str) -> str:
    """Return the Python source in ``reply`` that defines ``class_name`` at top level.

    The source need not parse: the compiler's message on it is better than one from here.
    Raises ReplyRejected for a reply that is empty, cut off or too long, without code or without
    the class, and for code with control characters.
    """
    _check_ending(reply)
    text = _without_reasoning(reply.text)
    if not text.strip():
        raise ReplyRejected("the reply was empty; answer with one ```python block")
    blocks = _blocks(text)
    code = _with_helpers(blocks, class_name) if blocks else _bare(text, class_name)
    return checked_source(code, class_name)


def policy_source(reply: Reply) -> str:
    """Return the source of the policy in a reply. Raises ReplyRejected."""
    return extract_code(reply, "Policy")


def answer_text(reply: Reply) -> str:
    """Return the text of a reply without code, less the reasoning before it.

    Raises ReplyRejected for one that is empty, cut off or too long.
    """
    _check_ending(reply, "answer in few words", "write less")
    text = _without_reasoning(reply.text)
    if not text.strip():
        raise ReplyRejected("the reply was empty")
    return text


def extract_blocks(reply: Reply) -> list[str]:
    """Return the contents of a reply's fenced blocks, in order, be they code or not.

    Raises ReplyRejected for a reply that is empty, cut off or too long.
    """
    blocks = _blocks(answer_text(reply), levels=0)
    if blocks and not blocks[-1].closed:
        raise ReplyRejected("the reply was cut off: its last ``` block is not closed; write less")
    return [block.code for block in blocks]


def _check_ending(
    reply: Reply,
    briefly: str = "answer with one class and few words around it",
    less: str = "write a shorter class with fewer comments",
) -> None:
    """Raise ReplyRejected for a reply that did not come whole, or is longer than any answer."""
    reason = reply.finish_reason.lower()
    if reason == TOO_LARGE:
        raise ReplyRejected(
            f"the reply has more than {bounds.ANSWER_BYTES >> 20} MiB and was not read to its end;"
            f" {briefly}"
        )
    if len(reply.text) > bounds.REPLY:
        raise ReplyRejected(
            f"the reply has {len(reply.text):,} characters, and at most {bounds.REPLY:,} are read;"
            f" {briefly}"
        )
    if reason in _CUT_OFF:
        raise ReplyRejected(
            f"the reply was cut off at the token limit (finish reason {reason!r});"
            f" {less}, or raise the limit"
        )
    if reason in _FILTERED:
        raise ReplyRejected(f"the provider withheld the reply (finish reason {reason!r})")


def checked_source(code: str, class_name: str) -> str:
    """Return the code unchanged where it defines the class and can be shown.

    Raises ReplyRejected for code without the class, that is too long, or with control characters.
    """
    if not _defines(code, class_name):
        raise ReplyRejected(_no_class([code], class_name))
    if len(code) > bounds.SOURCE:
        raise ReplyRejected(
            f"the code has {len(code):,} characters, and at most {bounds.SOURCE:,} are taken;"
            " write a shorter class"
        )
    if control := control_character(code):
        line, name = control
        raise ReplyRejected(
            f"line {line}: the code holds the control character {name}, which a reader does not"
            " see; leave it out, or write it as an escape in a string"
        )
    return code


def _without_reasoning(text: str) -> str:
    """Return the text with plain line ends, less the reasoning between tags before the answer."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    start = 0
    while tags := _REASONING.match(text, start):
        start = tags.end()
    text = text[start:]
    if _REASONING_START.match(text):
        raise ReplyRejected("the reply was cut off inside its reasoning; reason less, then answer")
    # Some chat templates swallow the opening tag and leave only the closing one.
    ends = list(_REASONING_END.finditer(text))
    return text[ends[-1].end() :] if ends else text


def _with_helpers(blocks: list[_Block], class_name: str) -> str:
    """Return the last block with the class, after the earlier ones that it needs."""
    if not blocks[-1].closed:
        raise ReplyRejected(
            "the reply was cut off: its last ``` block is not closed; write a shorter class"
        )
    codes = [block.code for block in blocks]
    having = [i for i, code in enumerate(codes) if _defines(code, class_name)]
    if not having:
        raise ReplyRejected(_no_class(codes, class_name))
    parts = [codes[having[-1]]]
    missing, bound = _names(parts[0])
    for code in reversed(codes[: having[-1]]):
        if not missing or sum(map(len, parts)) + len(code) > bounds.SOURCE:
            continue
        supplied = _top_level_names(code)
        if class_name not in supplied and supplied & missing:
            parts.insert(0, code)
            needed, defined = _names(code)
            bound |= defined
            missing = (missing | needed) - bound
    return "\n".join(parts)


def _bare(text: str, class_name: str) -> str:
    """Return a reply without any fence where the whole of it is Python."""
    if len(text) > bounds.SOURCE:
        raise ReplyRejected("no code found; put the whole class into one ```python block")
    if tree_of(text) is None:
        where = "not in a fenced block" if _defines(text, class_name) else "missing"
        raise ReplyRejected(
            f"no code found: class {class_name} is {where}; put the whole class into one"
            " ```python block"
        )
    return text.strip("\n") + "\n"


def _no_class(codes: list[str], class_name: str) -> str:
    names = sorted(set(re.findall(r"^(?:class|def)\s+(\w+)", "\n".join(codes), re.MULTILINE)))
    listed = ", ".join(clean_line(name)[:40] for name in names[:5])
    what = f"defines {listed} but" if names else "has"
    return f"the reply's code {what} no class {class_name}; define class {class_name} at top level"


def _defines(code: str, class_name: str) -> bool:
    return re.search(rf"^class\s+{re.escape(class_name)}\s*[(:\[]", code, re.MULTILINE) is not None


def _top_level_names(code: str) -> set[str]:
    """Return the names that a block defines; empty for anything but definitions."""
    names: set[str] = set()
    tree = tree_of(code) if len(code) <= bounds.SOURCE else None
    for node in tree.body if tree else ():
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names.update(*map(_bound_by, targets))
        elif isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef):
            names |= _bound_by(node)
        else:
            return set()
    return names


def _names(code: str) -> tuple[set[str], set[str]]:
    """Return the names that a block reads and defines nowhere, and those that it defines.

    Both are empty where it does not parse.
    """
    tree = tree_of(code) if len(code) <= bounds.SOURCE else None
    if tree is None:
        return set(), set()
    nodes = list(ast.walk(tree))
    bound = set(dir(builtins)).union(*map(_bound_by, nodes))
    return {node.id for node in nodes if isinstance(node, ast.Name)} - bound, bound


def _bound_by(node: ast.AST) -> set[str]:
    """Return the names that a node of a syntax tree binds itself."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Name):
        return set() if isinstance(node.ctx, ast.Load) else {node.id}
    return {node.arg} if isinstance(node, ast.arg) else set()


@dataclass(frozen=True)
class _Block:
    """A fenced block; ``closed`` is false where the text ended before its fence did."""

    code: str
    closed: bool
    language: str


def _blocks(text: str, levels: int = _LEVELS) -> list[_Block]:
    """Return the last blocks of a text, in order, without their fences' indentation.

    A fence within a triple-quoted string ends no block. A block may begin behind words of a line,
    and end at the end of one. Up to so many levels, blocks of text count as the blocks in them.
    """
    lines, blocks = text.split("\n"), list[_Block]()
    at, tries = 0, _TRIES
    while at < len(lines):
        line, at = lines[at], at + 1
        opening = (_FENCE.match(line) or _BEHIND.match(line)) if len(line) <= _FENCE_LINE else None
        if opening is None:
            continue
        indent, fence, language = opening[1], opening[2], opening[3].strip().lower()
        end = first = None
        for number in range(at, len(lines)):
            rest = _before_fence(lines[number], fence)
            if rest is None:
                continue
            code = _dedented([*lines[at:number], rest], indent)
            first = first or (number, code)
            tries -= 1
            # At the end of a line of code the fence counts where this makes Python of the block.
            if tree_of(code) if rest else tries < 0 or not _ends_in_string(code):
                end = number, code
                break
        if end is None and first and not _ON.search("\n".join(lines[first[0] + 1 :])):
            end = first  # a quote too many is no string that goes on
        number, code = end or (len(lines), _dedented(lines[at:], indent))
        at = number + 1
        if end or language or _CODE.search(code):  # else it is a fence too many
            blocks.append(_Block(code, end is not None, language))
    blocks = blocks[-_MOST_BLOCKS:]
    return [inner for block in blocks for inner in _inner(block, levels)][-_MOST_BLOCKS:]


def _inner(block: _Block, levels: int) -> list[_Block]:
    """Return the blocks within a block of text, or one that begins with a fence; else itself."""
    if levels and (block.language in _TEXTS or _FENCE.match(block.code.split("\n", 1)[0])):
        blocks = _blocks(block.code, levels - 1)
        if blocks and all(inner.closed for inner in blocks):
            return blocks
    return [block]


def _before_fence(line: str, fence: str) -> str | None:
    """Return what stands before a closing fence at the end of a line; None where there is none."""
    closing = _FENCE.match(line) if len(line) <= _FENCE_LINE else None
    if closing:
        return "" if closing[2].startswith(fence) and not closing[3].strip() else None
    code = line.rstrip().removesuffix(fence)
    ends = len(code) < len(line.rstrip()) and fence[0] not in code and "#" not in code
    return code if ends else None


def _dedented(lines: list[str], indent: str) -> str:
    """Return lines as code, without the indentation of their fence and what they all share."""
    width = len(indent)
    cut = (line[min(width, len(line) - len(line.lstrip(" \t"))) :] for line in lines)
    return textwrap.dedent("\n".join(cut)).strip("\n") + "\n"


def _ends_in_string(code: str) -> bool:
    """Return whether code ends within a triple-quoted string."""
    if len(code) > bounds.SOURCE or not ('"""' in code or "'''" in code):
        return False
    try:
        parsed(code)
    except SyntaxError as e:
        return "unterminated triple-quoted" in (e.msg or "")
    return False
