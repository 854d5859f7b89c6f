"""Search methods: each one a readable loop over the same services, in a file of its own.

An installed package adds one by an entry point of the group ``promptpo.methods``: the name that
``--method`` takes, and ``package.module:Class``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from promptpo.common.values import unknown_name
from promptpo.errors import UsageError
from promptpo.methods.base import Demand, Method, Search, Services

if TYPE_CHECKING:
    from promptpo.common.plugins import Plugin

__all__ = ["OWN_METHODS", "Demand", "Method", "Search", "Services", "find_method", "method_names"]

#: Where each method lives; it is imported once it is chosen.
OWN_METHODS = {
    "promptpo": "promptpo.methods.promptpo:PromptPO",
    "best-of-n": "promptpo.methods.best_of_n:BestOfN",
    "random-search": "promptpo.methods.random_search:RandomSearch",
}

#: What a class must have to be a method.
_PARTS = ("Options", "needs_model", "search", "forecast", "all_prompts")


def method_names() -> list[str]:
    """What ``--method`` takes: the methods here, then those of installed packages."""
    return [*OWN_METHODS, *(name for name in _installed() if name not in OWN_METHODS)]


def find_method(name: str) -> type[Method]:
    """The method of a name. Raises UsageError where there is none, or where it cannot be used."""
    if name in OWN_METHODS:
        module, _, attribute = OWN_METHODS[name].partition(":")
        own: type[Method] = getattr(import_module(module), attribute)
        return own
    installed = _installed().get(name)
    if installed is None:
        raise UsageError(unknown_name("method", name, method_names()))
    found = installed.load()
    missing = [part for part in _PARTS if not hasattr(found, part)]
    if missing:
        lacking = " and no ".join(missing)
        raise UsageError(f"{installed.origin}: --method {name} is no method: it has no {lacking}")
    return cast("type[Method]", found)


def _installed() -> dict[str, Plugin]:
    from promptpo.common.plugins import plugins

    return {plugin.name: plugin for plugin in plugins("promptpo.methods")}
