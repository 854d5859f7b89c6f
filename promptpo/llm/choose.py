"""Which language model a run talks to."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from promptpo.errors import ModelError
from promptpo.llm.manual_model import ManualModel
from promptpo.llm.messages import LanguageModel, Reply, Request
from promptpo.llm.providers import EXAMPLES, LANGUAGE_MODELS, check_configured
from promptpo.llm.recorded_model import RecordedModel
from promptpo.llm.recording import find_recording
from promptpo.llm.settings import BUILTIN, ModelSettings
from promptpo.llm.written_model import WrittenModel


class NoModel:
    """What a method that asks no model is given."""

    name = ""

    async def ask(self, request: Request) -> Reply:
        """Raise ModelError."""
        raise ModelError(f"{request.key}: this method was to ask no language model")

    async def close(self) -> None:
        """Nothing is open."""


def open_model(settings: ModelSettings) -> LanguageModel:
    """The model that ``settings.name`` names.

    Raises ModelError where it is not configured or its recording cannot be read, UsageError for
    an ``api_base`` that is no URL; both without a call to the network.
    """
    if not settings.name:
        return NoModel()
    kind, _, path = settings.name.partition(":")
    if settings.name == "manual":
        return ManualModel(settings.folder, settings.notify, settings.check)
    if kind in (BUILTIN, "file"):
        if settings.write is None:
            raise ModelError(f"{settings.name}: it works within a run, which has what it writes")
        return WrittenModel(settings.name, settings.write)
    if kind == "recorded":
        recording = Path(path) if path else settings.recording
        if recording is None:
            raise ModelError(
                "recorded: this spec has no recording; name one (recorded:RUN_FOLDER), or use"
                f" {EXAMPLES}"
            )
        return RecordedModel(settings.name, recording, settings.notify)
    check_configured(settings.name, settings.api_base)
    from promptpo.llm.litellm_model import LiteLLMModel

    return LiteLLMModel(settings)


def default_model(
    spec_name: str,
    env: Mapping[str, str] = os.environ,
    method: str = "",
    *,
    only: bool = False,
) -> str:
    """The model where none is named: ``$PROMPTPO_MODEL``, else the spec's recording.

    ``method`` and ``only`` are those of ``find_recording``.

    Raises ModelError, with examples, where there is neither.
    """
    if named := env.get("PROMPTPO_MODEL", "").strip():
        return named
    if find_recording(spec_name, method, only=only) is not None:
        return "recorded"
    what = f"recording of --method {method}" if only else "recording"
    examples = LANGUAGE_MODELS if only else EXAMPLES
    raise ModelError(
        f"no language model is configured, and {spec_name} has no {what} to replay; use {examples}"
    )
