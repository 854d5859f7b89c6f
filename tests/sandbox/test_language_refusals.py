"""What is refused, with which line, and that the message says what to write instead."""

import pytest
from restricted import run_restricted

from sandbox import CompileError

WHEN_COMPILING = {
    "import os": ("import math\nimport os\n", 2, "no files"),
    "import sys": ("import sys\n", 1, "float('inf')"),
    "from os import path": ("from os import path\n", 1, "no files"),
    "import torch": ("import torch\n", 1, "numpy"),
    "import gymnasium": ("import gymnasium as gym\n", 1, "observation alone"),
    "unknown module": ("import frobnicate\n", 1, "available are abc, bisect"),
    "unknown submodule": ("import numpy.ma\n", 1, "numpy.linalg"),
    "importlib": ("import importlib\n", 1, "do without"),
    "star import": ("from math import *\n", 1, "name what you import"),
    "relative import": ("from . import x\n", 1, "one module"),
    "private import": ("from random import _os\n", 1, "private"),
    "absent name": ("from functools import singledispatch\n", 1, "functools offers cache"),
    "absent numpy name": ("from numpy import load\n", 1, "no files"),
    "absent numpy module": ("from numpy import ctypeslib\n", 1, "not available"),
    "get_type_hints": ("from typing import get_type_hints\n", 1, "not available"),
    "make_dataclass": ("from dataclasses import make_dataclass\n", 1, "not available"),
    "open": ("x = 1\nwith open('f') as f:\n    pass\n", 2, "nothing but its observation"),
    "eval": ("eval('1')\n", 1, "the code itself"),
    "exec": ("def f():\n    exec('1')\n", 2, "the code itself"),
    "globals": ("globals()['x'] = 1\n", 1, "a dict of your own"),
    "input": ("x = input()\n", 1, "observation"),
    "breakpoint": ("breakpoint()\n", 1, "print()"),
    "dunder import": ("__import__('os')\n", 1, "import with `import`"),
    "dunder builtins": ("__builtins__\n", 1, "not available"),
    "dunder dict": ("class A: pass\nA().__dict__\n", 2, "getattr/setattr"),
    "dunder globals": ("def f(): pass\nf.__globals__\n", 2, "internals"),
    "dunder subclasses": ("object.__subclasses__()\n", 1, "internals"),
    "dunder assignment": ("class A: pass\nA().__class__ = int\n", 2, "cannot be assigned"),
    "dunder code": ("(lambda: 0).__code__\n", 1, "internals"),
    "finalizer": ("class A:\n    def __del__(self): pass\n", 2, "plain method name"),
    "getattr hook": ("class A:\n    def __getattr__(self, n): pass\n", 2, "plain method"),
    "array protocol": ("class A:\n    def __array__(self): pass\n", 2, "plain method"),
    "pickle hook": ("class A:\n    def __reduce__(self): pass\n", 2, "plain method"),
    "class hook": ("class A:\n    __getattr__ = print\n", 2, "cannot be set"),
    "match args": ("class A:\n    __match_args__ = ('x',)\n", 2, "cannot be set"),
    "metaclass": ("class M(type): pass\nclass A(metaclass=M): pass\n", 2, "metaclass=ABCMeta"),
    "class keyword": ("class A(object, x=1): pass\n", 1, "leave the keyword out"),
    "frame": ("def g(): yield\ng().gi_frame\n", 2, "internals"),
    "traceback": ("try:\n    pass\nexcept Exception as e:\n    e.tb_frame\n", 4, "internals"),
    "match pattern": ("match 1:\n    case int(gi_frame=x): pass\n", 2, "cannot be matched"),
    "dunder in match pattern": ("match 1:\n    case int(__class__=x): pass\n", 2, "matched"),
    "tofile": ("def f(a): a.tofile('x')\n", 1, "no files"),
    "ctypes attribute": ("def f(a): return a.ctypes\n", 1, "raw memory"),
    "setflags": ("def f(a): a.setflags(write=1)\n", 1, "raw memory"),
    "format_map": ("'{x}'.format_map({})\n", 1, "f-string"),
    "assigned in place to mro": ("class A: mro = []\nA.mro += [1]\n", 2, "cannot be the target"),
    "assigned in place to format": ("s = 'x'\ns.format += 'y'\n", 2, "cannot be the target"),
    "async": ("async def f(): pass\n", 1, "plain `def`"),
    "except star": ("try:\n    pass\nexcept* ValueError:\n    pass\n", 1, "write `except`"),
    "reserved character": ("\u01c0import = 1\n", 1, "reserved character"),
    "reserved attribute": ("x.\u01c0y\n", 1, "reserved character"),
    "reserved parameter": ("def f(\u01c0type): pass\n", 1, "reserved character"),
    "reserved keyword": ("f(\u01c0type=1)\n", 1, "reserved character"),
    "full-width eval": ("\uff45val('1')\n", 1, "the code itself"),
    "syntax error": ("def f(:\n    pass\n", 1, "not valid Python"),
    "bad indentation": ("def f():\n  x = 1\n    y = 2\n", 3, "not valid Python"),
    "null byte": ("x = 1\0\n", 1, "null"),
}


@pytest.mark.parametrize("name", WHEN_COMPILING)
def test_refused_when_compiling(name):
    source, line, fragment = WHEN_COMPILING[name]

    with pytest.raises(CompileError) as caught:
        run_restricted(source)

    assert caught.value.line == line
    assert fragment in caught.value.message


SUPER = {
    "a variable": "super = print",
    "a walrus": "(super := 1)",
    "a function": "def super(): pass",
    "a class": "class super: pass",
    "a parameter": "def f(super): pass",
    "a positional parameter": "def f(super, /): pass",
    "a parameter by name": "def f(*, super=1): pass",
    "the rest of the parameters": "def f(*super): pass",
    "the keywords": "def f(**super): pass",
    "a parameter of a lambda": "f = lambda super: super",
    "a loop": "for super in []: pass",
    "a comprehension": "[0 for super in []]",
    "unpacking": "(a, *super) = 1, 2",
    "augmented": "super += 1",
    "annotated": "super: int = 1",
    "with": "with np.errstate() as super: pass",
    "an exception": "try: pass\nexcept Exception as super: pass",
    "import": "import math as super",
    "from import": "from math import pi as super",
    "a pattern": "match 1:\n    case super: pass",
    "a named pattern": "match 1:\n    case int() as super: pass",
    "a starred pattern": "match 1:\n    case [*super]: pass",
    "the rest of a mapping": "match 1:\n    case {**super}: pass",
    "del": "del super",
    "global": "def f():\n    global super\n    super = 1",
    "a method": "class A:\n    def super(self): pass",
    "full width": "\uff53uper = 1",
}


@pytest.mark.parametrize("source", SUPER.values(), ids=SUPER)
def test_super_cannot_be_bound(source):
    with pytest.raises(CompileError, match="`super` cannot be assigned here") as caught:
        run_restricted("x = 1\n" + source)

    bound = source.replace("global super", "")
    line = 2 + next(i for i, text in enumerate(bound.splitlines()) if "uper" in text)
    assert caught.value.line == line


WHEN_RUNNING = {
    "np.load": ("np.load('x')", "no files"),
    "np.float_": ("np.float_(1)", "np.float64"),
    "np.trapz": ("np.trapz([1])", "np.trapezoid"),
    "patched module": ("np.sum = 1", "read-only"),
    "deleted from module": ("del np.sum", "read-only"),
    "setattr on module": ("setattr(math, 'pi', 3)", "read-only"),
    "getattr dunder": ("getattr(object, '__subclasses__')", "not available"),
    "getattr str subclass": (
        "class S(str): pass\ngetattr(object, S('__subclasses__'))",
        "plain strings",
    ),
    "getattr refused": ("getattr(np.zeros(1), 'tofile')", "no files"),
    "getattr reserved": ("getattr(object, '\\u01c0x')", "reserved"),
    "setattr dunder": ("setattr(Exception(), '__class__', int)", "cannot be assigned"),
    "three-argument type": ("type('X', (), {})", "class statement"),
    "metaclass through type": ("type(type(1))('X', (), {})", "class statement"),
    "metaclass through class": ("(1).__class__.__class__('X', (), {})", "class statement"),
    "mro": ("int.mro()", "isinstance"),
    "format attribute": ("'{0.real}'.format(1)", "f-string"),
    "format item": ("'{0[a]}'.format({})", "f-string"),
    "format nested": ("'{0:{1.real}}'.format(1, 2)", "f-string"),
    "unbound format": ("str.format('{0.real}', 1)", "f-string"),
    "attrgetter": ("import operator\noperator.attrgetter('__class__.__mro__')(1)", "internals"),
    "methodcaller": ("import operator\noperator.methodcaller('__reduce__')(1)", "internals"),
    "optional import of what is refused": (
        "try:\n    import os\nexcept ImportError as e:\n    raise RuntimeError(str(e))",
        "not installed",
    ),
}


@pytest.mark.parametrize("name", WHEN_RUNNING)
def test_refused_when_running(name):
    source, fragment = WHEN_RUNNING[name]

    with pytest.raises((AttributeError, TypeError, RuntimeError)) as caught:
        run_restricted(source)

    assert fragment in str(caught.value)


def test_all_refusals_of_a_source_are_reported_with_their_lines():
    with pytest.raises(CompileError) as caught:
        run_restricted("import os\nx = 1\nimport sys\nopen('f')\n")

    assert [f"line {n}:" in caught.value.message for n in (1, 3, 4)] == [True] * 3
    assert "    import sys" in caught.value.message


def test_deep_nesting_is_a_compile_error():
    for source in ("x = " + "-" * 100_000 + "1", "x = " + "(" * 5000, "x = " + "1+" * 50_000 + "1"):
        with pytest.raises(CompileError):
            run_restricted(source)


def test_long_else_if_chains_and_sums_compile():
    chain = "x = 5\nif x == 0:\n    y = 0\n"
    chain += "".join(f"elif x == {i}:\n    y = {i}\n" for i in range(1, 150))

    namespace, _ = run_restricted(chain + "z = " + "+".join(["1"] * 400))

    assert (namespace["y"], namespace["z"]) == (5, 400)


def test_print_is_captured_and_cut_with_a_note():
    _, printer = run_restricted("print('a', 1, sep='-', end='!\\n')\nprint('x' * 5000)")

    assert printer.text.startswith("a-1!\nxxx")
    assert printer.text.endswith("more characters]")
    assert len(printer.text) < 4100


def test_hidden_names_do_not_show_in_what_is_printed():
    _, printer = run_restricted("class _P: pass\nprint(type(_P()).__name__, dir(_P()))")

    assert "\u01c0" not in printer.text


def test_dir_lists_public_names_only():
    namespace, _ = run_restricted("names = dir([])")

    assert "append" in namespace["names"]
    assert not [name for name in namespace["names"] if name.startswith("_")]
