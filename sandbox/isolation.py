"""Which protections are in force on this machine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sandbox.lockdown import REQUIRED

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
        missing = [name for name in REQUIRED if report.get(name) != "on"]
        level: Level = "reduced" if report.get("seccomp") == "on" else "minimal"
        return cls("strict" if not missing else level, dict(report))

    @property
    def missing(self) -> dict[str, str]:
        """What keeps the level below "strict", with the reasons."""
        return {
            name: self.protections.get(name, "not reported")
            for name in REQUIRED
            if self.protections.get(name) != "on"
        }

    def as_dict(self) -> dict[str, Any]:
        """JSON-able form, for run records."""
        return {"level": self.level, "protections": dict(self.protections)}

    def __str__(self) -> str:
        return json.dumps(self.as_dict())


def detect() -> Isolation:
    """Lock a process down and see what holds. Takes a fraction of a second."""
    from sandbox.host import Host

    with Host() as host:
        return host.isolation
