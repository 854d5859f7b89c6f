"""Checks of how the environment runs: ends of episodes, seeds, speed, reference values."""

from __future__ import annotations

import contextlib
import copy
import difflib
import hashlib
import math
import random
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, TypeAlias, get_args

import numpy as np

from promptpo.checks.findings import Effort, Finding, judged
from promptpo.checks.play import Played
from promptpo.common.text import bound_words, plural, with_unit
from promptpo.errors import SpecError
from promptpo.rollout.seeds import episode_seeds
from promptpo.spec import Env, EnvSpec, Flat, Reference, Task, layout, spec_text
from promptpo.spec.baselines import MEASURED, Measured, measure_all
from promptpo.spec.importing import line_of
from promptpo.types import Stream

#: A stated value may be rounded to this share of itself.
ROUNDED = 0.01

#: Seeds of reference episodes: others than those of ``python -m promptpo.spec.baselines``.
FIRST_SEED = 500

#: What a step returns: observation, reward, terminated, truncated, success.
Outcome: TypeAlias = tuple[Flat, float, bool, bool, bool | None]

#: Seeds that are played twice, and steps of each at most.
SEEDS = (0, 1, 2, 3, 1_000_003, 2_000_000_011)
STEPS = 200

#: Chance may hang on the actions, as an opponent's does: so many others are tried.
ACTION_STREAMS = 30

_REMEDY = (
    "begin the environment's reset with super().reset(seed=seed), draw from self.np_random alone,"
    " and let reset set all that step changes; for an environment that is not yours, give EnvSpec"
    " a reset(env, seed)"
)


def check_ends(task: Task, played: Played) -> Iterator[Finding]:
    """Check that episodes are cut at the stated horizon and no sooner; count successes."""
    horizon, episodes = played.spec.horizon, played.episodes
    problems = [
        f"the environment cuts episodes after {limit} steps, the spec states {horizon}"
        for limit in _limits_of(task.env)
        if limit < horizon
    ]
    sooner = (e for e in episodes if not e.terminated and e.length != horizon)
    for episode in islice(sooner, 1):
        problems.append(f"seed {episode.seed} was truncated after {episode.length} steps")
    ended = [e for e in episodes if e.terminated]
    lengths = f" after {plural(min(e.length for e in ended), 'step')} or more" if ended else ""
    cut = len(episodes) - len(ended)
    yield judged("horizon", problems, f"{horizon:,} steps; {cut} episodes reached it")
    yield Finding("termination", "note", f"{len(ended)} of {len(episodes)} ended{lengths}")
    met: dict[str, list[bool]] = {}
    for episode in episodes:
        met.setdefault(episode.mode, []).append(bool(episode.success))
    words = ", ".join(f"{mode} {sum(each)} of {len(each)}" for mode, each in met.items())
    if not played.spec.defines_success:
        words = "not defined; candidates are ranked by return"
    yield Finding("success", "note", words)
    for name, metric in played.spec.measured.items():
        values: dict[str, list[float]] = {}
        for episode in episodes:
            values.setdefault(episode.mode, []).append((episode.metrics or {})[name])
        means = [f"{m} {with_unit(sum(v) / len(v), metric.unit)}" for m, v in values.items()]
        wanted = bound_words(metric.gauge) or f"{metric.better}er is better" * bool(metric.better)
        words = "; ".join(filter(None, (", ".join(means), wanted)))
        yield Finding(f"metric: {name}", "note", words)


def _limits_of(env: Env) -> Iterator[int]:
    """Yield step limits of its own that an environment tells of, its wrappers' included."""
    while env is not None:
        for name in ("_max_episode_steps", "max_path_length"):
            limit = vars(env).get(name, getattr(type(env), name, None))
            if isinstance(limit, int) and not isinstance(limit, bool):
                yield limit
        env = vars(env).get("env")


def check_speed(played: Played, construct: float) -> Iterator[Finding]:
    """State steps a second of the environment on one core, and seconds to construct it."""
    rate = len(played.transitions) / max(played.seconds, 1e-9)
    yield Finding("speed", "note", f"{rate:,.0f} steps/s; constructed in {construct:.2f} s")


# --- Reference values -----------------------------------------------------------------------------


def check_references(task: Task, effort: Effort) -> Iterator[Finding]:
    """Check that reference values, measured again, differ by chance and rounding only."""
    stated = dict(task.spec.reference_scores)
    if task.spec.expert and "optimum" in stated:
        stated.setdefault("expert", stated.pop("optimum"))  # an exact optimum: its expert plays it
    fewest, most = effort.reference_episodes
    seeds = range(FIRST_SEED, FIRST_SEED + most)
    missing = set()
    for name, measured in measure_all(task, seeds, effort.reference_steps, fewest):
        if name not in stated:
            missing.add(name)
        yield _compared(task.spec, name, stated.pop(name, None), measured)
    for name, reference in stated.items():
        yield _unmeasured(name, reference, missing)


def _unmeasured(name: str, stated: Reference, missing: Collection[str]) -> Finding:
    """Return a reference that is shown only; a failure where it is a misspelt one of MEASURED."""
    label = f"reference: {name}"
    # "zero" and "zero_actions" are meant to be "zero action"; "human expert" is not "expert".
    words = " ".join(re.split(r"[\W_]+", name.lower())).strip()
    for meant in missing:
        alike = difflib.SequenceMatcher(None, words, meant).ratio() >= 0.8
        if alike or meant.startswith(words) or words.startswith(meant):
            measured = ", ".join(map(repr, MEASURED))
            remedy = f"did you mean {meant!r}? Of references, {measured} are measured"
            return Finding(label, "FAIL", f"{remedy}; other names are shown only")
    reason = {"expert": ", for the spec has no expert", "optimum": ""}
    why = reason.get(name, f", as {', '.join(MEASURED)} are")
    return Finding(label, "note", f"stated {stated.mean_return:g}; not measured{why}")


def _compared(spec: EnvSpec, name: str, stated: Reference | None, got: Measured) -> Finding:
    score = got.reference
    value = f"{score.mean_return:.6g} +- {got.standard_error:.2g}"
    if score.worst_tenth is not None:
        value += f", worst tenth {score.worst_tenth:.6g}"
    rate = "" if score.success_rate is None else f", success {score.success_rate:.2f}"
    detail = f"{value}{rate} over {got.episodes} episodes"
    label = f"reference: {name}"
    if stated is None:
        return Finding(label, "note", f"the spec states no such reference; measured {detail}")
    allowed = allowance(stated, got)
    problems = []
    if not abs(score.mean_return - stated.mean_return) <= allowed:
        problems.append(
            f"{detail}, but stated {stated.mean_return:g}: more than {allowed:.3g} apart"
        )
    if None not in (stated.worst_tenth, score.worst_tenth):
        problems += _tail_problems(stated, got)
    if stated.success_rate is not None and not spec.defines_success:
        problems.append("a success rate is stated, but the spec defines no success")
    elif stated.success_rate is not None and score.success_rate is not None:
        low, high = rate_bounds(score.success_rate, got.episodes)
        stated_low, stated_high = rate_bounds(stated.success_rate, stated.episodes)
        if stated_low > high or stated_high < low:
            problems.append(f"{detail}, but success {stated.success_rate:g} is stated")
    tenth = "" if stated.worst_tenth is None else f", worst tenth {stated.worst_tenth:g}"
    return judged(label, problems, f"{detail}; stated {stated.mean_return:g}{tenth}")


def _tail_problems(stated: Reference, got: Measured) -> Iterator[str]:
    """Yield what is wrong with the stated mean return of the worst tenth."""
    tenth, own = stated.worst_tenth or 0.0, got.reference.worst_tenth or 0.0
    allowed = _quantile(got) * got.tail_error + ROUNDED * abs(tenth) + 1e-9
    if not abs(own - tenth) <= allowed:
        yield f"worst tenth {own:.6g}, but stated {tenth:g}: more than {allowed:.3g} apart"


def _quantile(got: Measured) -> float:
    """Return how many standard errors chance may make up, but for 1 case in 5,000."""
    from scipy.special import stdtrit

    return float(stdtrit(max(got.episodes - 1, 1), 1 - 1e-4))


def allowance(stated: Reference, got: Measured) -> float:
    """Return how far the measured mean may be off: chance of 1 in 5,000, and rounding."""
    spread = got.standard_error if math.isfinite(got.standard_error) else 0.0
    if stated.deviation is not None:
        spread = max(spread, stated.deviation / math.sqrt(got.episodes))
        if stated.episodes is not None:
            spread = math.hypot(spread, stated.deviation / math.sqrt(stated.episodes))
    return _quantile(got) * spread + ROUNDED * abs(stated.mean_return) + 1e-9


def rate_bounds(rate: float, episodes: int | None) -> tuple[float, float]:
    """Return the rates between which the true one lies; the rate itself without a number."""
    from promptpo.stats import success_interval

    if episodes is None:
        return rate, rate
    interval = success_interval(round(rate * episodes), episodes, level=0.9998)
    if interval is None:
        return 0.0, 1.0
    return interval.low - ROUNDED, interval.high + ROUNDED


# --- Seeds ----------------------------------------------------------------------------------------


class Company:
    """Another environment of the same spec, which plays episodes of its own meanwhile."""

    def __init__(self, task: Task) -> None:
        self._task, self._seed, self._over = task, 0, True
        self._space = copy.deepcopy(task.env.action_space)  # a class may share one
        self._space.seed(1)

    def step(self) -> None:
        """Go on by a step, or begin the next episode."""
        if self._over:
            self._seed += 1
            self._task.reset(self._seed)
        self._over = any(self._task.step(_row(self._space.sample()))[2:4])


def _row(action: Any) -> Flat:  # noqa: ANN401 - of any space
    return np.asarray(action, dtype=np.float64).reshape(-1)


def episode_of(
    task: Task, seed: int, stream: int = 0, company: Company | None = None
) -> Iterator[Outcome]:
    """Yield the first observation and what at most STEPS steps return.

    ``stream`` decides the actions; ``company`` takes a step before each.
    """
    space = task.env.action_space
    space.seed(stream)
    yield task.reset(seed), 0.0, False, False, None
    for _ in range(STEPS):
        if company is not None:
            company.step()
        outcome = task.step(_row(space.sample()))
        yield outcome
        if outcome[2] or outcome[3]:
            break


def digests(task: Task, seeds: Sequence[int] = SEEDS, company: Company | None = None) -> list[str]:
    """Return one digest a seed, of observations and rewards under the same actions for all seeds.

    Where these actions show no difference between the seeds, others are tried.
    """
    result: list[str] = []
    for stream in range(1 if task.spec.deterministic else ACTION_STREAMS):
        result = []
        for seed in seeds:
            hashed = hashlib.sha256()
            for flat, *rest in episode_of(task, seed, stream, company):
                hashed.update(flat.tobytes() + repr(tuple(rest)).encode())
            result.append(hashed.hexdigest())
        if len(set(result)) > 1:
            break
    return result


def check_seeds(task: Task, replayed: Sequence[str] | str, effort: Effort) -> Iterator[Finding]:
    """Check that a seed repeats its episode in a new process, and other seeds differ."""
    if isinstance(replayed, str):
        yield Finding("seeds", "FAIL", f"a new process could not play them: {replayed}")
    else:
        yield _replayed(task, replayed)
    yield _streams(task, effort.start_seeds)


def _replayed(task: Task, replayed: Sequence[str]) -> Finding:
    """Compare the digests of another process with those of this one, played in another order."""
    ours = digests(task, SEEDS[::-1])[::-1]
    unlike = [seed for seed, a, b in zip(SEEDS, ours, replayed, strict=True) if a != b]
    different, deterministic = len(set(ours)), task.spec.deterministic
    more: tuple[str, ...] = ()
    problems = []
    if unlike:
        named = ", ".join(map(str, unlike))
        seeds = f"seed {named} plays" if len(unlike) == 1 else f"seeds {named} play"
        problems.append(f"{seeds} differently in a new process")
        more = (_how_unlike(task, unlike[0]), _REMEDY)
    elif different == 1 and not deterministic:
        problems.append(f"{len(SEEDS)} seeds all give the same episode")
        sure = "if the task has one start and no chance, give EnvSpec deterministic=True"
        more = (_REMEDY, f"{sure} ({_line(task, '')})")
    elif different > 1 and deterministic:
        problems.append(f"deterministic, as stated, but {different} of {len(SEEDS)} differ")
        more = (f"take out deterministic=True ({_line(task, 'deterministic')})",)
    count = f"{len(SEEDS)} seeds give {plural(different, 'different episode')}"
    finding = judged("seeds", problems, f"same episodes in a new process; {count}")
    return replace(finding, more=more)


def _line(task: Task, part: str) -> str:
    return f"{task.spec.where}:{line_of(spec_text(task.spec), part)}"


def _how_unlike(task: Task, seed: int) -> str:
    """Describe when two episodes of a seed differ: alone, beside others, or after others."""
    try:
        first = _first_episode(task, seed)
        if place := _difference(task, first, _first_episode(task, seed)):
            words = f"in two new environments of one process, seed {seed} differs {place}"
            with _generators_set():
                first = _first_episode(task, seed)
            with _generators_set():
                second = _first_episode(task, seed)
            if not _difference(task, first, second):
                words += ": it draws from the generators of numpy.random or random"
            return words
        if place := _difference(task, first, _first_episode(task, seed, Company(task))):
            return (
                f"beside another environment of the same process, seed {seed} differs {place}: they"
                " share something, such as numpy.random's generator or a variable of their module"
            )
    except SpecError as error:
        return f"a second environment shows no more, for {error}"
    for before in SEEDS:
        list(episode_of(task, before))
        if place := _difference(task, first, list(episode_of(task, seed))):
            return (
                f"after an episode of seed {before}, seed {seed} differs {place}: something is left"
                " of it; let reset set all that step changes"
            )
    return (
        "within one process it repeats: what differs is the process's own, such as the order of a"
        " set or of objects in memory, hash() of a text, the clock, or a generator without a seed"
    )


def _first_episode(task: Task, seed: int, company: Company | None = None) -> list[Outcome]:
    """Return the first episode of a new environment."""
    with contextlib.closing(Task.open(task.spec)) as new:
        return list(episode_of(new, seed, company=company))


def _difference(task: Task, one: Sequence[Outcome], other: Sequence[Outcome]) -> str:
    """Return from where on two episodes differ, in which field; empty where they do not."""
    for step, (mine, theirs) in enumerate(zip(one, other, strict=False)):
        when = f"from step {step} on" if step else "from its first observation on"
        unlike = np.flatnonzero(mine[0] != theirs[0])
        if unlike.size:
            fields = layout(task.spec.observation)
            return f"{when} ({next(f.name for f in fields if unlike[0] < f.stop)})"
        if mine[1:] != theirs[1:]:
            return f"{when} (the reward, or the end)"
    return "" if len(one) == len(other) else f"in length: {len(one) - 1} and {len(other) - 1} steps"


@contextlib.contextmanager
def _generators_set() -> Iterator[None]:
    """Set the generators of the modules ``random`` and ``numpy.random`` to one state meanwhile."""
    python, numpy = random.getstate(), np.random.get_state()
    random.seed(0)
    np.random.seed(0)
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)


def _streams(task: Task, count: int) -> Finding:
    """Check that test episodes begin where no search episode did, if there are many starts."""
    firsts: dict[Stream, dict[int, tuple[float, ...]]] = {}
    for stream in get_args(Stream):
        seeds = episode_seeds(0, stream, count)
        firsts[stream] = {seed: tuple(task.reset(seed).tolist()) for seed in seeds}
    seeds_met = [seed for of_stream in firsts.values() for seed in of_stream]
    problems = [] if len(set(seeds_met)) == len(seeds_met) else ["a seed is in two streams"]
    starts = {*firsts["search"].values(), *firsts["selection"].values()}
    shared = sum(first in starts for first in firsts["test"].values())
    # Starts of whole numbers are few, and meet by chance; those with fractions do not.
    fractions = all(any(x % 1 for x in first) for first in starts)
    if shared and fractions and len(starts) == 2 * count:
        problems.append(
            f"{shared} test episodes begin as search episodes do; let the whole seed decide the"
            " start, not a part of it (such as seed % 100)"
        )
    detail = f"{shared} of {count} test starts among {plural(len(starts), 'start')}"
    return judged("test seeds", problems, f"streams share no seed; {detail}")
