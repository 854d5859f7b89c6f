"""The builtins of a program: Python's own where they are harmless, guarded ones where not.

Guards that take a name insist on an exact ``str`` (a subclass can answer each question
differently) and apply the rules of ``names`` to it, renaming included.
"""

from __future__ import annotations

import builtins
import dataclasses
import functools
import io
import string
import sys
import types
from abc import ABCMeta
from collections import UserDict
from collections.abc import Callable
from typing import Any

from sandbox.language import names

_HARMLESS = names.words(
    """
    abs all any ascii bin bool bytearray bytes callable chr classmethod complex dict divmod
    enumerate filter float format frozenset hash hex id int isinstance issubclass iter len list map
    max min next object oct ord pow property range repr reversed round set slice sorted
    staticmethod str sum super tuple zip Ellipsis NotImplemented __build_class__
"""
)


# Attributes by name.


def _checked(name: object, changed: str = "") -> str:
    """Return the attribute name to really use for ``name``, to be read or to be ``changed``."""
    if type(name) is not str:
        raise TypeError("attribute names must be plain strings")
    if names.PREFIX in name:
        raise AttributeError("attribute names with reserved characters are not available")
    if names.is_dunder(name):
        if changed:
            raise AttributeError(f"`.{name}` cannot be {changed}")
        if name not in names.READABLE:
            raise AttributeError(f"`.{name}` is not available: it reaches internals")
    if name in names.REFUSED_ATTRIBUTES:
        raise AttributeError(f"`.{name}` is not available: {names.REFUSED_ATTRIBUTES[name]}")
    return names.renamed(name)


def read(obj: Any, name: str) -> object:  # noqa: ANN401 - anything at all
    """Return ``obj.name`` for a name in ``names.GUARDED``.

    Raises:
        AttributeError: it is refused on this object, or there is none.
    """
    if name == "format":
        if isinstance(obj, str):
            return functools.partial(safe_format, str.__str__(obj))
        if obj is str:
            return safe_format
    elif isinstance(obj, type) and type(obj).mro is type.mro:
        raise AttributeError("`.mro` is not available: use isinstance or issubclass")
    return getattr(obj, name)


def guarded_getattr(obj: object, name: str, *default: object) -> Any:  # noqa: ANN401 - anything
    """``getattr`` under the compiler's rules."""
    if type(name) is str and name == "__class__":
        return _TypeMeta.__call__(Type, obj)
    real = _checked(name)
    if real not in names.GUARDED:
        return getattr(obj, real, *default)
    try:
        return read(obj, real)
    except AttributeError:
        if default:
            return default[0]
        raise


def guarded_hasattr(obj: object, name: str) -> bool:
    """``hasattr`` under the compiler's rules: what is refused does not exist."""
    try:
        guarded_getattr(obj, name)
    except AttributeError:
        return False
    return True


def guarded_setattr(obj: object, name: str, value: object) -> None:
    """``setattr`` under the compiler's rules."""
    setattr(obj, _checked(name, "assigned"), value)


def guarded_delattr(obj: object, name: str) -> None:
    """``delattr`` under the compiler's rules."""
    delattr(obj, _checked(name, "deleted"))


def guarded_dir(obj: object) -> list[str]:
    """Return the public names of an object."""
    written = (names.readable(name) for name in dir(obj))
    return [name for name in written if not name.startswith("_")]


class _TypeMeta(type):
    def __call__(cls, *args: object) -> type:
        if len(args) != 1:
            raise TypeError("type() with three arguments is not available: write a class statement")
        kind = type(args[0])
        return cls if issubclass(kind, type) else kind

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, type)


class Type(metaclass=_TypeMeta):
    """The builtin ``type``: to be called with one argument, and for ``isinstance(x, type)``.

    The class of a class is this again, never a metaclass.
    """


# Keywords that are private names.


def call(function: Callable[..., object], /, *args: object, **keywords: object) -> object:
    """Call ``function(*args, **keywords)`` with private keywords as ``function`` knows them.

    A parameter ``_x`` of a program is renamed, so ``f(_x=1)`` is renamed too when compiling. Keys
    of ``f(**options)``, and keywords that a dict keeps, are put right here.
    """
    if any(name[:1] in ("_", names.PREFIX) for name in keywords):
        spelling = names.readable if _keeps_names(function) else names.renamed
        keywords = {spelling(name): value for name, value in keywords.items()}
    return function(*args, **keywords)


def _keeps_names(function: Any) -> bool:  # noqa: ANN401 - whatever is called
    """Tell whether it makes or updates a dict, and is not of the program's own."""
    owner, makes = type(getattr(function, "__self__", None)), function
    if isinstance(function, type):
        owner, makes = function, getattr(function, "__init__")  # noqa: B009 - of any class
    inner = getattr(makes, "__func__", makes)
    own = isinstance(inner, types.FunctionType) and inner.__module__ == names.MODULE
    return issubclass(owner, dict | UserDict) and not own


def collected(keywords: dict[str, object]) -> dict[str, object]:
    """Return ``**keywords`` of a function with private names as they were written."""
    return {names.readable(name): value for name, value in keywords.items()}


# Text.


def safe_format(template: str, /, *args: object, **kwargs: object) -> str:
    """``str.format`` whose fields are plain names or numbers: no attribute, no item access."""
    text = str.__str__(template)
    _check_fields(text)
    return text.format(*args, **collected(kwargs))


def _check_fields(text: str, depth: int = 0) -> None:
    for _, field, spec, _ in string.Formatter().parse(text):
        if field and ("." in field or "[" in field):
            raise AttributeError(f"str.format field {{{field}}} is not available; use an f-string")
        if spec and depth < 2:
            _check_fields(spec, depth + 1)


class Printer:
    """``print``: keeps the first ``limit`` characters that were printed."""

    def __init__(self, limit: int = 0) -> None:
        self.limit = limit
        self.clear()

    def clear(self) -> None:
        """Forget what was printed."""
        self._text, self._dropped = "", 0

    def write(
        self,
        *args: object,
        sep: str | None = None,
        end: str | None = None,
        file: object = None,
        flush: bool = False,
    ) -> None:
        """Take what the builtin takes; ``file`` and ``flush`` have no meaning here.

        Raises:
            TypeError: ``sep`` or ``end`` is no plain string (a subclass could lie about itself).
        """
        if not {type(sep), type(end)} <= {str, type(None)}:
            raise TypeError("sep and end must be None or plain strings")
        between, last = " " if sep is None else sep, "\n" if end is None else end
        text = between.join(map(str, args)) + last
        head = text[: max(0, self.limit - len(self._text))]
        self._text += head
        self._dropped += len(text) - len(head)

    @property
    def text(self) -> str:
        """The text so far, with a note where it was cut."""
        printed = names.readable(self._text)
        if self._dropped:
            return f"{printed}\n[output cut here: {self._dropped} more characters]"
        return printed


class Stream(io.TextIOBase):
    """The file to which libraries print."""

    def __init__(self, printer: Printer) -> None:
        super().__init__()
        self._printer = printer

    def write(self, text: str) -> int:
        """Write as to any file."""
        self._printer.write(text, end="")
        return len(text)


# The namespace.


def _import_hook(name: str, *rest: object) -> types.ModuleType:
    """Stand for ``__import__`` where C code imports through the running frame.

    numpy loads parts of itself that way (array methods, printing), and takes the module from
    ``sys.modules`` afterwards. A program's own import statements never come here.

    Raises:
        ImportError: the module was not loaded before the lock-down.
    """
    if name in sys.modules:
        return _NOTHING
    raise ImportError(f"`{name}` is not available")


_NOTHING = types.ModuleType("nothing")
#: The builtins of all programs; ``library.Runtime`` adds ``print`` and what imports become.
BUILTINS: dict[str, object] = {
    **{name: getattr(builtins, name) for name in _HARMLESS},
    **{
        name: value
        for name, value in vars(builtins).items()
        if isinstance(value, type) and issubclass(value, BaseException)
        if not name.endswith("Group")
    },
    "__debug__": True,
    "__import__": _import_hook,
    "getattr": guarded_getattr,
    "hasattr": guarded_hasattr,
    "setattr": guarded_setattr,
    "delattr": guarded_delattr,
    "dir": guarded_dir,
    "type": Type,
    names.PREFIX + "type": Type,
    names.PREFIX + "attribute": read,
    names.PREFIX + "ABCMeta": ABCMeta,
    names.PREFIX + "call": call,
    names.PREFIX + "collected": collected,
    names.PREFIX + "InitVar": dataclasses.InitVar,
    names.PREFIX + "KW_ONLY": dataclasses.KW_ONLY,
}
