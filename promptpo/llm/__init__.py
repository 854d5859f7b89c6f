"""Language models: providers by way of litellm, recordings, people, and programs.

``open_model`` opens the model that settings name; litellm is imported with its first call.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from promptpo.errors import ModelError
from promptpo.llm.extraction import ReplyRejected, extract_code
from promptpo.llm.messages import BUILTIN, LanguageModel, ModelSettings
from promptpo.llm.providers import EXAMPLES, LANGUAGE_MODELS, check_configured
from promptpo.llm.recording import find_recording
from promptpo.types import Key

__all__ = [
    "NO_RECORDING", "ModelSettings", "ReplyRejected", "check_configured", "default_model",
    "extract_code", "open_model",
]  # fmt: skip

#: The refusal of plain ``recorded`` for a spec without a recording.
NO_RECORDING = (
    f"recorded: this spec has no recording; name one (recorded:RUN_FOLDER), or use {EXAMPLES}"
)


def open_model(settings: ModelSettings) -> LanguageModel:
    """Open the model that ``settings.name`` names.

    An empty name gives a model that raises ModelError when it is asked. Raises ModelError where the
    model is not configured or its recording cannot be read, UsageError for an ``api_base`` that is
    no URL; both without the network.
    """
    from promptpo.llm.local_models import ManualModel, RecordedModel, WrittenModel

    kind, _, path = settings.name.partition(":")
    if not settings.name:
        return WrittenModel("", _refuse)
    if settings.name == "manual":
        return ManualModel(settings.folder, settings.notify, settings.check)
    if kind in (BUILTIN, "file"):
        if settings.write is None:
            raise ModelError(f"{settings.name}: it works within a run, which computes its replies")
        return WrittenModel(settings.name, settings.write)
    if kind == "recorded":
        recording = Path(path) if path else settings.recording
        if recording is None:
            raise ModelError(NO_RECORDING)
        return RecordedModel(settings.name, recording, settings.notify)
    check_configured(settings.name, settings.api_base)
    from promptpo.llm.litellm_model import LiteLLMModel

    return LiteLLMModel(settings)


def _refuse(key: Key) -> str:
    raise ModelError(f"{key}: this method was to ask no language model")


def default_model(
    spec_name: str,
    env: Mapping[str, str] = os.environ,
    method: str = "",
    *,
    only: bool = False,
) -> str:
    """Return the model where none is named: ``$PROMPTPO_MODEL``, else the spec's recording.

    ``method`` and ``only`` are those of ``find_recording``. Raises ModelError, with examples, where
    there is neither.
    """
    if model := env.get("PROMPTPO_MODEL", "").strip():
        return model
    if find_recording(spec_name, method, only=only) is not None:
        return "recorded"
    what = f"recording of --method {method}" if only else "recording"
    examples = LANGUAGE_MODELS if only else EXAMPLES
    raise ModelError(
        f"no language model is configured, and {spec_name} has no {what} to replay; use {examples}"
    )
