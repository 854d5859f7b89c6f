"""Language models: providers by way of litellm, replayed recordings, and people."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from promptpo.llm.choose import default_model, open_model
    from promptpo.llm.extraction import ReplyRejected, extract_code
    from promptpo.llm.messages import prompt_hash
    from promptpo.llm.providers import check_configured
    from promptpo.llm.recorded_model import ReplyMissing
    from promptpo.llm.recording import (
        Recording,
        RecordingHeader,
        find_recording,
        load_header,
        load_recording,
        recorded_policy_seed,
        reply_event,
    )
    from promptpo.llm.settings import ModelSettings

#: Where each name lives; imported on first use, because some of it is heavy.
_HOMES = {
    "ModelSettings": "promptpo.llm.settings",
    "Recording": "promptpo.llm.recording",
    "RecordingHeader": "promptpo.llm.recording",
    "ReplyMissing": "promptpo.llm.recorded_model",
    "ReplyRejected": "promptpo.llm.extraction",
    "check_configured": "promptpo.llm.providers",
    "default_model": "promptpo.llm.choose",
    "extract_code": "promptpo.llm.extraction",
    "find_recording": "promptpo.llm.recording",
    "load_header": "promptpo.llm.recording",
    "load_recording": "promptpo.llm.recording",
    "open_model": "promptpo.llm.choose",
    "prompt_hash": "promptpo.llm.messages",
    "recorded_policy_seed": "promptpo.llm.recording",
    "reply_event": "promptpo.llm.recording",
}

__all__ = [
    "ModelSettings",
    "Recording",
    "RecordingHeader",
    "ReplyMissing",
    "ReplyRejected",
    "check_configured",
    "default_model",
    "extract_code",
    "find_recording",
    "load_header",
    "load_recording",
    "open_model",
    "prompt_hash",
    "recorded_policy_seed",
    "reply_event",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a module attribute may be anything
    if name not in _HOMES:
        raise AttributeError(f"module 'promptpo.llm' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
