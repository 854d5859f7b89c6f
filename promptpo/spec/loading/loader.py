"""Loads specs by name, path or family; every way to fail is one line with the remedy."""

from __future__ import annotations

import contextlib
import inspect
import linecache
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from promptpo.common.files import NotText, read_source
from promptpo.common.plaintext import clean_line, control_character
from promptpo.errors import SpecError
from promptpo.spec.authoring.definition import EnvSpec
from promptpo.spec.authoring.published import PUBLISHED, published_form
from promptpo.spec.authoring.source import PartError
from promptpo.spec.loading.catalog import Entry
from promptpo.spec.loading.families import name_of
from promptpo.spec.loading.finding import Member, find
from promptpo.spec.loading.importing import (
    LIMIT,
    import_file,
    import_text,
    line_of,
    package_of_entry,
    text_file,
)
from promptpo.spec.loading.validation import check_parts


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
    spec = _loaded(plain, limit)
    return published_form(spec) if published or plain != str(ref) else spec


def _loaded(ref: str, limit: float) -> EnvSpec:
    """The spec as its file has it."""
    found = find(ref)
    if isinstance(found, Member):
        return _of_member(found)
    text = _text_of(found.path)
    _check_visible(found.path, text)
    with _naming(found):
        spec = _checked(import_file(found.path, limit, found.module), str(found.path), text)
    return replace(_named(spec, found.name), path=found.path, ref=found.ref)


def _of_member(found: Member) -> EnvSpec:
    """The spec of a family's member, from the text that the family writes."""
    ref, entry = found.ref, found.family.entry
    with _naming(entry):
        text = found.family.source(found.name)
        module = import_text(text, ref, name_of(ref), package_of_entry(entry))
        spec = _checked(module, ref, text)
    return replace(_named(spec, name_of(ref)), ref=ref)


@contextlib.contextmanager
def _naming(entry: Entry) -> Iterator[None]:
    """What is wrong with a spec of an installed package is said with the package's name."""
    try:
        yield
    except SpecError as error:
        if not entry.origin:
            raise
        raise SpecError(f"{error} (installed by {entry.origin})") from error


def spec_text(spec: EnvSpec) -> str:
    """Text of the module that a loaded spec came from."""
    if spec.path is not None:
        return _text_of(spec.path)
    return "".join(linecache.getlines(text_file(spec.ref.removesuffix(PUBLISHED))))


def _check_visible(path: Path, text: str) -> None:
    """Raise SpecError where a reader of the file, or of its name, does not see what it holds."""
    name = clean_line(path.name)
    if name != path.name:
        raise SpecError(f"{name}: the file's name holds a control character; rename it")
    if found := control_character(text):
        line, character = found
        raise SpecError(
            f"{path}:{line}: the control character {character}, which a reader does not see; leave"
            " it out, or write it as an escape in a string"
        )


def _text_of(path: Path) -> str:
    try:
        return read_source(path)
    except NotText as error:
        raise SpecError(str(error)) from None
    except OSError as error:
        raise SpecError(f"{path}: cannot be read ({error.strerror})") from None


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


def _named(spec: EnvSpec, name: str) -> EnvSpec:
    return replace(spec, name=spec.name or name, title=spec.title or name)
