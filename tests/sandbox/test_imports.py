"""What is offered for import, what is listed, and that the two are the same."""

import pytest
from restricted import run_restricted

import sandbox
from sandbox.language import importable


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
