"""The trees in the docstring of ``promptpo.errors`` are those of the classes that exist."""

import ast
import builtins
import functools
import re
from pathlib import Path

import pytest

from promptpo import errors

FOLDER = Path(errors.__file__).parent
LINE = re.compile(
    r"    (?P<indent>(?:│   |    )*(?:[├└]── )?)(?P<name>[A-Z]\w+)(?: +(?P<code>\d))?"
)


@functools.cache
def classes():
    """Every public exception of the package with its base."""
    trees = [ast.parse(path.read_text()) for path in FOLDER.rglob("*.py")]
    bases = {
        node.name: ast.unparse(node.bases[0]).rpartition(".")[2]
        for tree in trees
        for node in tree.body
        if isinstance(node, ast.ClassDef) and node.bases
    }

    def is_exception(name):
        known = getattr(builtins, name, None)
        if isinstance(known, type):
            return issubclass(known, BaseException)
        return name in bases and is_exception(bases[name])

    return {name: base for name, base in bases.items() if name[0] != "_" and is_exception(name)}


def told():
    """The same as the docstring draws it, and the exit codes that it names."""
    bases, codes, above = {}, {}, []
    for line in errors.__doc__.splitlines():
        if not (found := LINE.match(line)):
            continue
        depth = len(found["indent"]) // 4
        above[depth:] = [found["name"]]
        if depth:
            bases[found["name"]] = above[depth - 1]
        if found["code"]:
            codes[found["name"]] = int(found["code"])
    return bases, codes


def nearest(name, among):
    """The first builtin that the tree draws above a class that it does not."""
    return next((c.__name__ for c in getattr(builtins, name).__mro__ if c.__name__ in among), name)


def test_the_trees_hold_every_public_exception_below_its_base():
    drawn = told()[0]
    builtin = {"Exception", "BaseException"}
    drawn = {name: base for name, base in drawn.items() if name not in builtin}
    exist = {
        name: nearest(base, builtin) if hasattr(builtins, base) else base
        for name, base in classes().items()
    }
    exist.pop("PromptPOError")
    assert drawn == exist


@pytest.mark.parametrize(("name", "code"), told()[1].items())
def test_exit_codes_are_as_drawn(name, code):
    kind = getattr(errors, name, None)
    while kind is None:
        name = classes()[name]
        kind = getattr(errors, name, None)
    assert kind.exit_code == code


def test_every_exit_code_is_drawn_once_at_its_own_class():
    own = {k: v.exit_code for k, v in vars(errors).items() if hasattr(v, "exit_code")}
    assert own == {name: code for name, code in told()[1].items() if name in own}
