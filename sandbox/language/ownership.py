"""What a program may write to: its own objects, and nothing that outlives them.

Libraries, builtins and classes of the host serve every episode of a process. An attribute set on
one of them would be seen by the next episode, so attributes are set and deleted only on what the
program itself defined: objects of its classes, these classes, and its functions. A few others are
harmless, because each program makes its own (``_HARMLESS``).

The compiler asks here (``target``) wherever an attribute is written, but for ``self.x``: there a
method asks once, when it is entered, whether ``self`` is the program's own (``admit``), and not
even that where nobody can hand it anything else (``stateless``).
"""

from __future__ import annotations

import decimal
import types
from typing import Any, TypeVar

import numpy as np

from sandbox.language.names import readable

_Object = TypeVar("_Object")

#: ``__name__`` of every program. What a program defines carries this very object (``__module__`` of
#: classes, the globals of functions), which no other module and no computed text is.
MODULE = "".join(("pol", "icy"))

_namespace = type.__dict__["__dict__"].__get__
_Flags = type(np.zeros(0).flags)

#: Attributes that may be set on objects of exactly these classes; a program finds none that is not
#: its own: arrays of libraries cannot be written to, and contexts are each slot's own.
_HARMLESS: dict[type, frozenset[str]] = {
    np.ndarray: frozenset({"shape", "real", "imag", "flat"}),
    _Flags: frozenset({"writeable"}),
    decimal.Context: frozenset({"prec", "rounding", "Emin", "Emax", "capitals", "clamp"}),
}

#: Classes of objects that are made for one step of one episode: observations.
_fleeting: set[type] = set()


def is_own_class(kind: type) -> bool:
    """Whether a program defined this class."""
    return _namespace(kind).get("__module__") is MODULE


def is_own_function(obj: object) -> bool:
    """Whether it is a plain function or lambda of a program."""
    return type(obj) is types.FunctionType and obj.__globals__.get("__name__") is MODULE


def is_own(obj: object) -> bool:
    """Whether a program defined it, or its class."""
    kind = type(obj)
    if is_own_class(kind):
        return True
    return is_own_class(obj) if issubclass(kind, type) else is_own_function(obj)  # type: ignore[arg-type]


def _is_writeable(obj: Any) -> bool:  # noqa: ANN401 - of a class in the table
    """Whether it is no array that is read-only: those are of libraries, or meant to stay so."""
    flags = obj.flags if type(obj) is np.ndarray else obj
    return type(flags) is not _Flags or bool(flags.writeable)


def fleeting(kind: type) -> None:
    """Let programs write to objects of this class (but not to the class)."""
    _fleeting.add(kind)


def target(obj: _Object, name: str) -> _Object:
    """``obj``, whose attribute ``name`` is about to be set or deleted.

    Raises:
        AttributeError: it is not the program's own.
    """
    if is_own(obj) or type(obj) in _fleeting:
        return obj
    if name in _HARMLESS.get(type(obj), ()) and _is_writeable(obj):
        return obj
    raise _refused(obj, f"`.{name}`")


def _refused(obj: object, what: str) -> AttributeError:
    whose = f"an object of class {type(obj).__name__}"
    if issubclass(type(obj), type):
        whose = f"class {obj.__name__}"  # type: ignore[attr-defined]
    return AttributeError(
        readable(
            f"{what} of {whose} cannot be set or deleted: what this program has not defined is "
            "read-only; keep values in attributes of self"
        )
    )


class Ownership:
    """The guards of one namespace; ``own`` remembers classes of the program that were seen."""

    def __init__(self) -> None:
        own = self.own = set[type]()

        def quick(obj: _Object, name: str) -> _Object:
            if type(obj) in own:
                return obj
            if is_own_class(type(obj)):
                own.add(type(obj))
                return obj
            return target(obj, name)

        self.target = quick

    def admit(self, obj: object) -> None:
        """What methods call for a ``self`` whose class is not in ``own`` yet.

        Raises:
            AttributeError: it is not the program's own.
        """
        kind = type(obj)
        if is_own_class(kind):
            self.own.add(kind)
        elif not is_own(obj) and kind not in _fleeting:
            raise _refused(obj, "attributes")
