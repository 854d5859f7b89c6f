"""Loads specs; every way to fail is one line with the remedy."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import linecache
import math
import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import TypeAlias

from promptpo.common.files import NotText, read_source
from promptpo.common.plaintext import clean_line, control_character
from promptpo.errors import SpecError
from promptpo.spec.calls import CALL, IMPORT, activity
from promptpo.spec.catalog import Member, find, name_of
from promptpo.spec.definition import EnvSpec, Field
from promptpo.spec.importing import (
    LIMIT,
    import_file,
    import_text,
    line_of,
    spec_assignment,
    text_file,
)
from promptpo.spec.source import PartError
from promptpo.spec.validation import PUBLISHED, check_parts, published_form


def load_spec(ref: str | Path, *, published: bool = False, limit: float = LIMIT) -> EnvSpec:
    """Import a spec: a file's path, the name of a shipped or installed one, or ``family:member``.

    Returns the module's ``SPEC`` with ``name``, ``title``, ``path``, ``ref`` and ``description``
    filled; with ``published``, or where the reference ends with ``@published``, its published form.
    A spec that tells no more than is published is its own published form. ``limit`` is the seconds
    that the import may take.

    Raises:
        SpecError: no such spec, it cannot be imported, or one of its parts is missing or wrong.
    """
    plain = str(ref).removesuffix(PUBLISHED)
    entry = find(plain)
    try:
        if isinstance(entry, Member):
            path, name, origin, where = None, name_of(entry.ref), entry.family.origin, entry.ref
            text = entry.family.source(entry.name)
            module = import_text(text, entry.ref, name, entry.family.package)
        else:
            path, name, origin, where = entry.path, entry.name, entry.origin, str(entry.path)
            text = _text_of(entry.path)
            _check_visible(entry.path, text)
            module = import_file(entry.path, limit, entry.module)
        spec = _checked(module, where, text)
    except SpecError as error:
        if not origin:
            raise
        raise SpecError(f"{error} (installed by {origin})") from error
    title = spec.title or spec.name or name
    spec = replace(spec, name=spec.name or name, title=title, path=path, ref=entry.ref)
    return published_form(spec) if published or plain != str(ref) else spec


def spec_text(spec: EnvSpec) -> str:
    """Return the text of the module that a loaded spec came from."""
    if spec.path is not None:
        return _text_of(spec.path)
    return "".join(linecache.getlines(text_file(spec.ref.removesuffix(PUBLISHED))))


def _text_of(path: Path) -> str:
    try:
        return read_source(path)
    except NotText as error:
        raise SpecError(str(error)) from None
    except OSError as error:
        raise SpecError(f"{path}: cannot be read ({error.strerror})") from None


def _check_visible(path: Path, text: str) -> None:
    """Raise SpecError where a reader of the file, or of its name, does not see what it holds."""
    name = clean_line(path.name)
    if name != path.name:
        raise SpecError(f"{name}: the file's name holds a control character; rename it")
    if character := control_character(text):
        raise SpecError(
            f"{path}:{character[0]}: the control character {character[1]}, which a reader does not"
            " see; leave it out, or write it as an escape in a string"
        )


def _checked(module: ModuleType, where: str, text: str) -> EnvSpec:
    """Return the SPEC of a module, title and description filled, or raise what is wrong with it."""
    spec = getattr(module, "SPEC", None)
    if spec is None:
        raise SpecError(
            f"{where}: no SPEC in this file; end it with SPEC = EnvSpec(make=make, ...)"
        )
    if not isinstance(spec, EnvSpec):
        raise SpecError(
            f"{where}:{line_of(text, '')}: SPEC is a {type(spec).__name__}, not an EnvSpec; "
            "write SPEC = EnvSpec(make=make, ...)"
        )
    try:
        check_parts(spec)
        check_parts(published_form(spec))
    except PartError as error:
        line = error.line or line_of(text, error.part)
        raise SpecError(f"{where}:{line}: {error}") from error
    docstring = module.__doc__ or ""
    if not isinstance(docstring, str):
        kind = type(docstring).__name__
        raise SpecError(f"{where}: __doc__ is a {kind}; let a docstring be the file's first line")
    title, _, rest = inspect.cleandoc(docstring).partition("\n")
    return replace(
        spec, title=spec.title or title.strip(), description=spec.description or rest.strip()
    )


# --- Objects --------------------------------------------------------------------------------------

#: A spec as callers may give it: a file, a name, ``family:member``, or the object.
SpecLike: TypeAlias = str | PathLike[str] | EnvSpec

#: What ``load_spec`` fills in where the author has not.
_FILLED = ("name", "title", "description", "path", "ref")

#: What of a class its author writes down; Python adds more.
_WRITTEN = (Field, FunctionType, staticmethod, classmethod, property, type, str, int, float)

#: What partials, properties and methods are made of.
_WRAPPED = ("func", "args", "keywords", "fget", "fset", "__func__", "__self__")


def loaded_spec(spec: SpecLike, *, published: bool = False, limit: float = LIMIT) -> EnvSpec:
    """Return the loaded spec that a file, a name or an object stands for.

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
    loaded = load_spec(where, limit=limit)
    if part := _difference(spec, loaded):
        raise SpecError(
            f"{where}: this EnvSpec is not the SPEC that is there now (its {part} differs); load it"
            " again with promptpo.load_spec, or give a variant a file of its own"
        )
    return published_form(loaded) if published else loaded


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
        node = spec_assignment(read_source(Path(file)))
    except (OSError, NotText, SyntaxError):
        return False
    return node is not None and not isinstance(node.value, ast.Name | ast.Attribute)


def _difference(a: EnvSpec, b: EnvSpec) -> str:
    """Return the first part in which two specs differ; empty where they are the same."""
    for f in dataclasses.fields(EnvSpec):
        left, right = getattr(a, f.name), getattr(b, f.name)
        if not (f.name in _FILLED and not left) and not _same(left, right):
            return f.name
    return ""


def _same(a: object, b: object) -> bool:
    """Return whether two parts are the same, though imported at different times."""
    # Pairs so far: a class refers to itself. They are kept, so that no other object gets their ids.
    compared: dict[tuple[int, int], object] = {}
    todo: list[tuple[object, object]] = [(a, b)]
    while todo:
        a, b = todo.pop()
        if a is b or (id(a), id(b)) in compared:
            continue
        compared[id(a), id(b)] = a, b
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            if set(a) != set(b):
                return False
            todo += [(a[key], b[key]) for key in a]
        elif isinstance(a, tuple | list) and isinstance(b, tuple | list):
            if len(a) != len(b):
                return False
            todo += zip(a, b, strict=True)
        elif isinstance(a, CodeType | str | int | float):
            if a != b and not (_is_nan(a) and _is_nan(b)):
                return False
        elif type(a).__qualname__ != type(b).__qualname__:
            return False
        else:
            todo.append((_state(a), _state(b)))
    return True


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _state(value: object) -> object:
    """Return what tells a value from another of its type."""
    if isinstance(value, FunctionType):
        cells = [getattr(cell, "cell_contents", None) for cell in value.__closure__ or ()]
        return (value.__code__, value.__defaults__, value.__kwdefaults__, cells)
    if isinstance(value, type):
        own = {k: v for k, v in vars(value).items() if isinstance(v, _WRITTEN)}
        return (value.__qualname__, value.__bases__, {**own, "__module__": ""})
    if isinstance(value, partial | property | MethodType | staticmethod | classmethod):
        return [getattr(value, name, None) for name in _WRAPPED]
    if isinstance(value, ModuleType):  # one beside the spec has a name for each way to import it
        return getattr(value, "__file__", value.__name__)
    if attributes := getattr(value, "__dict__", None):
        return {**attributes, "__module__": ""}  # it differs with the way, too
    plain = type(value).__repr__ is object.__repr__
    return "" if plain else re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))
