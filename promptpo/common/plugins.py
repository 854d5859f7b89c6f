"""Additions of installed packages, by entry points; listing them imports none of them."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata

from promptpo.common.plaintext import clean_line
from promptpo.errors import UsageError


@dataclass(frozen=True)
class Plugin:
    """One entry point of an installed package: ``name = module:attribute``.

    ``attribute`` is empty where the entry point names a module. ``origin`` is the package and its
    version, e.g. ``acme-envs 1.0``.
    """

    name: str
    module: str
    attribute: str
    origin: str

    def load(self) -> object:
        """Import what it names. Raises UsageError, on one line that names the package."""
        try:
            loaded: object = importlib.import_module(self.module)
            for part in filter(None, self.attribute.split(".")):
                loaded = getattr(loaded, part)
        except (Exception, SystemExit) as error:
            reason = clean_line(f"{type(error).__name__}: {error}")
            raise UsageError(
                f"{self.origin}: its entry point {self.name!r} cannot be loaded ({reason});"
                " update the package, or uninstall it"
            ) from error
        return loaded


def plugins(group: str) -> list[Plugin]:
    """Return the entry points of a group (``promptpo.env_specs``), sorted by name and package."""
    return sorted(_read(group), key=lambda plugin: (plugin.name, plugin.origin))


def _read(group: str) -> Iterator[Plugin]:
    seen: set[str] = set()
    for package in metadata.distributions():
        try:
            points = package.entry_points.select(group=group)
            name = package.name if points else ""
            if not points or name in seen:  # the first one on the path is the one that counts
                continue
            origin = clean_line(f"{name} {package.version}")
        except Exception:  # noqa: S112 - damaged metadata: pip says so, no command of ours need
            continue
        seen.add(name)
        for point in points:
            module, _, attribute = point.value.partition("[")[0].partition(":")
            yield Plugin(point.name, module.strip(), attribute.strip(), origin)
