"""What a sweep is to do: its runs, and the settings that they share and that they do not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from promptpo import config
from promptpo.common.values import shown
from promptpo.errors import UsageError

#: Settings that end a run, and what they are where none is given; each run of a sweep has them for
#: itself.
_SETTINGS = config.fields(config.RunConfig)

#: The limits of a run, and their defaults.
LIMITS = {name: s.default for name, s in _SETTINGS.items() if s.group == "limits"}

#: Runs of a sweep; more are a slip of the hand.
MOST = 1000


@dataclass(frozen=True)
class Member:
    """One run of a sweep: ``spec`` is what ``--spec`` takes, ``name`` the folder of its runs.

    Runs whose settings differ in more than spec and seed have a ``label`` each for theirs, which is
    a folder, too, around those of the specs.
    """

    spec: str
    name: str
    seed: int
    label: str = ""

    def __str__(self) -> str:
        return f"{self.label}: {self.task}" if self.label else self.task

    @property
    def task(self) -> str:
        """Spec and seed in words."""
        return f"{self.name} seed {self.seed}"

    @property
    def place(self) -> PurePath:
        """Where its run's folder lies in that of the sweep."""
        return PurePath(self.label, self.name)


@dataclass(frozen=True)
class Plan:
    """``settings`` are what is given of ``RunConfig``, and maybe a ``preset``, for all members.

    ``own`` are those of a member alone, which count more.
    """

    members: tuple[Member, ...]
    settings: Mapping[str, Any]
    own: Mapping[Member, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        members: Iterable[Member],
        settings: Mapping[str, Any],
        own: Mapping[Member, Mapping[str, Any]] | None = None,
    ) -> Plan:
        """Each run once. Raises UsageError where two specs share a name, or runs are too many."""
        unique = tuple(dict.fromkeys(members))
        specs: dict[str, str] = {}
        for member in unique:
            other = specs.setdefault(member.name, member.spec)
            if other != member.spec:
                raise UsageError(
                    f"{other} and {member.spec} are both called {member.name}, and would share a"
                    " folder; rename one, or run it by itself"
                )
        if len(unique) > MOST:
            raise UsageError(f"{len(unique):,} runs are more than {MOST:,}; name fewer --seeds")
        return cls(unique, settings, own or {})

    @property
    def workers(self) -> int | None:
        """Environment processes of all runs together; None: one for each core."""
        return self.settings.get("workers")

    def settings_of(self, member: Member) -> dict[str, Any]:
        """All that is given for a run but its spec and seed."""
        return {**self.settings, **self.own.get(member, {})}

    def flags(self, member: Member) -> list[str]:
        """The settings of one run as the command line spells them, but for ``workers``."""
        return as_flags({**self.settings_of(member), "spec": member.spec, "seed": member.seed})


def as_flags(settings: Mapping[str, Any]) -> list[str]:
    """Return settings as the command line spells them, but for ``workers``; None is left out."""
    flags = []
    for name, value in settings.items():
        if name == "workers" or value is None:
            continue
        text = str(value).lower() if isinstance(value, bool) else value
        if name == "preset" or (name in config.OPTIONS and not isinstance(value, bool)):
            flags.append(f"--{name.replace('_', '-')}={text}")
        else:
            flags += ["--set", f"{name}={text}"]
    return flags


def limits_of(settings: Mapping[str, Any]) -> str:
    """The limits that were given, as one types them: ``--max-cost 2 --patience 4``."""
    given = {
        name: f"{value:.15g}" if isinstance(value, float) else value
        for name, usual in LIMITS.items()
        if (value := settings.get(name, usual)) != usual
    }
    words = as_flags(given)
    return " ".join(w.replace("=", " ") if w.startswith("--") else w for w in words)


def read_seeds(text: str) -> tuple[int, ...]:
    """The seeds that ``0..4``, ``0,3,7`` or ``0..4,10`` names, each once.

    Raises UsageError for what is none.
    """
    seeds: list[int] = []
    for part in text.split(","):
        found = re.fullmatch(r"\s*([0-9]{1,19})(?:\.\.([0-9]{1,19}))?\s*", part, re.ASCII)
        if not found:
            raise UsageError(f"--seeds: write it as 0..4 or 0,3,7, not {shown(text)}")
        first, last = int(found[1]), int(found[2] or found[1])
        if last < first:
            raise UsageError(f"--seeds: {first}..{last} goes backwards; write {last}..{first}")
        if last - first >= MOST:
            raise UsageError(f"--seeds: {first}..{last} are more than {MOST:,} seeds")
        seeds += range(first, last + 1)
    for seed in seeds:
        _SETTINGS["seed"].check(seed)
    return tuple(dict.fromkeys(seeds))
