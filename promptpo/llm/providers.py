"""What each provider needs in the environment, known without importing litellm (4 s)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from urllib.parse import urlsplit, urlunsplit

from promptpo.errors import ModelError, UsageError

#: Any one of these variables holds a provider's key; an empty tuple: no key is needed.
KEYS: Mapping[str, tuple[str, ...]] = {
    "openai": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "mistral": ("MISTRAL_API_KEY",),
    "groq": ("GROQ_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "xai": ("XAI_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY", "OR_API_KEY"),
    "azure": ("AZURE_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_AD_TOKEN", "AZURE_CLIENT_ID"),
    "ollama": (),
    "ollama_chat": (),
}

#: Variables that name a provider's server where ``--api-base`` does not.
BASES: Mapping[str, tuple[str, ...]] = {
    "openai": ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
    "azure": ("AZURE_API_BASE", "AZURE_OPENAI_ENDPOINT"),
    "ollama": ("OLLAMA_API_BASE",),
    "ollama_chat": ("OLLAMA_API_BASE",),
}

EXAMPLES = (
    "--model openai/gpt-5 with OPENAI_API_KEY set, --model ollama/qwen3 for a local server,"
    " --model manual for any chat window, or --model builtin, which needs no language model"
)

#: The same for who asks for what only a language model can answer.
LANGUAGE_MODELS = (
    "--model openai/gpt-5 with OPENAI_API_KEY set, --model ollama/qwen3 for a local server, or"
    " --model manual for any chat window"
)

_BARE_NAMES = {"gpt-": "openai", "chatgpt-": "openai", "claude-": "anthropic"}
_SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$")
_SECRET_TEXT = re.compile(
    r"\b(?:sk|gsk|xai|pk|AIza)[-_A-Za-z0-9]{6,}[*.]*\w*|(?<=[?&]key=)[^&\s'\"]+"
)


def provider_of(name: str) -> str | None:
    """The provider that a model name states, or that a bare well-known name implies."""
    head, slash, _ = name.partition("/")
    if slash:
        return head
    return next((p for prefix, p in _BARE_NAMES.items() if name.startswith(prefix)), None)


def server_of(name: str, api_base: str | None, env: Mapping[str, str] = os.environ) -> str | None:
    """The address of the server, from ``--api-base`` or the environment; None: the provider's."""
    variables = BASES.get(provider_of(name) or "", ())
    return api_base or next((env[v] for v in variables if env.get(v)), None)


def key_missing(name: str, env: Mapping[str, str] = os.environ) -> str | None:
    """The names of the variables of which one must hold a key, or None where nothing is missing.

    None too for a provider that is not in the table: litellm knows it.
    """
    names = KEYS.get(provider_of(name) or "", ())
    if not names or any(env.get(n) for n in names):
        return None
    return " or ".join(names)


def is_free(name: str) -> bool:
    """Whether a model of this name costs nothing: nobody is asked by way of the network."""
    return name in {"", "manual", "recorded", "builtin"} or name.startswith(("recorded:", "file:"))


def check_configured(
    name: str, api_base: str | None = None, env: Mapping[str, str] = os.environ
) -> None:
    """Fail at once, without the network, where a model can be seen not to work.

    Raises UsageError for an address that is no http(s) URL, ModelError for a key that is not set.
    A server of one's own needs no key.
    """
    if is_free(name) and name:
        return
    server = server_of(name, api_base, env)
    if server is not None:
        check_address(server)
    missing = key_missing(name, env)
    if server is None and provider_of(name) == "azure":
        raise ModelError(f"{name}: no address; set AZURE_API_BASE, AZURE_API_VERSION and a key")
    if missing and server is None:
        raise ModelError(f"{name}: no key; set {missing}, or use another model: {EXAMPLES}")


def check_address(address: str) -> None:
    """Raise UsageError unless ``address`` is an http or https URL with a host."""
    try:
        parts = urlsplit(address)
        good = parts.scheme in ("http", "https") and bool(parts.hostname)
        _ = parts.port
    except ValueError:
        good = False
    if not good:
        shown = without_secrets(address)
        raise UsageError(f"{shown}: not a URL; write e.g. --api-base http://localhost:8000/v1")


def without_secrets(text: str, env: Mapping[str, str] = os.environ) -> str:
    """The text with keys, tokens and passwords replaced by ``***``."""
    for name, value in env.items():
        if len(value) >= 6 and _SECRET_NAME.search(name):
            text = text.replace(value, "***")
    text = re.sub(r"(?<=://)[^/@\s]+@", "***@", text)
    return _SECRET_TEXT.sub("***", text)


def shown_address(address: str) -> str:
    """An address for messages: without user, password and query."""
    parts = urlsplit(address)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))
