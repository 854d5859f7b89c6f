"""Search methods: each one a readable loop over the same services, in a file of its own.

An installed package adds one by an entry point of the group ``promptpo.methods``: the name that
``--method`` takes, and ``package.module:Class``.
``--method path/to/file.py:Class`` takes one from a file.
"""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from functools import cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, cast

from promptpo import config
from promptpo.common.plaintext import clean_line, unknown_name
from promptpo.errors import UsageError
from promptpo.methods.base import Demand, Method, Search, Services

if TYPE_CHECKING:
    from promptpo.common.plugins import Plugin

__all__ = [
    "OWN_METHODS",
    "Demand",
    "Method",
    "Search",
    "Services",
    "check_tunes",
    "find_method",
    "method_names",
]

#: Where each method lives; it is imported once it is chosen.
OWN_METHODS = {
    "promptpo": "promptpo.methods.promptpo:PromptPO",
    "best-of-n": "promptpo.methods.best_of_n:BestOfN",
    "tune": "promptpo.methods.tune:Tune",
    "random-search": "promptpo.methods.random_search:RandomSearch",
    "props": "promptpo.methods.props:ProPS",
    "props+": "promptpo.methods.props:ProPSPlus",
    "r2po": "promptpo.methods.r2po:R2PO",
    "inspo": "promptpo.methods.inspo:Inspo",
}

#: Keys of a TOML file, and arguments of ``promptpo.optimize``, that are no settings.
_TAKEN = ("preset", "methods", "options", "resume", "on_event", "progress")


def method_names() -> list[str]:
    """Return the names of the methods here, then of those of installed packages."""
    return list(dict.fromkeys([*OWN_METHODS, *(plugin.name for plugin in _installed())]))


def check_tunes(name: str) -> None:
    """Raise UsageError where the method of a name cannot tune, naming those that can."""
    if find_method(name).tunes:
        return
    able = []
    for other in method_names():
        with contextlib.suppress(UsageError):  # one that cannot be used
            if find_method(other).tunes:
                able.append(other)
    raise UsageError(
        f"--tune: --method {name} tunes no constants; leave --tune out, or choose"
        f" --method {' or '.join(able)}"
    )


def find_method(name: str) -> type[Method]:
    """Return the method of a name. Raises UsageError where there is none that can be used."""
    if name in OWN_METHODS:
        module, _, attribute = OWN_METHODS[name].partition(":")
        own: type[Method] = getattr(import_module(module), attribute)
        return own
    file, _, attribute = name.rpartition(":")
    if file.endswith(".py"):
        return _checked(_from_file(Path(file).resolve(), attribute), file, name)
    offered = [plugin for plugin in _installed() if plugin.name == name]
    if not offered:
        raise UsageError(unknown_name("method", name, method_names()))
    if len(offered) > 1:
        origins = " and ".join(plugin.origin for plugin in offered)
        raise UsageError(f"--method {name} is in {origins}; uninstall all but one of them")
    return _checked(offered[0].load(), offered[0].origin, name)


@cache
def _from_file(file: Path, attribute: str) -> object:
    """Import a file, and return its class. Raises UsageError."""
    module_name = f"{__name__}:{file}"
    try:
        spec = spec_from_file_location(module_name, file)
        assert spec is not None and spec.loader is not None  # noqa: S101 - a name that ends in .py
        module = sys.modules[module_name] = module_from_spec(spec)
        spec.loader.exec_module(module)
        return getattr(module, attribute)
    except (Exception, SystemExit) as e:
        reason = clean_line(f"{type(e).__name__}: {e}")
        raise UsageError(f"--method {file}:{attribute} cannot be loaded ({reason})") from e


def _checked(offered: object, origin: str, name: str) -> type[Method]:
    """Return the object that a name stands for, as a method. Raises UsageError."""
    flaw = ""
    if not isinstance(offered, type) or not issubclass(offered, Method):
        flaw = "it is no subclass of promptpo.methods.Method"
    elif not dataclasses.is_dataclass(offered.Options):
        flaw = "its Options are no dataclass"
    else:
        shared, declared = config.fields(config.RunConfig), config.fields(offered.Options)
        for option in (field.name for field in dataclasses.fields(offered.Options)):
            if option not in declared:
                flaw = f"its option {option!r} is not made by promptpo.config.option"
            elif option in shared or option in _TAKEN:
                flaw = f"its option {option!r} has the name of one that every run has"
            elif declared[option].kind not in (int, float, str, bool):
                flaw = f"its option {option!r} is neither a number nor a text, true or false"
    if flaw:
        raise UsageError(f"{origin}: --method {name} is no method: {flaw}")
    return cast("type[Method]", offered)


def _installed() -> list[Plugin]:
    from promptpo.common.plugins import plugins

    return plugins("promptpo.methods")
