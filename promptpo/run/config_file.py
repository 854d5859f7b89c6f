"""Settings from a TOML file."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from promptpo.common.files import NotText, read_text
from promptpo.common.values import unknown_name
from promptpo.config import RunConfig, check_setting, fields
from promptpo.errors import UsageError
from promptpo.methods import find_method, method_names
from promptpo.run.options import all_options, preset


def load_toml(path: Path) -> dict[str, Any]:
    """Settings from a TOML file; keys may be spelled with dashes or underscores.

    Raises UsageError, with file and line, for a file that cannot be read, for a key that does not
    exist, naming the nearest one that does, and for a value that does not fit.
    """
    text, table = read_toml(path, "give --config a TOML file")
    settings: dict[str, Any] = {"methods": {}}
    declared, methods = all_options(), method_names()
    for key, value in table.items():
        name, where = key.replace("-", "_"), f"{path}:{line_of(text, key)}"
        if key in methods:
            settings["methods"][key] = _options(path, text, key, value)
            continue
        if name not in declared and name != "preset":
            known = [*declared, "preset", *methods]
            raise UsageError(f"{where}: {unknown_name('key', key, known)}")
        if name in settings:
            raise UsageError(f"{where}: '{key}' is given twice; leave one of them out")
        check_key(where, name, declared.get(name), value)
        settings[name] = value
    return settings


def read_toml(path: Path, remedy: str) -> tuple[str, dict[str, Any]]:
    """Text and table of a TOML file. Raises UsageError; ``remedy`` is for one that is not there."""
    try:
        text = read_text(path)
        return text, tomllib.loads(text)
    except OSError as e:
        raise UsageError(f"{path}: {e.strerror or e}; {remedy}") from None
    except NotText as e:
        raise UsageError(str(e)) from None
    except (ValueError, RecursionError) as e:
        raise UsageError(_no_toml(path, e)) from None


def _options(path: Path, text: str, method: str, table: object) -> dict[str, Any]:
    """The options of a method, from the table that bears its name."""
    line = line_of(text, method)
    if not isinstance(table, dict):
        what = f"{method} is a method: write its options below [{method}]"
        raise UsageError(f"{path}:{line}: {what}")
    declared = find_method(method).Options
    found: dict[str, Any] = {}
    for key, value in table.items():
        name, where = key.replace("-", "_"), f"{path}:{line_of(text, key, line)}"
        if name not in fields(declared):
            raise UsageError(
                f"{where}: {unknown_name(f'option of {method}', key, fields(declared))}"
            )
        if name in found:
            raise UsageError(f"{where}: '{key}' is given twice; leave one of them out")
        check_key(where, name, declared, value)
        found[name] = value
    return found


def check_key(where: str, name: str, kind: type | None, value: object) -> None:
    """Raise UsageError, with the place in the file, for a value that a setting may not have.

    ``kind`` is what declares it, as ``all_options`` says; None: it is the preset.
    """
    if isinstance(value, dict):
        what = f"{name} is a setting, not a table; write {name} = VALUE above all tables"
        raise UsageError(f"{where}: {what}")
    try:
        if kind is None:
            preset(value)
        else:
            check_setting(kind, name, value)
        if kind is RunConfig and name == "method":
            find_method(str(value))
    except UsageError as e:
        raise UsageError(f"{where}: {e}") from None


def _no_toml(path: Path, error: Exception) -> str:
    """What is wrong with a file that is no TOML, on one line, with the line if it is known."""
    if isinstance(error, RecursionError):
        return f"{path}: not valid TOML: nested too deeply"
    said = str(error)
    found = re.search(r" \(at line (\d+), column (\d+)\)$", said)
    if found is None:
        return f"{path}: not valid TOML: {said}"
    return f"{path}:{found[1]}: not valid TOML: {said[: found.start()]} (column {found[2]})"


def line_of(text: str, key: str, after: int = 0) -> int:
    """The line below the one ``after`` on which a key stands; that one where it has escapes."""
    spelled = rf"""[ \t]*(?:\[[ \t]*)*["']?{re.escape(key)}["']?[ \t]*(?:[=.\]]|$)"""
    for number, line in enumerate(text.split("\n"), 1):
        if number > after and re.match(spelled, line):
            return number
    return max(after, 1)
