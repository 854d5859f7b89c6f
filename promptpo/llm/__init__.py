"""Language models: providers by way of litellm, replayed recordings, and people."""

from promptpo.llm.choose import default_model, open_model
from promptpo.llm.extract_code import ReplyRejected, extract_code
from promptpo.llm.prompt_hash import prompt_hash
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
