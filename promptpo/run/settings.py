"""The settings of a run: from what is given and what a recording says, or as a run wrote them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from promptpo import config
from promptpo.common.values import shown, unknown_name
from promptpo.config import RunConfig, flat
from promptpo.errors import ModelError, RunError, UsageError
from promptpo.llm import NO_RECORDING, default_model
from promptpo.llm.messages import BUILTIN
from promptpo.llm.recording import BEFORE_PREPARE, RecordingHeader, find_recording, load_header
from promptpo.methods import asks_for_policies, check_tunes, find_method, tunes
from promptpo.run.options import build, fields, flag, kind_of, removed_from, without_removed
from promptpo.spec import load_spec
from promptpo.store.events import read_log
from promptpo.store.folder import RunFolder
from promptpo.version import __version__


def configure(*layers: Mapping[str, Any], needs_model: bool = True) -> RunConfig:
    """Settings from layers, later ones winning, with the model settled.

    Below the layers and their preset stand the spec's own target and, where replies are replayed,
    the settings that the recording was made with; ``builtin`` tunes by default. Raises UsageError,
    SpecError or ModelError; without ``needs_model``, or with a method that asks none, the model
    may stay None.
    """
    first = build(*layers)
    if first.tune:
        check_tunes(first.method)
    spec = load_spec(first.spec, published=first.published_prompt, limit=first.env_timeout)
    if not find_method(first.method).needs_model:
        return build(*layers, below={"target": spec.target})
    try:
        model = first.model or default_model(
            spec.name, os.environ, first.method, only=not asks_for_policies(first.method)
        )
    except ModelError:
        if needs_model:
            raise
        return build(*layers, below={"target": spec.target})
    recording = recording_path(model, spec.name, first.method)
    if model == "recorded" and recording is None:
        raise ModelError(NO_RECORDING)
    header = load_header(recording) if recording else None
    told = (header or RecordingHeader({})).settings if recording else {}
    below = {"target": spec.target} | without_removed(flat(told))
    if not tunes(first.method):
        below["tune"] = False
    if model == BUILTIN and not asks_for_policies(first.method):
        raise UsageError(
            f"--model {BUILTIN} writes policies, and --method {first.method} asks for parameters;"
            " name a language model"
        )
    if model == BUILTIN:  # its structures are nothing without their numbers
        below["tune"] = tunes(first.method)
    return build(*layers, {"model": model}, below=below)


def settings_of(folder: RunFolder, *, resuming: bool = False) -> dict[str, Any]:
    """The settings that a run goes by: those of its start, or of the last time it was resumed.

    Options that are gone are left out. Raises RunError with ``resuming`` where one was in use, and
    where neither its log nor its ``run.json`` tells, or where they tell what this
    version does not know.
    """
    found = read_log(folder.events)
    told = [
        (f"{folder.events}:{number}", event.data)
        for number, event in zip(found.good, found.events, strict=True)
        if event.type in ("run", "resumed")
    ]
    if not told:
        with contextlib.suppress(RunError):
            told = [(str(folder.path / "run.json"), folder.read_info())]
    where, data = told[-1] if told else ("", {})
    if not data.get("config"):
        raise RunError(f"{folder.events}: no run is recorded in it; start a new one")
    try:
        return _stored(data["config"], resuming=resuming)
    except UsageError as e:
        versions = told[0][1].get("versions")
        by = versions.get("promptpo") if isinstance(versions, Mapping) else None
        raise RunError(
            f"{where}: {e}; this run was written by promptpo {by or '(unknown)'}, and this is"
            f" {__version__}: use that version, or start a new run"
        ) from None


def resumed_config(folder: Path, given: dict[str, Any]) -> RunConfig:
    """The settings of an earlier run, with those that may change replaced by ``given``.

    Raises UsageError where a setting is given that shaped what the run has already done.
    """
    run = RunFolder.open(folder)
    stored = settings_of(run, resuming=True)
    method = str(stored.get("method", RunConfig.method))
    known = fields(method)
    given = {**given.get("methods", {}).get(method, {}), **given}
    given.pop("methods", None)
    changed = {k: v for k, v in given.items() if v is not None and stored.get(k) != v}
    for name in changed:
        if name not in known or not known[name].metadata["resumable"]:
            was = f" (it was {stored[name]})" if name in stored else ""
            spelled = flag(name, method) if name in known else f"--{name}"
            free = ", ".join(flag(n, method) for n, f in known.items() if f.metadata["resumable"])
            raise UsageError(
                f"{spelled} cannot change when a run is resumed{was}; leave it out or start a"
                f" new run; what may change: {free}"
            )
    return build(stored, changed)


def _stored(stored: object, *, resuming: bool) -> dict[str, Any]:
    """Settings that a run has written down. Raises UsageError for what is none.

    Values that may change when the run is resumed are not looked at: an option can replace them.
    """
    if not isinstance(stored, Mapping) or not isinstance(stored.get("options") or {}, Mapping):
        raise UsageError(f"no settings, but {shown(stored)}")
    settings = {**BEFORE_PREPARE, **flat(stored)}
    if resuming and (gone := removed_from(settings)):
        raise UsageError(f"there is no {' and no '.join(gone)} any more")
    settings = without_removed(settings)
    method = settings.get("method", RunConfig.method)
    config.check_setting(RunConfig, "method", method)
    known = fields(method)
    for name, value in settings.items():
        if name not in known:
            raise UsageError(unknown_name("setting", str(name), known))
        if not known[name].metadata["resumable"]:
            config.check_setting(kind_of(name, method), name, value)
    return settings


def recording_path(model: str, spec_name: str, method: str) -> Path | None:
    """The file that a model of this name replays; None for one that replays nothing."""
    if model == "recorded":
        return find_recording(spec_name, method, only=not asks_for_policies(method))
    return Path(model.partition(":")[2]) if model.startswith("recorded:") else None
