"""What prompts say of tuning: how a policy declares its constants, and what was found."""

from __future__ import annotations

from promptpo.tuning import ConstantFound, Standpoint, TuningAccount

#: How a policy says which of its numbers may be chosen.
DECLARING = """
- Once your policy has played as it is written, an optimizer may choose better values for its
  numbers (CMA-ES, tens of thousands of environment steps). Declare those that it may choose where
  you assign them, in the module, the class body or `__init__`, or as a parameter's default:
  `self.kp = tunable(1.5, 0.1, 10, log=True)`, that is value, low, high; `log=True` for what varies
  by factors; a list of numbers in place of one has its bounds for each, or one pair for all. Values
  and bounds are written out as numbers; with three whole numbers the value stays whole.
- Five to twenty numbers that matter are found, fifty hardly: declare gains, thresholds, times,
  amplitudes, phases and offsets that you had to guess, with ranges as wide as you are unsure.
  Tuning cannot find what the structure lacks, and it learns nothing where every value fails alike:
  write a structure that can do the task, with values that do some of it, and let behaviour change
  gradually with each number. It plays hundreds of episodes: an `act` of well under a millisecond
  is tuned, a search ahead in every step is not."""

#: A share of what told samples apart below which a constant did not matter.
_LITTLE = 0.02

#: How much of what told samples apart must be known before a constant is said not to matter.
_EXPLAINED = 0.2

#: Constants that are told of one by one, at most, and reasons of failures.
_MOST, _REASONS = 24, 2


def tuning_words(name: str, account: TuningAccount, tuned: str = "") -> str:
    """What tuning a policy found, in a paragraph; ``tuned`` is the name of what came of it."""
    parts = [f"**{name}**, {account.samples} vectors of values in {account.steps:,} steps:"]
    parts.append(_outcome(account, tuned))
    if account.kept:
        moved = sorted(account.constants, key=lambda c: -(c.matters or 0.0))[:_MOST]
        parts.append("Values: " + ", ".join(map(_moved, moved)) + ".")
    if ends := [c for c in account.constants if c.at]:
        told = ", ".join(f"{c.name} ({c.at}, {_end(c):.4g})" for c in ends[:_MOST])
        parts.append(f"At an end of its range: {told}.")
    explained = sum(c.matters or 0.0 for c in account.constants)
    little = [c for c in account.constants if c.matters is not None and c.matters < _LITTLE]
    if little and explained > _EXPLAINED:
        parts.append("Hardly mattered: " + ", ".join(c.name for c in little[:_MOST]) + ".")
    if account.failures:
        count = sum(number for _, number in account.failures)
        reasons = "; ".join(why[:80] for why, _ in account.failures[:_REASONS])
        parts.append(f"{count} plays of other values failed: {reasons}.")
    return " ".join(parts)


def _outcome(account: TuningAccount, tuned: str) -> str:
    before, after = account.before, account.after
    if before is None or after is None:
        return "nothing was better than the values as written."
    told = f"{_score(before)} as written, {_score(after)} with the values found"
    if account.difference is not None:
        error = account.difference_error
        noise = f" ± {error:.3g}" if error is not None else ""
        told += f" ({account.difference:+.4g}{noise} on {account.final} common episodes)"
    if account.kept:
        return f"{told}; {tuned} has them." if tuned else f"{told}."
    return f"{told}: no better beyond noise, so they stay as written."


def _score(standing: Standpoint) -> str:
    rate = "" if standing.success_rate is None else f"success {standing.success_rate:.2f}, "
    return f"{rate}return {standing.mean_return or 0.0:.5g}"


def _moved(constant: ConstantFound) -> str:
    share = "" if constant.matters is None else f" (matters {constant.matters:.2f})"
    return f"{constant.name} {constant.before:.4g} to {constant.after:.4g}{share}"


def _end(constant: ConstantFound) -> float:
    return constant.low if constant.at == "low" else constant.high
