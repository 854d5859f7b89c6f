"""The settings of a run: from what is given and what a recording says, or as a run wrote them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from promptpo.config import RunConfig, build, check_setting, fields
from promptpo.config_values import shown, unknown_name
from promptpo.errors import ModelError, RunError, UsageError
from promptpo.llm import default_model, find_recording, load_header
from promptpo.spec import load_spec
from promptpo.store.events import read_log
from promptpo.store.folder import RunFolder
from promptpo.version import __version__


def configure(*layers: Mapping[str, Any], needs_model: bool = True) -> RunConfig:
    """Settings from layers, later ones winning, with the model settled.

    Below the layers and their preset stand the spec's own target and, where replies are replayed,
    the settings that the recording was made with. Raises UsageError, SpecError or ModelError;
    without ``needs_model`` the model stays None where none is configured.
    """
    config = build(*layers)
    spec = load_spec(config.spec, published=config.published_prompt, limit=config.env_timeout)
    try:
        model = config.model or default_model(spec.name, os.environ)
    except ModelError:
        if needs_model:
            raise
        return build(*layers, below={"target": spec.target})
    recording = recording_path(model, spec.name)
    header = load_header(recording) if recording else None
    recorded = ("seed", "rounds", "candidates", "episodes", "published_prompt") if header else ()
    below = {"target": spec.target} | {k: getattr(header, k) for k in recorded}
    return build(*layers, {"model": model}, below=below)


def settings_of(folder: RunFolder) -> dict[str, Any]:
    """The settings that a run goes by: those of its start, or of the last time it was resumed.

    Raises RunError where neither its log nor its ``run.json`` tells, or where they tell what this
    version does not know.
    """
    found = read_log(folder.events)
    told = [
        (f"{folder.events}:{number}", event.data)
        for number, event in zip(found.numbers, found.events, strict=True)
        if event.type in ("run", "resumed")
    ]
    if not told:
        with contextlib.suppress(RunError):
            told = [(str(folder.path / "run.json"), folder.read_info())]
    where, data = told[-1] if told else ("", {})
    if not data.get("config"):
        raise RunError(f"{folder.events}: no run is recorded in it; start a new one")
    try:
        return _stored(data["config"])
    except UsageError as e:
        versions = told[0][1].get("versions")
        by = versions.get("promptpo") if isinstance(versions, Mapping) else None
        raise RunError(
            f"{where}: {e}; this run was written by promptpo {by or '(unknown)'}, and this is"
            f" {__version__}: use that version, or start a new run"
        ) from None


def _stored(stored: object) -> dict[str, Any]:
    """Settings that a run has written down. Raises UsageError for what is none.

    Values that may change when the run is resumed are not looked at: an option can replace them.
    """
    if not isinstance(stored, Mapping):
        raise UsageError(f"no settings, but {shown(stored)}")
    for name, value in stored.items():
        if name not in fields():
            raise UsageError(unknown_name("setting", str(name), fields()))
        if not fields()[name].metadata["resumable"]:
            check_setting(name, value)
    return dict(stored)


def recording_path(model: str, spec_name: str) -> Path | None:
    """The file that a model of this name replays; None for one that replays nothing."""
    if model == "recorded":
        return find_recording(spec_name)
    return Path(model.partition(":")[2]) if model.startswith("recorded:") else None
