"""Which classes a program may hold: what ``type()`` shows, and what ``class`` may inherit from.

A class is open where a program may call it and inherit from it: its own, the builtins, exceptions,
and those that facades offer. Every other class that an object may have (functions, generators,
modules, generic aliases, buffers, whatever a library keeps for itself) is shown as a stand-in: good
for a look and for ``isinstance``, of no use otherwise. So nobody can build what only the
interpreter or a library should, and a new kind of object needs no new rule.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable

from sandbox.language.ownership import is_own_class

#: ``__module__`` of the class of observations, which comes with the task.
_OBSERVATION = "observation"

#: Builtins and libraries add theirs with ``offer``.
_open: set[type] = {types.NoneType}


def offer(members: Iterable[object]) -> None:
    """Open the classes among ``members``, but no class of classes."""
    kinds = (m for m in members if isinstance(m, type) and not isinstance(m, _StandInMeta))
    _open.update(kind for kind in kinds if not issubclass(kind, type))


def is_open(kind: type) -> bool:
    """Whether a program may call the class and inherit from it."""
    return (
        kind in _open
        or is_own_class(kind)
        or issubclass(kind, BaseException)
        or kind.__module__ == _OBSERVATION
    )


class _StandInMeta(type):
    """Makes ``isinstance(x, stand_in)`` mean the real class."""

    _real: type
    _call: Callable[..., object]
    _transparent: bool

    def __call__(cls, *args: object, **options: object) -> object:
        return cls._call(*args, **options)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls._real)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return subclass is cls or issubclass(subclass, cls._real)

    def __getitem__(cls, item: object) -> type:
        return cls

    def __getattr__(cls, name: str) -> object:
        if name.startswith("_") or not cls._transparent:
            raise AttributeError(f"`{cls.__name__}.{name}` is not available here")
        return getattr(cls._real, name)

    def __repr__(cls) -> str:
        return f"<class {cls.__name__!r}>"


def stand_in(
    real: type,
    call: Callable[..., object] | None = None,
    transparent: bool = False,
    meta: type[_StandInMeta] = _StandInMeta,
) -> type:
    """A class to be named in the place of ``real``; nothing inherits from it.

    ``isinstance`` and ``issubclass`` work with it as with the real one. Calling it calls ``call``,
    where there is one. A ``transparent`` one has the public attributes of the real one. ``meta``
    is its class.
    """

    def refused(*args: object, **options: object) -> object:
        raise TypeError(f"`{real.__name__}` cannot be called here")

    contents = {
        "__slots__": (),
        "__doc__": None,
        "_real": real,
        "_call": staticmethod(call or refused),
        "_transparent": transparent,
    }
    return meta(real.__name__, (), contents)


_stand_ins: dict[type, type] = {}


def replace(real: type, call: Callable[..., object]) -> type:
    """A stand-in for ``real``, which ``type(x)`` shows too."""
    made = _stand_ins[real] = stand_in(real, call, transparent=True)
    return made


def shown(kind: type) -> type:
    """The class to show for the class ``kind`` of some object."""
    if kind in _open or is_own_class(kind):
        return kind
    known = _stand_ins.get(kind)
    if known is not None:
        return known
    if issubclass(kind, type):
        return Type
    if is_open(kind):
        return kind
    made = _stand_ins[kind] = stand_in(kind)
    return made


class _TypeMeta(_StandInMeta):
    def __call__(cls, *args: object) -> type:  # type: ignore[override]
        if len(args) != 1:
            raise TypeError("type() with three arguments is not available: write a class statement")
        kind = type(args[0])
        return kind if kind in _open else shown(kind)


#: The builtin ``type``: to be called with one argument, and for ``isinstance(x, type)``. The class
#: of a class is this again, never a metaclass.
Type = stand_in(type, meta=_TypeMeta)
