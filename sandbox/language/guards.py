"""The builtins of a program: Python's own where they are harmless, guarded ones where not.

Guards that take a name insist on an exact ``str`` (a subclass can answer each question
differently) and apply the rules of ``names`` to it, renaming included.
"""

from __future__ import annotations

import builtins
import string
from abc import ABCMeta
from collections.abc import Callable

import numpy as np

from sandbox.language import names
from sandbox.language.ownership import admission, target

_HARMLESS = names.words(
    """
    abs all any ascii bin bool bytearray bytes callable chr classmethod complex dict divmod
    enumerate filter float format frozenset hash hex id int isinstance issubclass iter len list map
    max min next object oct ord pow property range repr reversed round set slice sorted
    staticmethod str sum super tuple zip Ellipsis NotImplemented __build_class__
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
    if type(name) is str and name in names.GUARDED_ATTRIBUTES:
        try:
            return guarded_attribute(obj, name)
        except AttributeError:
            if default:
                return default[0]
            raise
    if type(name) is str and name == "__class__":
        return Type(obj)
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


def guarded_attribute(obj: object, name: str) -> object:
    """Read one of the attributes that are harmless on most objects and refused on a few."""
    if name == "format" and (isinstance(obj, str) or obj is str):
        return _SafeFormatter(obj) if isinstance(obj, str) else _safe_format
    if name == "mro" and isinstance(obj, type):
        raise AttributeError("`.mro` is not available: use isinstance or issubclass")
    if name == "obj" and isinstance(obj, BaseException):
        raise AttributeError("`.obj` of an exception is not available: use str(error)")
    if name in ("resize", "dump", "dumps") and _is_array(obj):
        hint = "use np.resize(a, shape)" if name == "resize" else "a policy has no files"
        raise AttributeError(f"`.{name}` of an array is not available: {hint}")
    return getattr(obj, name)


def _is_array(obj: object) -> bool:
    kinds = (np.ndarray, np.generic)
    return (
        obj is Array or isinstance(obj, kinds) or (isinstance(obj, type) and issubclass(obj, kinds))
    )


def _safe_format(template: str, *args: object, **kwargs: object) -> str:
    """``str.format`` whose fields are plain names or numbers: no attribute, no item access."""
    text = str.__str__(template)
    _check_fields(text)
    return text.format(*args, **kwargs)


def _check_fields(text: str, depth: int = 0) -> None:
    for _, field, spec, _ in string.Formatter().parse(text):
        if field and ("." in field or "[" in field):
            raise AttributeError(f"str.format field {{{field}}} is not available; use an f-string")
        if spec and depth < 2:
            _check_fields(spec, depth + 1)


class _SafeFormatter:
    """What ``"...".format`` is here: callable, nothing else."""

    __slots__ = ("__text",)

    def __init__(self, text: str) -> None:
        self.__text = text

    def __call__(self, *args: object, **kwargs: object) -> str:
        return _safe_format(self.__text, *args, **kwargs)


class _TypeMeta(type):
    """Makes ``isinstance(x, type)`` mean what it says."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, builtins.type)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, builtins.type)


class Type(metaclass=_TypeMeta):
    """``type`` with one argument; a class's own class is this again, never a metaclass."""

    __slots__ = ()

    def __new__(cls, *args: object) -> type:  # type: ignore[misc]
        """The class of the one argument."""
        if len(args) != 1:
            raise TypeError("type() with three arguments is not available: write a class statement")
        kind = builtins.type(args[0])
        if kind is np.ndarray:
            return Array
        return Type if issubclass(kind, builtins.type) else kind


class _ArrayMeta(type):
    """Makes ``isinstance(x, np.ndarray)`` mean what it says."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, np.ndarray)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return subclass is cls or issubclass(subclass, np.ndarray)

    def __getattr__(cls, name: str) -> object:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(np.ndarray, name)


class Array(metaclass=_ArrayMeta):
    """``np.ndarray`` to be named, not called: the real one turns any bytes into object pointers."""

    __slots__ = ()

    def __new__(cls, *args: object, **options: object) -> Array:
        """Refused."""
        raise TypeError("np.ndarray() is not available: write np.zeros(shape) or np.array(values)")

    def __class_getitem__(cls, item: object) -> type[Array]:
        return cls


Array.__name__ = Array.__qualname__ = "ndarray"


def guarded_dir(*args: object) -> list[str]:
    """The public names of an object."""
    if not args:
        raise TypeError("dir() without an object is not available")
    found = (names.readable(name) for name in dir(*args))
    return [name for name in found if not name.startswith("_")]


def _exceptions() -> dict[str, object]:
    return {
        name: value
        for name, value in vars(builtins).items()
        if isinstance(value, type) and issubclass(value, BaseException)
        if not name.endswith("Group")
    }


class Printer:
    """``print``: keeps the first ``limit`` characters that were printed."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[str] = []
        self._kept = 0
        self._dropped = 0

    def write(
        self,
        *args: object,
        sep: str | None = None,
        end: str | None = None,
        file: object = None,
        flush: bool = False,
    ) -> None:
        """As the builtin; ``file`` and ``flush`` have no meaning here."""
        text = (" " if sep is None else sep).join(map(str, args)) + ("\n" if end is None else end)
        room = self._limit - self._kept
        if room > 0:
            self._parts.append(text[:room])
            self._kept += min(room, len(text))
        self._dropped += max(0, len(text) - room)

    @property
    def text(self) -> str:
        """What is kept, with a note where it was cut."""
        kept = names.readable("".join(self._parts))
        if self._dropped:
            return f"{kept}\n[output cut here: {self._dropped} more characters]"
        return kept


def make_builtins(
    printer: Printer, importer: Callable[..., object], hook: Callable[..., object]
) -> dict[str, object]:
    """The ``__builtins__`` of one namespace.

    Args:
        printer: takes what is printed.
        importer: what import statements call: ``importer(module, name=None)``.
        hook: ``__import__`` for C code that imports through the running frame.
    """
    own: set[type] = set()
    return {
        **_SHARED,
        names.PREFIX + "own": own,
        names.PREFIX + "admit": admission(own),
        "print": printer.write,
        "__import__": hook,
        names.PREFIX + "import": importer,
    }


_SHARED: dict[str, object] = {
    **{name: getattr(builtins, name) for name in _HARMLESS},
    **_exceptions(),
    "__debug__": True,
    "getattr": guarded_getattr,
    "hasattr": guarded_hasattr,
    "setattr": guarded_setattr,
    "delattr": guarded_delattr,
    "dir": guarded_dir,
    "type": Type,
    names.PREFIX + "type": Type,
    names.PREFIX + "kind": builtins.type,
    names.PREFIX + "target": target,
    names.PREFIX + "attribute": guarded_attribute,
    names.PREFIX + "ABCMeta": ABCMeta,
}
