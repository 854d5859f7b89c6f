"""What a program can reach from what it holds: the oracle of the tests of the language layer.

``powers`` goes by the names that a program can spell, under the rules of its own ``getattr``, by
``type()``, and through containers, and tells what would lead out of the language.
"""

import builtins
import functools
import io
import os
import types
from collections import deque

import numpy as np

from sandbox.language import Runtime, names
from sandbox.language.facades import Facade
from sandbox.language.guards import Printer, Type, guarded_getattr
from sandbox.language.library import shared_facades
from sandbox.language.randomness import Randomness

#: Nobody may hold an object of these; what leads on from a traceback cannot be spelled.
INTERNAL = (
    types.FrameType,
    types.CodeType,
    types.CellType,
    types.ModuleType,
    io.IOBase,
    os._Environ,
    type(np.random.PCG64(1).capsule),
    Runtime,
    Printer,
    Randomness,
)
BUILTINS = """
    open input exec eval compile globals locals vars breakpoint getattr setattr delattr hasattr dir
    print __import__ __build_class__
"""
REFUSED = {id(getattr(builtins, name)): name for name in BUILTINS.split()}
CONTAINERS = (list, tuple, set, frozenset, deque)
#: Nothing lies behind these: values, and methods in C, whose attributes are more of the same.
PLAIN = (int, float, complex, str, bytes, bool, type(None), np.generic, np.dtype)
PLAIN += (types.MethodWrapperType, types.WrapperDescriptorType, types.MethodDescriptorType)
PLAIN += (types.BuiltinMethodType, types.ClassMethodDescriptorType)


def power(value):
    """Why nobody should hold ``value``, or None."""
    kind, why = type(value), None
    if issubclass(kind, INTERNAL):
        why = f"an object of {kind.__name__}"
    elif id(value) in REFUSED:
        why = f"the builtin {REFUSED[id(value)]}"
    elif kind is dict and {"__builtins__", "__name__"} <= value.keys():
        why = "the globals of a function"
    return why


def spellable(obj):
    """Names of attributes that a program can write after a dot."""
    try:
        found = dir(obj)
    except Exception:
        found = dir(type(obj))
    for name in {*found, *names.GUARDED}:
        if name in names.READABLE or (not name.startswith("_") and names.PREFIX not in name):
            yield name


def inside(obj):
    """What a program gets from ``obj`` without calling it, with how it is written."""
    yield "type()", Type(obj)
    if isinstance(obj, dict | types.MappingProxyType):
        # Past the methods of a subclass.
        items = dict.items(obj) if isinstance(obj, dict) else obj.items()
        for key, item in list(items):
            yield "key", key
            yield "value", item
    elif isinstance(obj, CONTAINERS):
        base = next(kind for kind in CONTAINERS if isinstance(obj, kind))
        yield from ((f"[{i}]", item) for i, item in enumerate(list(base.__iter__(obj))))
    elif isinstance(obj, np.ndarray) and obj.dtype.hasobject:
        yield from (("[]", item) for item in obj.ravel().tolist())
    elif isinstance(obj, functools.partial):
        yield ".func", obj.func
    for name in spellable(obj):
        try:
            yield f".{name}", guarded_getattr(obj, name)
        except Exception:  # noqa: S112 - a refusal, or a property that fails
            continue


def known():
    """Addresses of what modules hold, which ``powers`` need not look into each time."""
    members = map(vars, shared_facades().values())
    return frozenset(id(value) for inside in members for value in inside.values())


def powers(value, depth, skip=frozenset()):
    """Paths of at most ``depth`` steps from ``value`` to what leads out of the language."""
    seen, layer, kept = set(skip), [("", value)], []
    plain = (*PLAIN, Facade) if skip else PLAIN
    for _ in range(depth + 1):
        following = []
        for path, obj in layer:
            found = power(obj)
            if found is not None:
                yield f"{path or 'itself'}: {found}"
            elif not isinstance(obj, plain) and id(obj) not in seen:
                seen.add(id(obj))
                kept.append(obj)  # its address stays its own
                following += ((path + step, reached) for step, reached in inside(obj))
        layer = following
