"""Whatever every episode of a process finds cannot be changed by any of them."""

import contextlib
import functools
import types

import numpy as np
import pytest
from reach import inside
from restricted import run_restricted
from sandbox.language.classes import Type
from sandbox.language.ownership import target

from sandbox.language import importable, names
from sandbox.language.facades import Facade

#: Objects of these classes have no contents that a program could change but by setting attributes.
CONSTANT = (
    *(int, float, complex, str, bytes, bool, range, tuple, frozenset, type, property, Facade),
    *(type(None), type(...), type(NotImplemented), np.generic, np.dtype, np.ufunc, type(np.mean)),
    *(types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.MappingProxyType),
    *(types.MethodDescriptorType, types.WrapperDescriptorType, types.MethodWrapperType),
    *(types.GetSetDescriptorType, types.MemberDescriptorType, types.ClassMethodDescriptorType),
    *(types.GenericAlias, functools.cached_property, contextlib.nullcontext),
)
#: The same, where the class has no public name.
NAMED = {
    *("cython_function_or_method", "getset_descriptor", "fused_cython_function"),
    *("_SpecialForm", "_SpecialGenericAlias", "_TupleType", "_LiteralSpecialForm", "_CallableType"),
    *("_AnyMeta", "TypeVar", "_ClassOnly", "_ABCMeta", "_KW_ONLY_TYPE", "_MISSING_TYPE"),
    *(
        "Named",
        "RClass",
        "CClass",
        "OGridClass",
        "MGridClass",
        "IndexExpression",
        "_TypedCacheSpecialForm",
    ),
}
STEPS = 3


def offered():
    """Everything that a program holds before it runs a line, by how it is written."""
    modules = sorted(name for name in importable().modules if "scipy" in name or "." not in name)
    lines = "\n".join(f"try:\n    import {name}\nexcept ImportError: pass" for name in modules)
    namespace, _ = run_restricted(lines)
    found = {n: namespace[n] for n in {m.partition(".")[0] for m in modules} if n in namespace}
    return found | {n: v for n, v in namespace["__builtins__"].items() if names.PREFIX not in n}


@pytest.fixture(scope="module")
def shared():
    """All that can be reached from it by reading, and is the same at each reading; by path."""
    found, seen = {}, set()
    layer = list(offered().items())
    for _ in range(STEPS):
        following = []
        for path, obj in layer:
            if id(obj) in seen or isinstance(obj, int | float | str | bytes):
                continue
            seen.add(id(obj))
            found[path] = obj
            again = dict(inside(obj))
            # What is made anew for each reading belongs to its reader.
            following += ((path + s, v) for s, v in inside(obj) if again.get(s) is v)
        layer = following
    return found


def is_constant(obj):
    if isinstance(obj, np.ndarray):
        return not obj.flags.writeable
    return isinstance(obj, CONSTANT) or type(obj).__name__ in NAMED or obj is Type


def test_nothing_that_is_shared_can_be_filled(shared):
    assert len(shared) > 3000
    assert [path for path, obj in shared.items() if not is_constant(obj)] == []


def test_no_attribute_of_what_is_shared_can_be_set(shared):
    def is_open(obj):
        try:
            target(obj, "shape")
        except AttributeError:
            return False
        return True

    assert [path for path, obj in shared.items() if is_open(obj)] == []
