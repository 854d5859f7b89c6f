"""Scores, policies, and what they learned and tuning found, in the words of prompts."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Sequence
from functools import lru_cache

from msgspec import UNSET

from promptpo.common.plaintext import clean, fenced
from promptpo.common.plaintext import shortened as shortened_text
from promptpo.common.python_text import alignable, decorating, docstring, has_gap, tree_of
from promptpo.common.text import held_words, life_words, success_count
from promptpo.racing import Difference, Paired, standard_error
from promptpo.tuning import TuningAccount
from promptpo.types import Candidate, Rollout

_LINE = 250

#: Characters of a difference between two sources that are told, at most, and of one line of it.
_DIFFERENCE, _DIFFERENT = 500, 80

#: The end of a difference of which not all is told.
MORE = "more lines"

#: Characters of what ``prepare`` printed, of a policy that is told of in full.
FULL = 4000

#: A constant did not matter whose share of what told samples apart is below the first, where the
#: shares of all are above the second.
_LITTLE, _EXPLAINED = 0.02, 0.2

#: Constants that are told of one by one, at most, and reasons of failures.
_MOST, _REASONS = 24, 2


def score_words(candidate: Candidate) -> str:
    """Return its pooled score: ``success 4/5, return 1544 ± 120 (5)``, or why it has none."""
    run = candidate.pooled
    error = candidate.error or (run.error if run else "not rolled out")
    if error or run is None:
        return f"failed: {first_line(error or '')}"
    if not run.seeds:  # of a prompt that is shown before any run
        return "return <number> ± <number> (<number>)"
    returns = f"return {with_error(run.life_returns)} ({len(run.returns)})"
    if run.worst_tenth is not None:
        returns = f"worst tenth {_plain(run.worst_tenth, 5)}, {returns}"
    if learned := life_words(run):
        returns = f"{returns}, {learned}"
    returns = ", ".join([returns, *metric_words(run)])
    successes = run.successes
    return returns if successes[0] is None else f"success {success_count(successes)}, {returns}"


def metric_words(run: Rollout) -> list[str]:
    """Return the mean of each metric, with its range or with how the constraint held."""
    words = []
    for reading in run.readings:
        ends = dict.fromkeys(_plain(v, 4) for v in (min(reading.values), max(reading.values)))
        span = held_words(reading) or " to ".join(ends)
        mean = f"{_plain(reading.mean, 4)} {reading.gauge.unit}".rstrip()
        words.append(f"{reading.name} {mean} ({span})")
    return words


def with_error(values: Sequence[float]) -> str:
    """Return a mean with its standard error."""
    mean, error = sum(values) / len(values), standard_error(values)
    return f"{_plain(mean, 5)} ± {_plain(error, 2)}" if error > 0 else _plain(mean, 5)


def _plain(value: float, digits: int) -> str:
    """Return a number with so many digits, and no exponent where it is of a usual size."""
    return f"{float(f'{value:.{digits}g}'):.6g}"


def paired_words(pair: Paired) -> str:
    """Return ``better (+120 ± 30)``, ``worse``, or ``not told apart``."""
    if pair.same:
        return "as the best before it"
    word = {1: "better", -1: "worse", 0: "not told apart"}[pair.sign]
    by = [f"worst tenth {_difference(pair.returns)}" if pair.tail else _difference(pair.returns)]
    if pair.successes is not None and pair.successes.mean:
        by = [f"success {_difference(pair.successes)}", *by]
    return f"{word} ({', '.join(by)})"


def _difference(difference: Difference) -> str:
    sign = "+" if difference.mean > 0 else ""
    return f"{sign}{_plain(difference.mean, 4)} ± {_plain(difference.error, 2)}"


def lengths_words(run: Rollout, horizon: int) -> str:
    """Return how long its episodes were, and how many the task ended before the step limit."""
    least, most = min(run.lengths), max(run.lengths)
    words = f"{most} steps" if least == most else f"{least}-{most} steps"
    early = sum(length < horizon for length in run.lengths)
    return f"{words} ({early} ended early)" if early else words


@lru_cache(256)
@decorating(str)
def strategy_line(source: str | None) -> str:
    """Return the first paragraph of the docstring of ``class Policy`` on one line; may be empty."""
    tree = tree_of(source or "")
    for node in tree.body if tree else ():
        if isinstance(node, ast.ClassDef) and node.name == "Policy":
            return shortened(" ".join(docstring(node).split("\n\n")[0].split()))
    return ""


def first_line(text: str) -> str:
    """Return the first line of a text that is not empty."""
    return shortened(next((x.strip() for x in text.splitlines() if x.strip()), ""))


def shortened(line: str, most: int = _LINE) -> str:
    """Return a line without control characters, cut to a length."""
    line = clean(line)
    return line if len(line) <= most else line[: most - 3] + "..."


def source_difference(old: str, new: str, most: int = _DIFFERENCE) -> str:
    """Return the changed lines of a source, without context; empty where it is another one.

    Docstrings are left out, because the strategy is told elsewhere.
    """
    before, after = (_without_docstrings(text).splitlines() for text in (old, new))
    if not alignable(before, after):
        return ""
    lines = list(difflib.unified_diff(before, after, n=0, lineterm=""))[2:]
    changed = [shortened(line.rstrip(), _DIFFERENT) for line in lines if not line.startswith("@@")]
    if sum(line.startswith("+") for line in changed) > 0.6 * max(len(after), 1):
        return ""
    size = 0
    for number, line in enumerate(changed):
        size += len(line)
        if size > most:
            return "\n".join([*changed[:number], f"... {len(changed) - number} {MORE}"])
    return "\n".join(changed)


def _without_docstrings(source: str) -> str:
    source = source.strip()
    if has_gap(source):
        return source
    return re.sub(r'(?m)^\s*[rR]?"""(?:.|\n)*?"""[ \t]*\n?', "", source)


def what_differs(text: str, first: str) -> str:
    """Return a text without the statements that stand in another one just so."""
    before = set(_statements(first))
    new = [part for part in _statements(text) if part not in before]
    return " ".join(new) if new else "(as above)"


def _statements(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"(?<=[.;])\s+|\n", text) if part.strip()]


def preparation_words(candidate: Candidate, most: int = FULL) -> str:
    """Return what its ``prepare`` found, its output in so many characters; empty without one."""
    done = candidate.preparation
    if done is None or done.error is not None:
        return ""
    data = f" on {done.episodes:,} episodes, {done.transitions:,} transitions"
    output = shortened_text(clean(done.output.strip()), most)
    printed = f" printed:\n\n{fenced(output)}" if output else " printed nothing."
    return f"{_prepared(candidate, data)}, and{printed}"


def preparation_line(candidate: Candidate, most: int) -> str:
    """Return the same on one line, cut to about so many characters; empty without one."""
    done = candidate.preparation
    if done is None or done.error is not None:
        return ""
    output = shortened(" ".join(clean(done.output).split()), most)
    return f"{_prepared(candidate)}: {output or 'no output'}"


def _prepared(candidate: Candidate, data: str = "") -> str:
    """Return the time of its ``prepare``, and how far the predicted return is from the real one.

    Processor time is so coarse that a replay of the run tells the same as far as can be.
    """
    done, score = candidate.preparation, candidate.score
    assert done is not None  # noqa: S101 - looked at by the callers
    step = next(n * 10**k for k in range(9) for n in (1, 2, 5) if done.seconds < n * 10**k)
    words = f"Its prepare() took less than {step} s{data}"
    if done.predicted is not None:
        words += f", predicted a return of {done.predicted:.5g}"
        if not score.failed:
            off = score.mean_return - done.predicted
            words += f" (its mean is {score.mean_return:.5g}, {'+' * (off > 0)}{off:.4g})"
    return words


def printed(candidate: Candidate) -> str:
    """Return what a failed attempt had printed, while it prepared and while it played."""
    done, run = candidate.preparation, candidate.rollout
    parts = [done.output if done is not None else "", run.output if run is not None else ""]
    return "\n".join(part.strip("\n") for part in parts if part.strip())


def tuning_words(name: str, account: TuningAccount, tuned: str = "") -> str:
    """Return what tuning a policy found, in a paragraph; ``tuned`` is the name of its result."""
    parts = [f"**{name}**, {account.samples} vectors of values in {account.steps:,} steps:"]
    parts.append(_tuning_outcome(account, tuned))
    constants = account.constants
    if account.plays_on:
        values = [
            f"{c.name} {c.before:.4g} to {c.after:.4g}"
            + ("" if c.matters is None else f" (matters {c.matters:.2f})")
            for c in sorted(constants, key=lambda c: -(c.matters or 0.0))[:_MOST]
        ]
        parts.append(f"Values: {', '.join(values)}.")
    ends = [f"{c.name} ({c.at}, {c.low if c.at == 'low' else c.high:.4g})"
            for c in constants if c.at]  # fmt: skip
    if ends:
        parts.append(f"At an end of its range: {', '.join(ends[:_MOST])}.")
    little = [c.name for c in constants if c.matters is not None and c.matters < _LITTLE]
    if little and sum(c.matters or 0.0 for c in constants) > _EXPLAINED:
        parts.append(f"Hardly mattered: {', '.join(little[:_MOST])}.")
    if account.failures:
        count = sum(number for _, number in account.failures)
        reasons = "; ".join(why[:80] for why, _ in account.failures[:_REASONS])
        parts.append(f"{count} plays of other values failed: {reasons}.")
    return " ".join(parts)


def _tuning_outcome(account: TuningAccount, tuned: str) -> str:
    if account.before is None or account.after is None:
        return "nothing was better than the values as written."
    before, after = (
        ("" if at.success_rate is None else f"success {at.success_rate:.2f}, ")
        + (f"worst tenth {at.worst_tenth:.5g}, " if at.worst_tenth is not UNSET else "")
        + f"return {at.mean_return or 0.0:.5g}"
        for at in (account.before, account.after)
    )
    words = f"{before} as written, {after} with the values found"
    if account.difference is not None:
        error = account.difference_error
        noise = f" ± {error:.3g}" if error is not None else ""
        of = "" if account.after.worst_tenth is UNSET else "worst tenth "
        words += f" ({of}{account.difference:+.4g}{noise} on {account.final} common episodes)"
    if account.kept:
        return f"{words}; {tuned} has them." if tuned else f"{words}."
    if account.open:
        return f"{words}: too few to tell, so {tuned or 'a copy'} has them and plays on."
    return f"{words}: no better beyond noise, so they stay as written."
