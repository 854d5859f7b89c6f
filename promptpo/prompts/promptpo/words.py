"""Scores and policies in words, as prompts tell them."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Sequence
from functools import lru_cache

from promptpo.common.plaintext import clean
from promptpo.common.python_text import alignable, decorating, docstring, has_gap, tree_of
from promptpo.common.text import life_words, success_count
from promptpo.racing import Difference, Paired, standard_error
from promptpo.types import Candidate, Rollout

_LINE = 250

#: Characters of a difference between two sources that are told, at most, and of one line of it.
_DIFFERENCE, _DIFFERENT = 500, 80

#: What a difference ends with of which not all is told.
MORE = "more lines"


def score_words(candidate: Candidate) -> str:
    """Its pooled score: ``success 4/5, return 1544 ± 120 (5)``, or why it has none."""
    run = candidate.pooled
    error = candidate.error or (run.error if run else "not rolled out")
    if error or run is None:
        return f"failed: {first_line(error or '')}"
    if not run.seeds:  # of a prompt that is shown before any run
        return "return <number> ± <number> (<number>)"
    returns = f"return {with_error(run.life_returns)} ({len(run.returns)})"
    if learned := life_words(run):
        returns = f"{returns}, {learned}"
    successes = run.successes
    return returns if successes[0] is None else f"success {success_count(successes)}, {returns}"


def with_error(values: Sequence[float]) -> str:
    """A mean with its standard error."""
    mean, error = sum(values) / len(values), standard_error(values)
    return f"{_plain(mean, 5)} ± {_plain(error, 2)}" if error > 0 else _plain(mean, 5)


def _plain(value: float, digits: int) -> str:
    """A number with so many digits, and no exponent where it is of a usual size."""
    return f"{float(f'{value:.{digits}g}'):.6g}"


def paired_words(told: Paired) -> str:
    """``better (+120 ± 30)``, ``worse``, or ``not told apart``."""
    if told.same:
        return "as the best before it"
    word = {1: "better", -1: "worse", 0: "not told apart"}[told.sign]
    by = [_difference(told.returns)]
    if told.successes is not None and told.successes.mean:
        by = [f"success {_difference(told.successes)}", *by]
    return f"{word} ({', '.join(by)})"


def lengths_words(run: Rollout, horizon: int) -> str:
    """How long its episodes were, and how many the task ended before the step limit."""
    least, most = min(run.lengths), max(run.lengths)
    words = f"{most} steps" if least == most else f"{least}-{most} steps"
    early = sum(length < horizon for length in run.lengths)
    return f"{words} ({early} ended early)" if early else words


def _difference(told: Difference) -> str:
    return f"{'+' * (told.mean > 0)}{_plain(told.mean, 4)} ± {_plain(told.error, 2)}"


@lru_cache(256)
@decorating(str)
def strategy_line(source: str | None) -> str:
    """The first paragraph of the docstring of ``class Policy``, on one line; may be empty."""
    tree = tree_of(source or "")
    for node in tree.body if tree else ():
        if isinstance(node, ast.ClassDef) and node.name == "Policy":
            return shortened(" ".join(docstring(node).split("\n\n")[0].split()))
    return ""


def first_line(text: str) -> str:
    """The first line of a text that is not empty."""
    return shortened(next((x.strip() for x in text.splitlines() if x.strip()), ""))


def shortened(line: str, most: int = _LINE) -> str:
    """A line without control characters, cut to a length."""
    line = clean(line)
    return line if len(line) <= most else line[: most - 3] + "..."


def source_difference(old: str, new: str, most: int = _DIFFERENCE) -> str:
    """The changed lines of a source, without context; empty where it is another one altogether.

    Docstrings are left out, because the strategy is told elsewhere.
    """
    before, after = (_without_docstrings(text).splitlines() for text in (old, new))
    if not alignable(before, after):
        return ""
    lines = list(difflib.unified_diff(before, after, n=0, lineterm=""))[2:]
    told = [shortened(line.rstrip(), _DIFFERENT) for line in lines if not line.startswith("@@")]
    if sum(line.startswith("+") for line in told) > 0.6 * max(len(after), 1):
        return ""
    kept: list[str] = []
    for line in told:
        if sum(map(len, kept)) + len(line) > most:
            return "\n".join([*kept, f"... {len(told) - len(kept)} {MORE}"])
        kept.append(line)
    return "\n".join(kept)


def _without_docstrings(source: str) -> str:
    source = source.strip()
    if has_gap(source):
        return source
    return re.sub(r'(?m)^\s*[rR]?"""(?:.|\n)*?"""[ \t]*\n?', "", source)


def what_differs(text: str, first: str) -> str:
    """A text without the statements that stand in another one just so."""
    known = set(_statements(first))
    new = [part for part in _statements(text) if part not in known]
    return " ".join(new) if new else "(as above)"


def _statements(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"(?<=[.;])\s+|\n", text) if part.strip()]
