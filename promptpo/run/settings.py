"""The settings of a run: from options, TOML files, presets and recordings, or as a run wrote them.

Layers of settings are plain dictionaries. A method's own options stand in them beside the others.
"""

from __future__ import annotations

import contextlib
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from promptpo import config
from promptpo.common.files import NotText, read_text
from promptpo.common.plaintext import shown, unknown_name
from promptpo.config import PlaySettings, RunConfig, Setting, flat
from promptpo.errors import ModelError, RunError, UsageError
from promptpo.methods import OWN_METHODS, check_tunes, find_method, method_names
from promptpo.presets import PRESETS
from promptpo.version import __version__

if TYPE_CHECKING:
    from promptpo.store.folder import RunFolder

#: Options that PromptPO no longer has, and the values that switched them off; None: any value did.
REMOVED: Mapping[str, Any] = {
    "without_reflection": 0,
    "critic": "off",
    "critic_shows": None,
    "critic_tokens": None,
    "pairwise": False,
}


def fields(method: str = RunConfig.method) -> dict[str, Setting]:
    """Return the settings of a run with a method, the method's own last, by name."""
    return {**config.fields(RunConfig), **config.fields(find_method(method).Options)}


def preset(name: object) -> Mapping[str, Any]:
    """Return the values of a preset. Raises UsageError, naming the nearest, where there is none."""
    if not isinstance(name, str) or name not in PRESETS:
        raise UsageError(unknown_name("preset", name, PRESETS))
    return PRESETS[name]


def all_settings() -> dict[str, Setting]:
    """Return every setting, and every option of the methods here."""
    declared = dict(config.fields(RunConfig))
    for method in OWN_METHODS:
        declared |= {**config.fields(find_method(method).Options), **declared}
    return declared


def merge(*layers: Mapping[str, Any], method: str = RunConfig.method) -> dict[str, Any]:
    """Return what is given in layers of settings, later ones winning; None is nothing.

    Of a layer's ``methods`` (from the tables of a TOML file) those of the chosen method count, and
    stand beside the rest; ``method`` is the one where none is named. Raises UsageError.
    """
    stated = [{k: v for k, v in flat(layer).items() if v is not None} for layer in layers]
    method = next((g["method"] for g in reversed(stated) if "method" in g), method)
    config.fields(RunConfig)["method"].check(method)
    merged: dict[str, Any] = {}
    for each in stated:
        merged.update(each.pop("methods", {}).get(method, {}))
        merged.update(each)
    return merged


def build(*layers: Mapping[str, Any], below: Mapping[str, Any] = MappingProxyType({})) -> RunConfig:
    """Return a RunConfig from layers of settings, merged.

    A ``preset`` that a layer names stands below all of them, ``below`` stands below that, and the
    method's own defaults below ``below``; what the method does not know of these is passed over.
    To a method with defaults of its own, these are the preset ``paper``. Raises UsageError.
    """
    merged = merge(*layers, method=below.get("method", RunConfig.method))
    method = merged.setdefault("method", below.get("method", RunConfig.method))
    named = merged.pop("preset", None)
    chosen = find_method(method)
    usual, fixed = {**chosen.defaults, **chosen.fixed}, chosen.fixed
    shared, own = config.fields(RunConfig), config.fields(find_method(method).Options)
    values = preset(named) if named is not None else {}
    if named == "paper" and usual:  # what it says of options is of another paper
        values = {**{k: v for k, v in values.items() if k in shared}, **usual}
    values = {**values, **fixed}
    if unknown := merged.keys() - shared.keys() - own.keys():
        raise UsageError(_unknown_setting(min(unknown), method))
    for name, value in fixed.items():
        if merged.get(name, value) != value:
            raise UsageError(f"{name} is {value} with the method {method}; leave it out")
    lowest = {**usual, **below, **values}
    merged = {**{k: v for k, v in lowest.items() if k in shared or k in own}, **merged}
    options = {name: merged.pop(name) for name in own if name in merged}
    for name, value in options.items():
        own[name].check(value)
    if not find_method(method).needs_model:
        merged["model"] = None  # such as one that the environment names
    return RunConfig(**merged, options=find_method(method).Options(**options))


def owners_of(name: str) -> str:
    """Return the methods that have an option, ``props, r2po``; empty where none has."""
    owners = []
    for method in method_names():
        with contextlib.suppress(UsageError):  # of a package that cannot be imported
            if name in config.fields(find_method(method).Options):
                owners.append(method)
    return ", ".join(owners)


def _unknown_setting(name: str, method: str) -> str:
    if owners := owners_of(name):
        return f"{name} is an option of the method {owners}, not of {method}"
    return unknown_name("setting", name, fields(method))


def configure(*layers: Mapping[str, Any], needs_model: bool = True) -> RunConfig:
    """Return settings from layers, later ones winning, with the model settled.

    Below the layers and their preset stand the spec's own target and, where replies are replayed,
    the settings that the recording was made with; ``builtin`` tunes by default. Raises UsageError,
    SpecError or ModelError; without ``needs_model``, or with a method that asks none, the model
    may stay None.
    """
    from promptpo.llm import NO_RECORDING, default_model
    from promptpo.llm.messages import BUILTIN
    from promptpo.llm.recording import RecordingHeader, load_header
    from promptpo.spec import load_spec

    first = build(*layers)
    method = find_method(first.method)
    if first.tune:
        check_tunes(first.method)
    spec = load_spec(first.spec, published=first.published_prompt, limit=first.env_timeout)
    if not method.needs_model:
        return build(*layers, below={"target": spec.target})
    try:
        model = first.model or default_model(
            spec.name,
            os.environ,
            first.method,
            only=not method.asks_for_policies,
        )
    except ModelError:
        if needs_model:
            raise
        return build(*layers, below={"target": spec.target})
    recording = recording_path(model, spec.name, first.method)
    if model == "recorded" and recording is None:
        raise ModelError(NO_RECORDING)
    header = load_header(recording) if recording else None
    recorded = (header or RecordingHeader({})).settings if recording else {}
    below = {"target": spec.target} | without_removed(flat(recorded))
    if not method.tunes:
        below["tune"] = False
    if model == BUILTIN and not method.asks_for_policies:
        raise UsageError(
            f"--model {BUILTIN} writes policies, and --method {first.method} asks for parameters;"
            " name a language model"
        )
    if model == BUILTIN:  # its structures are nothing without their numbers
        below["tune"] = method.tunes
    return build(*layers, {"model": model}, below=below)


def recording_path(model: str, spec_name: str, method: str) -> Path | None:
    """Return the file that a model of this name replays; None for one that replays nothing."""
    if model == "recorded":
        from promptpo.llm.recording import find_recording

        return find_recording(spec_name, method, only=not find_method(method).asks_for_policies)
    return Path(model.partition(":")[2]) if model.startswith("recorded:") else None


def load_toml(path: Path) -> dict[str, Any]:
    """Return settings from a TOML file; keys may be spelled with dashes or underscores.

    Raises UsageError, with file and line, for a file that cannot be read, for a key that does not
    exist, naming the nearest one that does, and for a value that does not fit.
    """
    text, table = read_toml(path, "give --config a TOML file")
    names, declared = method_names(), {**all_settings(), "preset": None}
    settings = {key: value for key, value in table.items() if key not in names}
    settings = _checked(path, text, settings, declared, "key", [*declared, *names])
    settings["methods"] = {}
    for method in table.keys() & names:
        line = line_of(text, method)
        if not isinstance(table[method], dict):
            what = f"{method} is a method: write its options below [{method}]"
            raise UsageError(f"{path}:{line}: {what}")
        own = config.fields(find_method(method).Options)
        options = _checked(path, text, table[method], own, f"option of {method}", own, line)
        settings["methods"][method] = options
    return settings


def _checked(
    path: Path,
    text: str,
    table: Mapping[str, Any],
    declared: Mapping[str, Setting | None],
    what: str,
    names: Iterable[str],
    after: int = 0,
) -> dict[str, Any]:
    """Return the settings in a table; errors call a key ``what`` and suggest ``names``."""
    settings: dict[str, Any] = {}
    for key, value in table.items():
        name, where = key.replace("-", "_"), f"{path}:{line_of(text, key, after)}"
        if name not in declared:
            raise UsageError(f"{where}: {unknown_name(what, key, names)}")
        if name in settings:
            raise UsageError(f"{where}: '{key}' is given twice; leave one of them out")
        check_key(where, name, declared[name], value)
        settings[name] = value
    return settings


def read_toml(path: Path, remedy: str) -> tuple[str, dict[str, Any]]:
    """Return text and table of a TOML file.

    Raises UsageError; ``remedy`` is for a file that is not there.
    """
    try:
        text = read_text(path)
        return text, tomllib.loads(text)
    except OSError as e:
        raise UsageError(f"{path}: {e.strerror or e}; {remedy}") from None
    except NotText as e:
        raise UsageError(str(e)) from None
    except RecursionError:
        raise UsageError(f"{path}: not valid TOML: nested too deeply") from None
    except ValueError as e:
        what, place = str(e), re.search(r" \(at line (\d+), column (\d+)\)$", str(e))
        if place is None:
            raise UsageError(f"{path}: not valid TOML: {what}") from None
        what = f"{what[: place.start()]} (column {place[2]})"
        raise UsageError(f"{path}:{place[1]}: not valid TOML: {what}") from None


def check_key(where: str, name: str, setting: Setting | None, value: object) -> None:
    """Raise UsageError, with the place in the file, for a value that a setting may not have.

    ``setting`` is None for the preset.
    """
    if isinstance(value, dict):
        what = f"{name} is a setting, not a table; write {name} = VALUE above all tables"
        raise UsageError(f"{where}: {what}")
    try:
        if setting is None:
            preset(value)
        else:
            setting.check(value)
        if name == "method":
            find_method(str(value))
    except UsageError as e:
        raise UsageError(f"{where}: {e}") from None


def line_of(text: str, key: str, after: int = 0) -> int:
    """Return the line below ``after`` on which a key stands; ``after`` where it has escapes."""
    spelled = rf"""[ \t]*(?:\[[ \t]*)*["']?{re.escape(key)}["']?[ \t]*(?:[=.\]]|$)"""
    for number, line in enumerate(text.split("\n"), 1):
        if number > after and re.match(spelled, line):
            return number
    return max(after, 1)


def settings_of(folder: RunFolder, *, resuming: bool = False) -> dict[str, Any]:
    """Return the settings of a run: those of its start, or of the last time it was resumed.

    Options that no longer exist are left out. Raises RunError with ``resuming`` where one was in
    use, and where neither the log nor ``run.json`` can be read, or this version does not know what
    they say.
    """
    from promptpo.store.events import read_log

    log = read_log(folder.events)
    records = [
        (f"{folder.events}:{number}", event.data)
        for number, event in zip(log.good, log.events, strict=True)
        if event.type in ("run", "resumed")
    ]
    if not records:
        with contextlib.suppress(RunError):
            records = [(str(folder.path / "run.json"), folder.read_info())]
    where, data = records[-1] if records else ("", {})
    if not data.get("config"):
        raise log.unbegun(folder.events)
    try:
        return _stored(data["config"], resuming=resuming)
    except UsageError as e:
        versions = records[0][1].get("versions")
        by = versions.get("promptpo") if isinstance(versions, Mapping) else None
        raise RunError(
            f"{where}: {e}; this run was written by promptpo {by or '(unknown)'}, and this is"
            f" {__version__}: use that version, or start a new run"
        ) from None


def _stored(stored: object, *, resuming: bool) -> dict[str, Any]:
    """Return settings that a run has written down. Raises UsageError for what is none.

    Values that may change when the run is resumed are not checked: an option can replace them.
    """
    from promptpo.llm.recording import FORMERLY

    if not isinstance(stored, Mapping) or not isinstance(stored.get("options") or {}, Mapping):
        raise UsageError(f"no settings, but {shown(stored)}")
    settings = {**FORMERLY, "smallest_difference": 0, **flat(stored)}
    if resuming and (removed := removed_from(settings)):
        raise UsageError(f"there is no {' and no '.join(removed)} any more")
    settings = without_removed(settings)
    method = settings.get("method", RunConfig.method)
    config.fields(RunConfig)["method"].check(method)
    declared = fields(method)
    for name, value in settings.items():
        if name not in declared:
            raise UsageError(unknown_name("setting", str(name), declared))
        if not declared[name].resumable:
            declared[name].check(value)
    return settings


def removed_from(settings: Mapping[str, Any]) -> list[str]:
    """Return the options in use in a run's settings that PromptPO no longer has."""
    used = [
        f"--{name.replace('_', '-')}"
        for name, off in REMOVED.items()
        if off is not None and settings.get(name, off) != off
    ]
    return used + ["--history optimizer"] * (settings.get("history") == "optimizer")


def without_removed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return a run's settings without those that PromptPO no longer has."""
    removed = {"history"} if settings.get("history") == "optimizer" else set()
    return {k: v for k, v in settings.items() if k not in removed and k not in REMOVED}


def resumed_config(folder: Path, overrides: dict[str, Any]) -> RunConfig:
    """Return the settings of an earlier run, those that may change replaced by ``overrides``.

    Raises UsageError where a setting is given that shaped what the run has already done.
    """
    from promptpo.store.folder import RunFolder

    stored = settings_of(RunFolder.open(folder), resuming=True)
    changed = changes(stored, overrides, "run")
    return build(stored, changed)


def changes(stored: Mapping[str, Any], overrides: Mapping[str, Any], what: str) -> dict[str, Any]:
    """Return what ``overrides`` change of the settings of a run or sweep (``what``) that goes on.

    Raises UsageError for a setting that cannot change any more.
    """
    method = str(stored.get("method", RunConfig.method))
    overrides = merge(overrides, method=method)
    declared = fields(method)
    changed = {k: v for k, v in overrides.items() if stored.get(k) != v}
    for name, value in changed.items():
        if name not in declared or not declared[name].resumable:
            was = f" (it was {stored[name]})" if name in stored else ""
            spelled = declared[name].flag if name in declared else f"--{name}"
            free = ", ".join(s.flag for s in declared.values() if s.resumable)
            raise UsageError(
                f"{spelled} cannot change when a {what} is resumed{was}; leave it out or start a"
                f" new {what}; what may change: {free}"
            )
        declared[name].check(value)
    return changed


def play_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a run that count where its policy is played again, on any machine."""
    machine = {"executor", "ray_address"}
    if settings.get("executor") == "ray" or settings.get("ray_address"):
        machine.add("workers")
    return {k: v for k, v in settings.items() if k in config.fields(PlaySettings).keys() - machine}
