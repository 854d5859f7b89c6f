"""The builtins of a program: Python's own where they are harmless, guarded ones where not.

Guards that take a name insist on an exact ``str`` (a subclass can answer each question
differently) and apply the rules of ``names`` to it, renaming included.
"""

from __future__ import annotations

import builtins
import dataclasses
import types
from abc import ABCMeta
from collections.abc import Callable

from sandbox.language import attributes, classes, names, roots
from sandbox.language.building import build_class
from sandbox.language.calls import call, collected
from sandbox.language.formatting import Printer
from sandbox.language.ownership import Ownership, target

_HARMLESS = names.words(
    """
    abs all any ascii bin bool bytearray bytes callable chr classmethod complex dict divmod
    enumerate filter float format frozenset hex int isinstance issubclass iter len list map
    max min next object oct ord pow property range repr reversed round set slice sorted
    staticmethod str sum super tuple zip Ellipsis NotImplemented
"""
)


def _checked(obj: object, name: object) -> str:
    """The attribute name to really use for ``name`` on ``obj``."""
    if type(name) is not str:
        raise TypeError("attribute names must be plain strings")
    if names.PREFIX in name:
        raise AttributeError("attribute names with reserved characters are not available")
    if names.is_dunder(name):
        if name not in names.READABLE:
            raise AttributeError(f"`.{name}` is not available: it reaches internals")
        return name
    if name in names.REFUSED_ATTRIBUTES:
        raise AttributeError(f"`.{name}` is not available: {names.REFUSED_ATTRIBUTES[name]}")
    return names.renamed(name)


def guarded_getattr(obj: object, name: str, *default: object) -> object:
    """``getattr`` under the compiler's rules."""
    if type(name) is str and name in attributes.GUARDED:
        try:
            return attributes.read(obj, name)
        except AttributeError:
            if default:
                return default[0]
            raise
    if type(name) is str and name == "__class__":
        return classes.shown(type(obj))
    return getattr(obj, _checked(obj, name), *default)


def guarded_hasattr(obj: object, name: str) -> bool:
    """``hasattr`` under the compiler's rules: what is refused does not exist."""
    try:
        guarded_getattr(obj, name)
    except AttributeError:
        return False
    return True


def guarded_setattr(obj: object, name: str, value: object) -> None:
    """``setattr`` under the compiler's rules."""
    if type(name) is str and names.is_dunder(name):
        raise AttributeError(f"`.{name}` cannot be assigned")
    name = _checked(obj, name)
    setattr(target(obj, name), name, value)


def guarded_delattr(obj: object, name: str) -> None:
    """``delattr`` under the compiler's rules."""
    if type(name) is str and names.is_dunder(name):
        raise AttributeError(f"`.{name}` cannot be deleted")
    name = _checked(obj, name)
    delattr(target(obj, name), name)


def guarded_id(obj: object, /) -> int:
    """A number of the object: an address would tell what others have allocated."""
    return roots.now().number(obj)


def guarded_hash(obj: object, /) -> int:
    """``hash``, which is an address too where a class defines none, and of methods."""
    kind, number = type(obj), roots.now().number
    if kind is tuple and not all(type(item) in _BY_VALUE for item in obj):  # type: ignore[attr-defined]
        return hash(tuple(map(guarded_hash, obj)))  # type: ignore[call-overload]
    if kind in _METHODS:
        return hash((number(obj.__self__), obj.__name__))  # type: ignore[attr-defined]
    return number(obj) if kind.__hash__ is object.__hash__ else hash(obj)


_BY_VALUE = frozenset({int, float, complex, bool, str, bytes})
_METHODS = (types.MethodType, types.BuiltinMethodType, types.MethodWrapperType)


def guarded_dir(*args: object) -> list[str]:
    """The public names of an object."""
    if not args:
        raise TypeError("dir() without an object is not available")
    written = (names.readable(name) for name in dir(*args))
    return [name for name in written if not name.startswith("_")]


def _exceptions() -> dict[str, object]:
    return {
        name: value
        for name, value in vars(builtins).items()
        if isinstance(value, type) and issubclass(value, BaseException)
        if not name.endswith("Group")
    }


def make_builtins(
    printer: Printer, importer: Callable[..., object], hook: Callable[..., object]
) -> dict[str, object]:
    """The ``__builtins__`` of one namespace.

    Args:
        printer: takes what is printed.
        importer: what import statements call: ``importer(module, name=None)``.
        hook: ``__import__`` for C code that imports through the running frame.
    """
    ownership = Ownership()
    return {
        **_SHARED,
        names.PREFIX + "own": ownership.own,
        names.PREFIX + "admit": ownership.admit,
        names.PREFIX + "target": ownership.target,
        "print": printer.write,
        "__import__": hook,
        names.PREFIX + "import": importer,
    }


def _exit(method: Callable[..., object]) -> Callable[..., object]:
    """``__exit__`` of a program's class: the traceback, which holds frames, is kept from it."""

    def leave(self: object, kind: object, value: object, trace: object) -> object:
        return method(self, kind, value, None)

    return leave


_SHARED: dict[str, object] = {
    **{name: getattr(builtins, name) for name in _HARMLESS},
    **_exceptions(),
    "__debug__": True,
    "__build_class__": build_class,
    "hash": guarded_hash,
    "id": guarded_id,
    "getattr": guarded_getattr,
    "hasattr": guarded_hasattr,
    "setattr": guarded_setattr,
    "delattr": guarded_delattr,
    "dir": guarded_dir,
    names.PREFIX + "kind": builtins.type,
    "type": classes.Type,
    names.PREFIX + "type": classes.Type,
    names.PREFIX + "attribute": attributes.read,
    names.PREFIX + "ABCMeta": ABCMeta,
    names.PREFIX + "call": call,
    names.PREFIX + "collected": collected,
    names.PREFIX + "exit": _exit,
    names.PREFIX + "InitVar": dataclasses.InitVar,
    names.PREFIX + "KW_ONLY": dataclasses.KW_ONLY,
}
classes.offer(_SHARED.values())
