"""``EnvSpec`` objects where a spec is asked for: what other processes find them by."""

from __future__ import annotations

import ast
import dataclasses
import itertools
import sys
from collections.abc import Mapping
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from types import CodeType, FunctionType, MethodType
from typing import TypeAlias

from promptpo.common.files import NotText, read_source
from promptpo.errors import SpecError
from promptpo.spec.authoring.definition import EnvSpec, Field
from promptpo.spec.authoring.published import published_form
from promptpo.spec.loading.importing import LIMIT
from promptpo.spec.loading.loader import load_spec
from promptpo.spec.running.activity import CALL, IMPORT, activity

#: A spec as callers may give it: a file, a name, ``family:member``, or the object.
SpecLike: TypeAlias = str | PathLike[str] | EnvSpec

#: What ``load_spec`` fills in where the author has not.
_FILLED = ("name", "title", "description", "path", "ref")

#: What of a class its author writes down; Python adds more.
_WRITTEN = (Field, FunctionType, staticmethod, classmethod, property, type, str, int, float)

#: What partials, properties and methods are made of.
_WRAPPED = ("func", "args", "keywords", "fget", "fset", "__func__", "__self__")


def loaded_spec(spec: SpecLike, *, published: bool = False, limit: float = LIMIT) -> EnvSpec:
    """The loaded spec that a file, a name or an object stands for.

    Environments run in processes of their own, which import the spec from its file. An object
    therefore has to be the ``SPEC`` of a file: one that ``load_spec`` returned, or one of a module
    or script that was imported or run.

    Raises SpecError as ``load_spec`` does, and where the object is the SPEC of no file, or is not
    what its file says.
    """
    if activity.cells[CALL] == IMPORT:
        raise SpecError(
            "promptpo is called while the spec is being imported; put the call under"
            ' if __name__ == "__main__":'
        )
    if not isinstance(spec, EnvSpec):
        return load_spec(fspath(spec), published=published, limit=limit)
    where = spec.ref or _file_of(spec)
    found = load_spec(where, limit=limit)
    if part := _difference(spec, found):
        raise SpecError(
            f"{where}: this EnvSpec is not the SPEC that is there now (its {part} differs); load it"
            " again with promptpo.load_spec, or give a variant a file of its own"
        )
    return published_form(found) if published else found


def _file_of(spec: EnvSpec) -> str:
    """Return the file of the module whose SPEC an object is: the one that makes it, if several."""
    modules = [module for module in tuple(sys.modules.values())
               if getattr(module, "__dict__", {}).get("SPEC") is spec]  # fmt: skip
    files = [str(module.__file__) for module in modules if getattr(module, "__file__", None)]
    if files:
        return next(filter(_makes_spec, files), files[0])
    called = f"the EnvSpec {spec.name!r}" if spec.name else "this EnvSpec"
    raise SpecError(
        f"{called} is the SPEC of no file, and environments run in processes that import it from"
        " one; write it to a file that ends with SPEC = EnvSpec(...) (in a notebook, begin its cell"
        " with %%writefile my_task.py), and give the file's name"
    )


def _makes_spec(file: str) -> bool:
    """Return whether a module assigns SPEC; others import it, or give it one more name."""
    try:
        tree = ast.parse(read_source(Path(file)))
    except (OSError, NotText, SyntaxError):
        return False
    return any(
        isinstance(node, ast.Assign | ast.AnnAssign)
        and not isinstance(node.value, ast.Name | ast.Attribute)
        and "SPEC" in {getattr(t, "id", "") for t in getattr(node, "targets", [node])[:1]}
        for node in ast.walk(tree)
    )


def _difference(a: EnvSpec, b: EnvSpec) -> str:
    """Return the first part in which two specs differ; empty where they are the same."""
    compared: dict[tuple[int, int], object] = {}
    for f in dataclasses.fields(EnvSpec):
        left, right = getattr(a, f.name), getattr(b, f.name)
        if f.name in _FILLED and not left:
            continue
        if not _same(left, right, compared):
            return f.name
    return ""


def _same(a: object, b: object, compared: dict[tuple[int, int], object]) -> bool:
    """Return whether two parts are the same, though imported at different times.

    ``compared`` holds the pairs so far: a class refers to itself in methods that use ``super()``.
    """
    if a is b or (id(a), id(b)) in compared:
        return True
    compared[id(a), id(b)] = a, b  # kept, so that no other object gets their ids
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(_same(a[key], b[key], compared) for key in a)
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        return len(a) == len(b) and all(map(_same, a, b, itertools.repeat(compared)))
    if isinstance(a, CodeType | str | int | float):
        return a == b
    alike = type(a).__qualname__ == type(b).__qualname__
    return alike and _same(_state(a), _state(b), compared)


def _state(value: object) -> object:
    """Return what tells a value from another of its type."""
    if isinstance(value, FunctionType):
        cells = [getattr(cell, "cell_contents", None) for cell in value.__closure__ or ()]
        return (value.__code__, value.__defaults__, value.__kwdefaults__, cells)
    if isinstance(value, type):
        own = {k: v for k, v in vars(value).items() if isinstance(v, _WRITTEN)}
        return (value.__qualname__, value.__bases__, _without_module(own))
    if isinstance(value, partial | property | MethodType | staticmethod | classmethod):
        return [getattr(value, name, None) for name in _WRAPPED]
    if attributes := getattr(value, "__dict__", None):
        return _without_module(attributes)
    return "" if type(value).__repr__ is object.__repr__ else repr(value)


def _without_module(own: Mapping[str, object]) -> dict[str, object]:
    """Return attributes without the module's name, which is another for each way to import."""
    return {name: value for name, value in own.items() if name != "__module__"}
