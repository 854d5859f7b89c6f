"""Check that a seed repeats its episode, and that different seeds differ."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias, get_args

import numpy as np

from promptpo.checks.findings import Effort, Finding, judged
from promptpo.checks.replay import SEEDS, Company, Outcome, digests, episode_of
from promptpo.common.text import plural
from promptpo.errors import SpecError
from promptpo.rollout.seeds import episode_seeds
from promptpo.spec import Task, layout, spec_text
from promptpo.spec.loading.importing import line_of
from promptpo.types import Stream

Trace: TypeAlias = list[Outcome]

_REMEDY = (
    "begin the environment's reset with super().reset(seed=seed), draw from self.np_random alone,"
    " and let reset set all that step changes; for an environment that is not yours, give EnvSpec"
    " a reset(env, seed)"
)


def check_seeds(task: Task, replayed: Sequence[str] | str, effort: Effort) -> Iterator[Finding]:
    """The same seed gives the same episode in a new process, another seed another episode."""
    if isinstance(replayed, str):
        yield Finding("seeds", "FAIL", f"a new process could not play them: {replayed}")
    else:
        yield _compared(task, replayed)
    yield _streams(task, effort.start_seeds)


def _compared(task: Task, replayed: Sequence[str]) -> Finding:
    spec = task.spec
    here = list(reversed(digests(task, tuple(reversed(SEEDS)))))
    pairs = zip(SEEDS, here, replayed, strict=True)
    unlike = [seed for seed, a, b in pairs if a != b]
    different = len(set(here))
    given = f"{len(SEEDS)} seeds give {plural(different, 'different episode')}"
    more: tuple[str, ...] = ()
    problems = []
    if unlike:
        named = ", ".join(map(str, unlike))
        seeds = f"seed {named} plays" if len(unlike) == 1 else f"seeds {named} play"
        problems.append(f"{seeds} differently in a new process")
        more = (_how_unlike(task, unlike[0]), _REMEDY)
    elif different == 1 and not spec.deterministic:
        problems.append(f"{len(SEEDS)} seeds all give the same episode")
        at = _line(task, "")
        sure = f"if the task has one start and no chance, give EnvSpec deterministic=True ({at})"
        more = (_REMEDY, sure)
    elif different > 1 and spec.deterministic:
        problems.append(f"deterministic, as stated, but {different} of {len(SEEDS)} differ")
        more = (f"take out deterministic=True ({_line(task, 'deterministic')})",)
    found = judged("seeds", problems, f"same episodes in a new process; {given}")
    return replace(found, more=more)


def _line(task: Task, part: str) -> str:
    return f"{task.spec.where}:{line_of(spec_text(task.spec), part)}"


def _how_unlike(task: Task, seed: int) -> str:
    """Describe when two episodes of a seed differ: alone, beside others, or after others."""
    try:
        one, other = _first_episode(task, seed), _first_episode(task, seed)
        if place := _difference(task, one, other):
            words = f"in two new environments of one process, seed {seed} differs {place}"
            with _generators_set():
                one = _first_episode(task, seed)
            with _generators_set():
                other = _first_episode(task, seed)
            if not _difference(task, one, other):
                words += ": it draws from the generators of numpy.random or random"
            return words
        if place := _difference(task, one, _first_episode(task, seed, Company(task))):
            return (
                f"beside another environment of the same process, seed {seed} differs {place}: they"
                " share something, such as numpy.random's generator or a variable of their module"
            )
    except SpecError as error:
        return f"a second environment shows no more, for {error}"
    for before in SEEDS:
        list(episode_of(task, before))
        if place := _difference(task, one, list(episode_of(task, seed))):
            return (
                f"after an episode of seed {before}, seed {seed} differs {place}: something is left"
                " of it; let reset set all that step changes"
            )
    return (
        "within one process it repeats: what differs is the process's own, such as the order of a"
        " set or of objects in memory, hash() of a text, the clock, or a generator without a seed"
    )


def _first_episode(task: Task, seed: int, company: Company | None = None) -> Trace:
    """The first episode of a new environment."""
    new = Task.open(task.spec)
    try:
        return list(episode_of(new, seed, company=company))
    finally:
        new.close()


def _difference(task: Task, one: Trace, other: Trace) -> str:
    """From where on two episodes differ, in which field; empty where they do not."""
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
    """The generators of the modules ``random`` and ``numpy.random`` at the same state meanwhile."""
    mine, theirs = random.getstate(), np.random.get_state()
    random.seed(0)
    np.random.seed(0)
    try:
        yield
    finally:
        random.setstate(mine)
        np.random.set_state(theirs)


def _streams(task: Task, count: int) -> Finding:
    """Test episodes begin where no search episode did, unless the task has few beginnings."""
    firsts: dict[Stream, dict[int, tuple[float, ...]]] = {}
    for stream in get_args(Stream):
        seeds = episode_seeds(0, stream, count)
        firsts[stream] = {seed: tuple(task.reset(seed).tolist()) for seed in seeds}
    seeds_met = [seed for of_stream in firsts.values() for seed in of_stream]
    problems = [] if len(set(seeds_met)) == len(seeds_met) else ["a seed is in two streams"]
    known = set(firsts["search"].values()) | set(firsts["selection"].values())
    shared = sum(first in known for first in firsts["test"].values())
    # Starts of whole numbers are few, and meet by chance; those with fractions do not.
    fractions = all(any(x % 1 for x in first) for first in known)
    if shared and fractions and len(known) == 2 * count:
        problems.append(
            f"{shared} test episodes begin as search episodes do; let the whole seed decide the"
            " start, not a part of it (such as seed % 100)"
        )
    start = "start" if len(known) == 1 else "starts"
    detail = f"streams share no seed; {shared} of {count} test starts among {len(known)} {start}"
    return judged("test seeds", problems, detail)
