"""Finds and imports specs; every way to fail is one line with the file, the line, the remedy.

A spec file is imported as a module of a package of its own that stands for its folder, so that
``from . import helper`` finds the modules beside it, two folders with equal names never clash,
and nothing on ``sys.path`` is hidden. ``import helper`` works too: the folder comes last there.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import importlib.util
import inspect
import re
import sys
from dataclasses import fields, replace
from pathlib import Path
from types import ModuleType

from promptpo.errors import SpecError
from promptpo.spec.definition import EnvSpec
from promptpo.spec.source import PartError
from promptpo.spec.trouble import explain
from promptpo.spec.validation import check_parts

#: The package of shipped specs lies beside ``promptpo``, in a clone as in an installed wheel.
SHIPPED_FOLDER = Path(__file__).resolve().parents[2] / "env_specs"


def shipped_specs() -> list[str]:
    """Names of the specs that come with the package, sorted; imports none of them."""
    return sorted(
        path.stem
        for path in SHIPPED_FOLDER.glob("*.py")
        if re.search(r"^SPEC\b", path.read_text(encoding="utf-8"), re.MULTILINE)
    )


def load_spec(ref: str | Path) -> EnvSpec:
    """Import a spec: a path to a Python file, or the name of a shipped one.

    Returns the module's ``SPEC`` with ``name``, ``title``, ``path`` and ``description`` filled.

    Raises:
        SpecError: no such spec, it cannot be imported, or one of its parts is missing or wrong.
    """
    path = _find(ref)
    module = _import(path)
    spec = getattr(module, "SPEC", None)
    if spec is None:
        raise SpecError(f"{path}: no SPEC in this file; end it with SPEC = EnvSpec(make=make, ...)")
    if not isinstance(spec, EnvSpec):
        line = _line_of(path, "")
        raise SpecError(
            f"{path}:{line}: SPEC is a {type(spec).__name__}, not an EnvSpec; "
            "write SPEC = EnvSpec(make=make, ...)"
        )
    try:
        check_parts(spec)
    except PartError as error:
        line = error.line or _line_of(path, error.part)
        raise SpecError(f"{path}:{line}: {error}") from error
    title, _, rest = inspect.cleandoc(module.__doc__ or "").partition("\n")
    return replace(
        spec,
        name=spec.name or path.stem,
        title=spec.title or title.strip() or path.stem,
        description=spec.description or rest.strip(),
        path=path,
    )


def _find(ref: str | Path) -> Path:
    """Return the file that a reference names."""
    text = str(ref)
    path = Path(ref).expanduser()
    if path.is_file():
        if path.suffix != ".py":
            raise SpecError(f"{text}: not a Python file; a spec is a module that defines SPEC")
        return path.resolve()
    shipped = shipped_specs()
    if text in shipped:
        return SHIPPED_FOLDER / f"{text}.py"
    if path.is_dir():
        raise SpecError(
            f"{text}: is a folder; name one spec file in it, or one of {_some(shipped)}"
        )
    near = difflib.get_close_matches(path.stem, shipped, n=3, cutoff=0.5)
    hint = f"did you mean {_some(near)}?" if near else f"shipped specs: {_some(shipped)}"
    kind = "file" if path.suffix or len(path.parts) > 1 else "spec file or shipped spec"
    raise SpecError(f"{text}: no such {kind}; {hint}")


def _some(names: list[str]) -> str:
    return ", ".join(names)


def _import(path: Path) -> ModuleType:
    """Execute a spec file as a fresh module of the package that stands for its folder."""
    folder = str(path.parent)
    # Not a secret: the digest only keeps the packages of different folders apart.
    digest = hashlib.sha1(folder.encode(), usedforsecurity=False).hexdigest()[:10]
    package = f"promptpo_specs_{digest}"
    if package not in sys.modules:
        parent = ModuleType(package, f"Specs and helpers in {folder}")
        parent.__path__ = [folder]
        sys.modules[package] = parent
    if folder not in sys.path:
        sys.path.append(folder)
    name = f"{package}.{path.stem}"
    found = importlib.util.spec_from_file_location(name, path)
    if found is None or found.loader is None:
        raise SpecError(f"{path}: cannot be imported as a Python module")
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module
    try:
        found.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        sys.modules.pop(name, None)
        raise SpecError(_import_message(path, error)) from error
    return module


def _import_message(path: Path, error: BaseException) -> str:
    """Return the line for a spec that raised while it was imported."""
    text = str(error)
    if isinstance(error, TypeError) and "EnvSpec.__init__()" in text:
        where = f"{path}:{_line_of(path, '')}"
        if missing := re.findall(r"'(\w+)'", text.partition("missing")[2]):
            return f"{where}: EnvSpec lacks {', '.join(missing)}; {_meaning(missing[0])}"
        if unknown := re.search(r"unexpected keyword argument '(\w+)'", text):
            names = [item.name for item in fields(EnvSpec)]
            near = difflib.get_close_matches(unknown[1], names, n=1, cutoff=0.0)
            return f"{where}: EnvSpec has no argument {unknown[1]!r}; did you mean {near[0]!r}?"
        return f"{where}: EnvSpec takes keyword arguments only; write EnvSpec(make=make, ...)"
    return ": ".join(explain(error, path))


def _meaning(part: str) -> str:
    """Return the remedy for an argument that is missing: what it is, from the documentation."""
    found = re.search(rf"^\s*{part}: (.+?)(?:\.\s|$)", inspect.getdoc(EnvSpec) or "", re.MULTILINE)
    return f"add {part}=...: {found[1].strip()}" if found else f"add {part}=..."


def _line_of(path: Path, part: str) -> int:
    """Line of an argument in the assignment of SPEC, else of the assignment, else 1."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if not any(isinstance(item, ast.Name) and item.id == "SPEC" for item in targets):
            continue
        value = getattr(node, "value", None)
        if isinstance(value, ast.Call):
            for keyword in value.keywords:
                if keyword.arg == part:
                    return keyword.value.lineno
        return node.lineno
    return 1
