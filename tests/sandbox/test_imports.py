"""What is offered for import, what is listed, and that the two are the same."""

import io
import os
import types

import pytest
from restricted import run_restricted

import sandbox
from sandbox.language import importable, names
from sandbox.language.guards import guarded_getattr


def test_what_is_listed_can_be_imported_and_what_is_offered_is_listed():
    listed = set(sandbox.ALLOWED_IMPORTS)
    for module in listed:
        namespace, _ = run_restricted(f"import {module} as found")
        assert repr(namespace["found"]) == f"<module {module!r}>"

    # Of the others the list names the whole (numpy, collections) or each part (scipy) but two.
    rest = {name for name in importable().modules - listed if name.partition(".")[0] not in listed}
    assert rest == {"scipy", "scipy.integrate", "scipy.stats"}


PATHS = {
    "a function's globals": "import numpy.__getattr__.__globals__ as g",
    "a class's bases": "from collections.OrderedDict import __bases__ as g",
    "a function as a module": "from numpy.mean import real as g",
    "a class as a module": "from collections.Counter import update as g",
    "a hidden name": "from numpy import \u01c0lazy as g",
    "a private name": "from numpy._core import multiarray as g",
    "a constant as a module": "import math.pi.real as g",
}


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_only_modules_are_walked_through_where_an_import_may_fail(path):
    source = f"try:\n    {path}\nexcept ImportError:\n    g = None"
    try:
        namespace, _ = run_restricted(source)
    except sandbox.CompileError:
        return

    assert namespace["g"] is None


def test_extra_imports_stand_in_the_tree_of_modules_for_those_who_asked():
    source = "import colorsys, scipy.optimize, scipy.special\nfrom scipy import special"
    namespace, _ = run_restricted(source, ("colorsys", "scipy.special"))

    assert namespace["scipy"].special is namespace["special"]
    assert namespace["scipy"].optimize.minimize
    assert repr(namespace["colorsys"]) == "<module 'colorsys'>"
    source = "try:\n    import colorsys\nexcept ImportError as g:\n    e = str(g)"
    assert "not installed here" in run_restricted(source)[0]["e"]


@pytest.mark.parametrize(
    "source",
    [
        "type(np)('x')",
        "np.__init__('numpy', {'sum': 1})",
        "class M(np): pass",
        "np.sum = 1",
        "import copy\ncopy.copy(np)",
        "type(np).random",
    ],
)
def test_a_facade_is_sealed(source):
    with pytest.raises((AttributeError, TypeError)):
        run_restricted(source)


INTERNAL = (types.ModuleType, types.FrameType, types.CodeType, types.CellType, io.IOBase)
INTERNAL += (os._Environ,)
POWERS = {id(f) for f in (open, input, exec, eval, compile, globals, locals, vars, __import__)}
POWERS |= {id(f) for f in (getattr, setattr, delattr)}


def lead_out(value, depth, seen, path):
    """Paths of attributes, as a program can write them, to what nobody may hold."""
    for name in {*dir(value), *names.GUARDED}:
        if name.startswith("_") or names.PREFIX in name:
            continue
        try:
            inner = guarded_getattr(value, name)
        except Exception:  # noqa: S112 - a refusal, or a property that fails
            continue
        if isinstance(inner, INTERNAL) or id(inner) in POWERS:
            yield f"{path}.{name}"
        elif depth and id(inner) not in seen:
            seen[id(inner)] = inner  # its address stays its own
            yield from lead_out(inner, depth - 1, seen, f"{path}.{name}")


def test_nothing_that_can_be_imported_leads_out_of_the_language():
    modules = sorted(importable().modules)
    source = "".join(
        f"import {name} as m{i}\nkept.append(m{i})\n" for i, name in enumerate(modules)
    )
    namespace, _ = run_restricted(f"kept = []\n{source}")

    assert len(namespace["kept"]) == len(modules)
    for name, module in zip(modules, namespace["kept"], strict=True):
        assert list(lead_out(module, 2, {}, name)) == []
