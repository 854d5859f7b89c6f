"""``EnvSpec`` objects where a spec is asked for: what other processes find them by."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping
from os import PathLike, fspath
from types import CodeType, FunctionType
from typing import TypeAlias

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
    """The file of the module whose SPEC an object is."""
    for module in tuple(sys.modules.values()):
        names = getattr(module, "__dict__", {})
        if names.get("SPEC") is spec and names.get("__file__"):
            return str(names["__file__"])
    called = f"the EnvSpec {spec.name!r}" if spec.name else "this EnvSpec"
    raise SpecError(
        f"{called} is the SPEC of no file, and environments run in processes that import it from"
        " one; write it to a file that ends with SPEC = EnvSpec(...) (in a notebook, begin its cell"
        " with %%writefile my_task.py), and give the file's name"
    )


def _difference(a: EnvSpec, b: EnvSpec) -> str:
    """The first part in which two specs differ; empty where they are the same."""
    for f in dataclasses.fields(EnvSpec):
        left, right = getattr(a, f.name), getattr(b, f.name)
        if f.name in _FILLED and not left:
            continue
        if not _same(left, right):
            return f.name
    return ""


def _same(a: object, b: object) -> bool:
    """Whether two parts are the same, though imported at different times."""
    if isinstance(a, FunctionType) and isinstance(b, FunctionType):
        return _same(_about(a), _about(b))
    if isinstance(a, type) and isinstance(b, type):
        return _same(_fields(a), _fields(b))
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, CodeType | str | int | float | None):
        return a == b
    return type(a).__qualname__ == type(b).__qualname__ and _same(_state(a), _state(b))


def _about(function: FunctionType) -> tuple[object, ...]:
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    return (function.__code__, function.__defaults__, function.__kwdefaults__, cells)


def _fields(kind: type) -> tuple[object, ...]:
    """What of a class its author writes down."""
    written = (Field, FunctionType, str, int, float)
    own = {k: v for k, v in vars(kind).items() if k != "__module__" and isinstance(v, written)}
    return (kind.__qualname__, own)


def _state(value: object) -> object:
    return getattr(value, "__dict__", None) or repr(value)
