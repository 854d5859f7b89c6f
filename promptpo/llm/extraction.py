"""From a reply to the source of the class that was asked for.

Of several fenced blocks the last one that defines the class counts (a model that shows a draft
first ends with what it means), with those earlier blocks put before it that define names which
it uses and does not define itself (imports or helpers in a block of their own).
"""

from __future__ import annotations

import ast
import builtins
import re
from functools import partial

from promptpo.common import bounds
from promptpo.common.plaintext import clean_line, control_character
from promptpo.common.python_text import tree_of
from promptpo.llm.blocks import Block, blocks_of
from promptpo.llm.messages import TOO_LARGE, Reply

_TAGS = "think|thinking|thought|reasoning"
_REASONING = re.compile(rf"\s*<({_TAGS})>.*?</\1>", re.DOTALL)
_REASONING_START = re.compile(rf"\s*<(?:{_TAGS})>")
_REASONING_END = re.compile(rf"^[ \t]*</(?:{_TAGS})>", re.MULTILINE)
_CUT = "the reply was cut off: its last ``` block is not closed; write a shorter class"
#: What shows, behind the last fence, that it stood within a string and the code went on.
_ON = re.compile(r"^[ \t]*(?:\"{3}|'{3})[ \t]*$|^[ \t]+(?:def|return)\b", re.MULTILINE)
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
    text = _without_reasoning(reply.text.removeprefix("\ufeff").replace("\r\n", "\n"))
    if not text.strip():
        raise ReplyRejected("the reply was empty; answer with one ```python block")
    return checked_source(_found(text, class_name), class_name)


def policy_source(reply: Reply) -> str:
    """The source of the policy in a reply. Raises ReplyRejected."""
    return extract_code(reply, "Policy")


def answer_text(reply: Reply) -> str:
    """What a reply says that holds no code, without the reasoning before it.

    Raises ReplyRejected for one that is empty, cut off or too long.
    """
    _check_ending(reply, "answer in few words", "write less")
    text = _without_reasoning(reply.text.removeprefix("\ufeff").replace("\r\n", "\n"))
    if not text.strip():
        raise ReplyRejected("the reply was empty")
    return text


def extract_blocks(reply: Reply) -> list[str]:
    """What the fenced blocks of a reply hold, in order, be it code or not.

    Raises ReplyRejected for a reply that is empty, cut off or too long.
    """
    blocks = blocks_of(answer_text(reply))
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
    """The code itself, where it defines the class and is no candidate's that cannot be shown.

    Raises ReplyRejected for code without the class, that is too long, or with control characters.
    """
    if not _defines(code, class_name):
        raise ReplyRejected(_no_class([code], class_name))
    if len(code) > bounds.SOURCE:
        raise ReplyRejected(
            f"the code has {len(code):,} characters, and at most {bounds.SOURCE:,} are taken;"
            " write a shorter class"
        )
    if found := control_character(code):
        line, name = found
        raise ReplyRejected(
            f"line {line}: the code holds the control character {name}, which a reader does not"
            " see; leave it out, or write it as an escape in a string"
        )
    return code


def _without_reasoning(text: str) -> str:
    """Drop reasoning that some models put before the answer, between tags."""
    start = 0
    while found := _REASONING.match(text, start):
        start = found.end()
    text = text[start:]
    if _REASONING_START.match(text):
        raise ReplyRejected("the reply was cut off inside its reasoning; reason less, then answer")
    # Some chat templates swallow the opening tag and leave only the closing one.
    ends = list(_REASONING_END.finditer(text))
    return text[ends[-1].end() :] if ends else text


def _found(text: str, class_name: str) -> str:
    """The code of a reply: of the ways to read its fences the first that gives Python.

    Else what the first one gives that gives the class at all.
    """
    ways = [partial(blocks_of), partial(blocks_of, strings=True)]
    ways.append(partial(blocks_of, strings=True, within_lines=True))
    sources: list[str] = []
    reasons: list[tuple[int, str]] = []
    for way in ways:
        if not (blocks := way(text)):
            continue
        try:
            source = _chosen(blocks, class_name)
        except ReplyRejected as e:
            reasons.append((len(blocks), e.reason))
            continue
        if _parsed(source) is not None:
            return source
        sources.append(source)
    ended_within = any(why == _CUT for _, why in reasons) and _ON.search(text[_last_fence(text) :])
    if sources and not ended_within:
        return sources[0]
    if reasons:
        raise ReplyRejected(max(reasons, key=lambda pair: pair[0])[1])
    return _bare(text, class_name)


def _last_fence(text: str) -> int:
    return max(text.rfind("```"), text.rfind("~~~"), 0)


def _chosen(blocks: list[Block], class_name: str) -> str:
    """The last block with the class, after the earlier ones that it needs."""
    if not blocks[-1].closed:
        raise ReplyRejected(_CUT)
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
            needed, here = _names(code)
            bound |= here
            missing = (missing | needed) - bound
    return "\n".join(parts)


def _bare(text: str, class_name: str) -> str:
    """A reply without any fence counts where the whole of it is Python."""
    if len(text) > bounds.SOURCE:
        raise ReplyRejected("no code found; put the whole class into one ```python block")
    if _parsed(text) is None:
        shown = "not in a fenced block" if _defines(text, class_name) else "missing"
        raise ReplyRejected(
            f"no code found: class {class_name} is {shown}; put the whole class into one"
            " ```python block"
        )
    if not _defines(text, class_name):
        raise ReplyRejected(_no_class([text], class_name))
    return text.strip("\n") + "\n"


def _no_class(codes: list[str], class_name: str) -> str:
    found = sorted(set(re.findall(r"^(?:class|def)\s+(\w+)", "\n".join(codes), re.MULTILINE)))
    shown = ", ".join(clean_line(name)[:40] for name in found[:5])
    what = f"defines {shown} but" if found else "has"
    return f"the reply's code {what} no class {class_name}; define class {class_name} at top level"


def _defines(code: str, class_name: str) -> bool:
    return re.search(rf"^class\s+{re.escape(class_name)}\s*[(:\[]", code, re.MULTILINE) is not None


def _top_level_names(code: str) -> set[str]:
    """Names that a block defines, if it is Python made of nothing but definitions."""
    names: set[str] = set()
    tree = _parsed(code)
    for node in tree.body if tree else ():
        if isinstance(node, ast.Import | ast.ImportFrom):
            names.update((a.asname or a.name).partition(".")[0] for a in node.names)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names.update(t.id for t in targets if isinstance(t, ast.Name))
        else:
            return set()
    return names


def _names(code: str) -> tuple[set[str], set[str]]:
    """Names that a block reads and defines nowhere, and those that it defines.

    Both are empty where it does not parse.
    """
    tree = _parsed(code)
    if tree is None:
        return set(), set()
    read: set[str] = set()
    bound: set[str] = set(dir(builtins))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            bound.update((a.asname or a.name).partition(".")[0] for a in node.names)
    return read - bound, bound


def _parsed(code: str) -> ast.Module | None:
    """The syntax tree; None for what is no Python, or is too long or nested for the parser."""
    return tree_of(code) if len(code) <= bounds.SOURCE else None
