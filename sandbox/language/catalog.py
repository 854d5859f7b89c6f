"""Facades of the libraries that hold no state: what a program gets of each."""

from __future__ import annotations

import functools
import importlib
import operator
from collections.abc import Mapping

from sandbox.language import classes, names, scipy_library
from sandbox.language.facades import Facade, facade, public_members
from sandbox.language.generated import GENERATED
from sandbox.language.hardening import harden
from sandbox.language.replaced import REPLACED
from sandbox.libraries import STDLIB, WHOLE


def _stdlib_members(module: str) -> dict[str, object]:
    real = importlib.import_module(module)
    wanted = STDLIB[module].split()
    members = {name: getattr(real, name) for name in wanted if hasattr(real, name)}
    return {**members, **REPLACED.get(module, {}), **GENERATED.get(module, {})}


@functools.cache
def shared_facades() -> dict[str, Facade]:
    """The facades that hold no state and serve every namespace of the process."""
    members = {name: _stdlib_members(name) for name in STDLIB}
    members |= {name: public_members(importlib.import_module(name), frozenset()) for name in WHOLE}
    members["operator"] = {**public_members(operator, frozenset()), **REPLACED["operator"]}
    members["warnings"] = REPLACED["warnings"]
    return tree(members)


def tree(members: Mapping[str, Mapping[str, object]]) -> dict[str, Facade]:
    """A facade for each module, ``a.b`` being a member of ``a``, which is made where it is not."""
    parents = {name[:i] for name in members for i, c in enumerate(name) if c == "."}
    facades: dict[str, Facade] = {}
    for inside in members.values():
        classes.offer(inside.values())
        harden(inside.values())
    for name in sorted({*members, *parents}, reverse=True):
        inside = {
            child.rpartition(".")[2]: below
            for child, below in facades.items()
            if child.rpartition(".")[0] == name
        }
        offer = {**members.get(name, {}), **inside}
        facades[name] = facade(name, offer, scipy_library.hints(name, offer))
    return facades


def library_members(name: str) -> dict[str, object]:
    """What an installed library offers that is in no table.

    Raises:
        ImportError: it is not installed.
    """
    if name.startswith("scipy."):
        return scipy_library.members(name)
    return public_members(importlib.import_module(name), frozenset(names.REFUSED_ATTRIBUTES))
