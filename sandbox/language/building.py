"""What a ``class`` statement calls: the one place where classes of programs come into being."""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable
from typing import Any

from sandbox.language import classes
from sandbox.language.attributes import GUARDED
from sandbox.language.objects import with_object
from sandbox.language.ownership import is_own_class


def build_class(body: Callable[..., object], name: str, *bases: Any, **options: Any) -> object:  # noqa: ANN401 - as the builtin
    """``__build_class__`` after a look at the bases.

    Raises:
        TypeError: a base is not open (see ``classes``), or no class.
    """
    resolved = types.resolve_bases(bases)
    for base in resolved:
        # What NamedTuple, TypedDict, Generic[T] and Protocol resolve to is typing's own.
        known = isinstance(base, type) and (classes.is_open(base) or base.__module__ == "typing")
        if not known:
            text = getattr(base, "__name__", None) or type(base).__name__
            raise TypeError(f"a class cannot inherit from `{text}` here")
    made = builtins.__build_class__(body, name, *with_object(bases, resolved), **options)
    if isinstance(made, type):
        guard_patterns(made)
    return made


def guard_patterns(kind: type) -> None:
    """Let class patterns by position read no guarded attribute of somebody else's.

    ``case Message(kind, data)`` reads, of any instance, the attributes that ``__match_args__``
    names. That is well where they are the program's own. Where ``data`` comes from another base (in
    a subclass of bytes, say), or anything may be an instance (of a protocol), there is no matching
    by position.
    """
    for base in kind.__mro__:
        arguments = vars(base).get("__match_args__", ())
        guarded = [name for name in arguments if name in GUARDED]
        if not guarded or not is_own_class(base):
            continue
        if vars(base).get("_is_protocol") or any(_foreign(kind, name) for name in guarded):
            setattr(base, "__match_args__", ())  # noqa: B010 - no such attribute is declared
    below: type
    for below in type.__subclasses__(kind):
        guard_patterns(below)


def _foreign(kind: type, name: str) -> bool:
    owner = next((base for base in kind.__mro__ if name in vars(base)), None)
    return owner is not None and not is_own_class(owner)
