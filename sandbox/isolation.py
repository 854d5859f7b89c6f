"""Which protections are in force on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

#: Protections that the level "strict" needs; the others come on top where they can be had.
REQUIRED = (
    "own process group",
    "closed descriptors",
    "resource limits",
    "unprivileged user",
    "no capabilities",
    "no new privileges",
    "dies with its parent",
    "Landlock",
    "seccomp",
)
ADDITIONAL = (
    "own user id",
    "own process ids",
    "empty root directory",
    "own network namespace",
    "not traceable",
)

#: Exit status of a process that could not lock itself down as strictly as asked.
NOT_STRICT = 77

Level = Literal["strict", "reduced", "minimal"]


@dataclass(frozen=True)
class Isolation:
    """The protections of sandboxed processes here.

    ``protections`` maps each name to "on" or to the reason why it is not. ``level`` is "strict"
    with the full set in force, "reduced" where something is missing but system calls are filtered,
    "minimal" where they are not.
    """

    level: Level
    protections: Mapping[str, str]

    @classmethod
    def from_report(cls, report: Mapping[str, str]) -> Isolation:
        """From what a locked-down process reported about itself."""
        if all(report.get(name) == "on" for name in REQUIRED):
            return cls("strict", dict(report))
        return cls("reduced" if report.get("seccomp") == "on" else "minimal", dict(report))

    @property
    def missing(self) -> dict[str, str]:
        """Protections whose lack keeps the level below "strict", with the reasons."""
        states = {name: self.protections.get(name, "not reported") for name in REQUIRED}
        return {name: why for name, why in states.items() if why != "on"}
