"""Finds specs by name, path or family; every way to fail is one line with the remedy."""

from __future__ import annotations

import difflib
import inspect
import linecache
import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from promptpo.errors import SpecError
from promptpo.plaintext import clean_line, control_character
from promptpo.spec.authoring.definition import EnvSpec
from promptpo.spec.authoring.published import PUBLISHED, published_form
from promptpo.spec.authoring.source import PartError
from promptpo.spec.loading.families import PREFIX, SHIPPED_FOLDER, Family, families, name_of, split
from promptpo.spec.loading.importing import LIMIT, import_file, import_text, line_of, text_file
from promptpo.spec.loading.validation import check_parts
from promptpo.textfile import NotText, read_source


def shipped_specs() -> list[str]:
    """Names of the specs that come with the package, sorted; imports none of them."""
    return sorted(
        path.stem
        for path in SHIPPED_FOLDER.glob("*.py")
        if not path.stem.startswith(PREFIX)
        and re.search(r"^SPEC\b", path.read_text(encoding="utf-8"), re.MULTILINE)
    )


def load_spec(ref: str | Path, *, published: bool = False, limit: float = LIMIT) -> EnvSpec:
    """Import a spec: a path to a Python file, the name of a shipped one, or ``family:member``.

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
    found = _find(ref)
    if isinstance(found, Path):
        text = _text_of(found)
        _check_visible(found, text)
        spec = _checked(import_file(found, limit), str(found), text)
        shipped = found.parent == SHIPPED_FOLDER
        ref = found.stem if shipped else str(found)
        return replace(_named(spec, found.stem), path=found, ref=ref)
    family, member = found
    ref = f"{family.name}:{member}"
    text = family.source(member)
    module = import_text(text, ref, name_of(ref), SHIPPED_FOLDER)
    return replace(_named(_checked(module, ref, text), name_of(ref)), ref=ref)


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
    told = module.__doc__ or ""
    if not isinstance(told, str):
        kind = type(told).__name__
        raise SpecError(f"{where}: __doc__ is a {kind}; let a docstring be the file's first line")
    title, _, rest = inspect.cleandoc(told).partition("\n")
    return replace(
        spec, title=spec.title or title.strip(), description=spec.description or rest.strip()
    )


def _named(spec: EnvSpec, name: str) -> EnvSpec:
    return replace(spec, name=spec.name or name, title=spec.title or name)


def _find(ref: str | Path) -> Path | tuple[Family, str]:
    """Return the file that a reference names, or the family and its member."""
    text = str(ref)
    try:
        path = Path(ref).expanduser()
        if path.is_file():
            if path.suffix != ".py":
                raise SpecError(f"{text}: not a Python file; a spec is a module that defines SPEC")
            return path.resolve()
    except (OSError, RuntimeError) as error:  # a name too long, no such user's home
        raise SpecError(f"{text:.100}: no spec can be called that ({error})") from None
    shipped = shipped_specs()
    if text in shipped:
        return SHIPPED_FOLDER / f"{text}.py"
    if found := split(text):
        family, member = found
        own = family.shipped(member)
        return SHIPPED_FOLDER / f"{own}.py" if own else found
    if path.is_dir():
        raise SpecError(
            f"{text}: is a folder; name one spec file in it, or one of {_some(shipped)}"
        )
    near = difflib.get_close_matches(path.stem, shipped, n=3, cutoff=0.5)
    known = f"shipped specs: {_some(shipped)}; families: {_some([f.name for f in families()])}"
    hint = f"did you mean {_some(near)}?" if near else known
    kind = "file" if path.suffix or len(path.parts) > 1 else "spec file or shipped spec"
    raise SpecError(f"{text}: no such {kind}; {hint}")


def _some(names: list[str]) -> str:
    return ", ".join(names)
