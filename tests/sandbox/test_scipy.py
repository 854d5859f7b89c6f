"""What the facades offer of scipy works after the lock-down, where nothing more can be loaded."""

import ast
import contextlib
import re
import subprocess
import sys
import types
from importlib.util import resolve_name
from pathlib import Path

import numpy as np
import pytest
from restricted import programs

from sandbox import Box, Host, Interface, Limits
from sandbox.language.catalog import library_members
from sandbox.language.facades import Facade
from sandbox.libraries import SCIPY

FAMILIES = programs("scipy")
DISTRIBUTIONS = {
    name: member
    for name, member in library_members("scipy.stats").items()
    if isinstance(member, Facade)
}
POLICY = """import numpy as np
import scipy.linalg as la, scipy.optimize as op, scipy.interpolate as ip
import scipy.signal as sg, scipy.spatial as sp, scipy.integrate as ig, scipy.stats as st
class Policy:
    def act(self, obs):
        family()
        return [1.0]
def family():
"""


@pytest.fixture(scope="module")
def host():
    with Host() as running:
        yield running


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_of_functions_works_in_a_locked_down_process(host, family):
    source = POLICY + "".join(f"    {line}\n" for line in FAMILIES[family].splitlines())

    limits = Limits(act_seconds=30, init_seconds=60)
    with host.policy(source, Interface(1, None, Box((1,))), limits) as policy:
        policy.reset([0], [0])
        assert policy.act([0], np.zeros((1, 1))).tolist() == [[1.0]]


def test_what_libraries_print_is_the_programs_output(host):
    source = POLICY + "    op.minimize(op.rosen, [0.9, 0.9], options={'disp': True})\n"

    with host.policy(source, Interface(1, None, Box((1,))), Limits(init_seconds=60)) as policy:
        policy.reset([0], [0])
        policy.act([0], np.zeros((1, 1)))
        assert "Current function value" in policy.output


def test_each_name_that_is_offered_stands_in_the_families():
    words = set(re.findall(r"\w+", " ".join(FAMILIES.values())))

    offered = {n for module in SCIPY for n in library_members(module)}

    assert offered - words == set()


@pytest.mark.parametrize("name", [n for n, d in DISTRIBUTIONS.items() if hasattr(d, "fit")])
def test_a_distribution_is_as_it_was_after_what_is_offered_of_it_fails(name):
    methods, states = vars(DISTRIBUTIONS[name]), []
    real = next(m.__self__ for m in methods.values() if isinstance(m, types.MethodType))

    for _ in range(2):
        states.append(repr({k: v for k, v in vars(real).items() if "vec" not in k}))
        for method in (m for m in methods.values() if isinstance(m, types.MethodType)):
            for arguments in ((), (Stray(),), ([0.1, 0.2], Stray()), ([0.5], 2.0, 3.0, Stray())):
                with contextlib.suppress(Exception):
                    method(*arguments)

    assert states[0] == states[1]


class Stray:
    """What a program could hand over: an argument that fails in the middle of everything."""

    def __array__(self, *_args, **_options):
        raise RuntimeError


def test_of_statistics_no_class_is_offered_and_nothing_that_draws():
    members = library_members("scipy.stats")

    assert [name for name, member in members.items() if isinstance(member, type)] == []
    assert {"rvs", "random_state"} & set().union(*map(vars, DISTRIBUTIONS.values())) == set()


@pytest.mark.slow
def test_nothing_of_scipy_is_loaded_later_than_in_the_warm_parent():
    probe = """
import sys
from sandbox.language.library import load_libraries
from sandbox.language.facades import Facade
from sandbox.libraries import SCIPY
load_libraries(SCIPY)
print("\\n".join(f"{m.__package__} {m.__file__}" for m in list(sys.modules.values())
    if getattr(m, "__file__", None) and m.__name__.startswith("scipy.")))
print(*sys.modules)
"""
    command = [sys.executable, "-c", probe]
    *files, loaded = subprocess.check_output(command, text=True).splitlines()

    late = {name for line in files for name in late_imports(*line.split(" ", 1))}

    # Of the test suite and the documentation, of array libraries that are not installed, and of
    # functions that are not offered.
    absent = {"cffi", "cupy", "cupyx", "dask", "jax", "matplotlib", "pytest", "sparse", "torch"}
    absent |= {"psutil", "yaml", "sphinx", "numpy"}
    left_out = {f"scipy.{place}.array_api_compat.dask" for place in ("_lib", "_external")}
    missing = late - set(loaded.split(" ")) - left_out
    assert {name for name in missing if name.partition(".")[0] not in absent} == set()


def late_imports(package, path):
    """Modules that functions of a Python file import when they are called."""
    text = Path(path).read_text() if path.endswith(".py") else ""
    if not re.search(r"^[ \t]+(import|from) ", text, re.MULTILINE):
        return  # most have none; parsing them all takes many seconds
    for node in statements_in_functions(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield resolve_name("." * node.level + (node.module or ""), package)


def statements_in_functions(tree, inside=False):
    """Each once; there are none in expressions, which most of a tree is."""
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, ast.expr):
            if inside:
                yield node
            yield from statements_in_functions(node, inside or isinstance(node, ast.FunctionDef))
