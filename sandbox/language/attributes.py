"""Attributes that are harmless on most objects and refused on a few: one table.

A read of one of these names becomes a call of ``read``, wherever it stands; nothing else reads
attributes by name. The decision looks at what was found rather than at the object, as an object can
hide what it is: an instance of a subclass, ``super()``, an alias of a class. What was found is the
method of C or it is not.
"""

from __future__ import annotations

import types
from abc import ABCMeta
from collections.abc import Callable
from typing import Any

import numpy as np

from sandbox.language.formatting import SafeFormat, safe_format
from sandbox.language.hardening import receiving
from sandbox.language.mersenne import state_setter
from sandbox.language.ownership import is_own_class

_ARRAYS = (np.ndarray, np.generic)
_UNBOUND = (
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.WrapperDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
)

#: Takes the object and what was found; returns what the program gets.
Rule = Callable[[Any, Any], object]


def _belongs_to(value: Any, kinds: type | tuple[type, ...]) -> bool:  # noqa: ANN401 - anything at all
    """Whether it is a method in C of one of ``kinds``, bound or not."""
    if isinstance(value, types.BuiltinMethodType):
        return isinstance(value.__self__, kinds)
    return isinstance(value, _UNBOUND) and issubclass(value.__objclass__, kinds)


def _refused(kinds: type | tuple[type, ...], text: str) -> Rule:
    def rule(obj: object, value: object) -> object:
        if _belongs_to(value, kinds):
            raise AttributeError(text)
        return value

    return rule


def _format(obj: object, value: Any) -> object:  # noqa: ANN401 - anything at all
    if not _belongs_to(value, str):
        return value
    if isinstance(value, types.BuiltinMethodType):
        return SafeFormat(str.__str__(value.__self__))
    return safe_format


def _register(obj: object, value: object) -> object:
    # What is registered with an abstract class would match its class patterns.
    if getattr(value, "__func__", value) is ABCMeta.register:
        raise AttributeError("`.register` of an abstract class is not available: inherit from it")
    return value


def _obj(obj: Any, value: object) -> object:  # noqa: ANN401 - anything at all
    owner = obj.__self__ if type(obj) is super else obj  # type: ignore[attr-defined]
    kind = owner if isinstance(owner, type) else type(owner)
    if issubclass(kind, AttributeError) or _belongs_to(value, AttributeError):
        raise AttributeError("`.obj` of an exception is not available: use str(error)")
    return value


def _data(obj: object, value: object) -> object:
    # A view of bytes that are pointers to objects could be written to.
    if isinstance(value, memoryview) and "O" in value.format:
        raise AttributeError("`.data` of an array of objects is not available: use indexing")
    return value


def _init(obj: object, value: object) -> object:
    if isinstance(obj, type):
        # Taken off its class it would initialize, and so alter, anything.
        return receiving(obj, value) if isinstance(value, types.FunctionType) else value
    if type(obj) is super or is_own_class(type(obj)):
        return value
    raise AttributeError("`.__init__` of what a library made is not available: make a new object")


def _set_state(obj: object, value: object) -> object:
    generator = getattr(value, "__self__", None)
    return state_setter(generator) if isinstance(generator, np.random.RandomState) else value


def _at(obj: object, value: Any) -> object:  # noqa: ANN401 - anything at all
    if not _belongs_to(value, np.ufunc):
        return value

    def at(*args: Any, **options: Any) -> None:  # noqa: ANN401 - as the original
        # The one function of numpy that writes to read-only arrays.
        if any(isinstance(a, np.ndarray) and not a.flags.writeable for a in args[:written]):
            raise ValueError("array is read-only")
        value(*args, **options)

    written = 1 if isinstance(value, types.BuiltinMethodType) else 2
    return at


_FILES = "of an array is not available: a policy has no files"
#: The table. ``match`` patterns may not name these, and see ``building.guard_patterns``.
GUARDED: dict[str, Rule] = {
    "__init__": _init,
    "at": _at,
    "data": _data,
    "dump": _refused(_ARRAYS, f"`.dump` {_FILES}"),
    "dumps": _refused(_ARRAYS, f"`.dumps` {_FILES}"),
    "format": _format,
    "mro": _refused(type, "`.mro` is not available: use isinstance or issubclass"),
    "obj": _obj,
    "register": _register,
    # Views of the old memory would stay.
    "set_state": _set_state,
    "resize": _refused(_ARRAYS, "`.resize` of an array is not available: use np.resize(a, shape)"),
}


def read(obj: object, name: str) -> object:
    """``obj.name`` for a name of the table.

    Raises:
        AttributeError: it is refused here, or there is none.
    """
    return GUARDED[name](obj, getattr(obj, name))
