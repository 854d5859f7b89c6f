"""Checks of how the environment runs: ends of episodes, seeds, speed, reference values."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Collection, Iterator

from promptpo.checks.findings import Effort, Finding, judged
from promptpo.checks.play import Played
from promptpo.common.text import plural
from promptpo.spec import Env, EnvSpec, Reference, Task
from promptpo.spec.running.references import MEASURED, Measured, measure_all

#: A stated value may be rounded to this share of itself.
ROUNDED = 0.01

#: Seeds of reference episodes: others than those of ``python -m promptpo.spec.baselines``.
FIRST_SEED = 500


def check_ends(task: Task, played: Played) -> Iterator[Finding]:
    """Episodes are cut at the stated horizon and no sooner; success is seen where it is defined."""
    horizon = played.spec.horizon
    problems = [
        f"the environment cuts episodes after {limit} steps, the spec states {horizon}"
        for limit in limits_of(task.env)
        if limit < horizon
    ]
    for episode in played.episodes:
        if not episode.terminated and episode.length != horizon:
            problems.append(f"seed {episode.seed} was truncated after {episode.length} steps")
            break
    ended = [e for e in played.episodes if e.terminated]
    cut = len(played.episodes) - len(ended)
    lengths = f" after {plural(min(e.length for e in ended), 'step')} or more" if ended else ""
    yield judged("horizon", problems, f"{horizon:,} steps; {cut} episodes reached it")
    yield Finding("termination", "note", f"{len(ended)} of {len(played.episodes)} ended{lengths}")
    yield _success(played)


def _success(played: Played) -> Finding:
    if played.spec.success is None:
        return Finding("success", "note", "not defined; candidates are ranked by return")
    counts: dict[str, tuple[int, int]] = {}
    for episode in played.episodes:
        met, count = counts.get(episode.mode, (0, 0))
        counts[episode.mode] = (met + bool(episode.success), count + 1)
    words = ", ".join(f"{mode} {met} of {count}" for mode, (met, count) in counts.items())
    return Finding("success", "note", words)


def limits_of(env: Env) -> list[int]:
    """Step limits of its own that an environment tells of, its wrappers' included."""
    found = []
    while env is not None:
        for name in ("_max_episode_steps", "max_path_length"):
            limit = vars(env).get(name, getattr(type(env), name, None))
            if isinstance(limit, int) and not isinstance(limit, bool):
                found.append(limit)
        env = vars(env).get("env")
    return found


def check_speed(played: Played, construct: float) -> Finding:
    """Steps a second of the environment on one core, and seconds to construct it."""
    rate = len(played.transitions) / max(played.seconds, 1e-9)
    return Finding("speed", "note", f"{rate:,.0f} steps/s; constructed in {construct:.2f} s")


def check_references(task: Task, effort: Effort) -> Iterator[Finding]:
    """Stated reference values hold: measured again, they differ by chance and rounding only."""
    stated = dict(task.spec.reference_scores)
    if task.spec.expert and "optimum" in stated:
        stated.setdefault("expert", stated.pop("optimum"))  # an exact optimum: its expert plays it
    fewest, most = effort.reference_episodes
    seeds = range(FIRST_SEED, FIRST_SEED + most)
    missed = set()
    for name, measured in measure_all(task, seeds, effort.reference_steps, fewest):
        if name not in stated:
            missed.add(name)
        yield _compared(task.spec, name, stated.pop(name, None), measured)
    for name, reference in stated.items():
        yield _unmeasured(name, reference, missed)


def _unmeasured(name: str, stated: Reference, missed: Collection[str]) -> Finding:
    """A reference that is shown only; a failure where it is a misspelt one that is measured."""
    label = f"reference: {name}"
    # "zero" and "zero_actions" are meant to be "zero action"; "human expert" is not "expert".
    words = " ".join(re.split(r"[\W_]+", name.lower())).strip()
    for meant in missed:
        alike = difflib.SequenceMatcher(None, words, meant).ratio() >= 0.8
        if alike or meant.startswith(words) or words.startswith(meant):
            measured = ", ".join(map(repr, MEASURED))
            remedy = f"did you mean {meant!r}? Of references, {measured} are measured"
            return Finding(label, "FAIL", f"{remedy}; other names are shown only")
    detail = f"stated {stated.mean_return:g}; not measured"
    if name == "expert":
        detail += ", for the spec has no expert"
    elif name != "optimum":
        detail += f", as {', '.join(MEASURED)} are"
    return Finding(label, "note", detail)


def _compared(spec: EnvSpec, name: str, stated: Reference | None, got: Measured) -> Finding:
    score = got.reference
    value = f"{score.mean_return:.6g} +- {got.standard_error:.2g}"
    rate = "" if score.success_rate is None else f", success {score.success_rate:.2f}"
    detail = f"{value}{rate} over {got.episodes} episodes"
    label = f"reference: {name}"
    if stated is None:
        return Finding(label, "note", f"the spec states no such reference; measured {detail}")
    allowed = allowance(stated, got)
    known = f"stated {stated.mean_return:g}"
    problems = []
    if not abs(score.mean_return - stated.mean_return) <= allowed:
        problems.append(f"{detail}, but {known}: more than {allowed:.3g} apart")
    if stated.success_rate is not None and spec.success is None:
        problems.append("a success rate is stated, but the spec defines no success")
    elif stated.success_rate is not None and score.success_rate is not None:
        low, high = _rates(score.success_rate, got.episodes)
        known_low, known_high = _rates(stated.success_rate, stated.episodes)
        if known_low > high or known_high < low:
            problems.append(f"{detail}, but success {stated.success_rate:g} is stated")
    return judged(label, problems, f"{detail}; {known}")


def allowance(stated: Reference, got: Measured) -> float:
    """How far the measured mean may be off: chance of 1 in 5,000, and what rounding took."""
    from scipy.special import stdtrit

    spread = got.standard_error if math.isfinite(got.standard_error) else 0.0
    quantile = float(stdtrit(max(got.episodes - 1, 1), 1 - 1e-4))
    if stated.deviation is not None:
        spread = max(spread, stated.deviation / math.sqrt(got.episodes))
        if stated.episodes is not None:
            spread = math.hypot(spread, stated.deviation / math.sqrt(stated.episodes))
    return quantile * spread + ROUNDED * abs(stated.mean_return) + 1e-9


def _rates(rate: float, episodes: int | None) -> tuple[float, float]:
    """Between which rates the true one lies; the rate itself where no number is told."""
    from promptpo.stats import success_interval

    if episodes is None:
        return rate, rate
    interval = success_interval(round(rate * episodes), episodes, level=0.9998)
    if interval is None:
        return 0.0, 1.0
    return interval.low - ROUNDED, interval.high + ROUNDED
