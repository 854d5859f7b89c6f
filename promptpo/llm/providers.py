"""Providers of language models: keys, addresses and prices, without importing litellm (4 s)."""

from __future__ import annotations

import difflib
import functools
import gc
import importlib.util
import json
import logging
import os
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from promptpo.errors import ModelError, UsageError
from promptpo.llm.messages import dollars

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

#: Models that need no key.
_KEYLESS = (
    "--model ollama/qwen3 for a local server, --model manual for any chat window, or --model"
    " builtin, which needs no language model"
)

EXAMPLES = f"--model openai/gpt-5 with OPENAI_API_KEY set, {_KEYLESS}"

#: Examples for methods whose calls only a language model can answer.
LANGUAGE_MODELS = (
    "--model openai/gpt-5 with OPENAI_API_KEY set, --model ollama/qwen3 for a local server, or"
    " --model manual for any chat window"
)

_BARE_NAMES = {"gpt-": "openai", "chatgpt-": "openai", "claude-": "anthropic"}
_SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$")
_SECRET_TEXT = re.compile(
    r"\b(?:sk|gsk|xai|pk|AIza)[-_A-Za-z0-9]{6,}[*.]*\w*|(?<=[?&]key=)[^&\s'\"]+"
)

#: litellm's own price table: the one of the installed version, not a download.
_TABLE = "model_prices_and_context_window_backup.json"

#: Names of prices that a call may be billed at.
_RATE = re.compile(
    r"(?:input_cost_per_token|output_cost_per_(?:reasoning_)?token|cache_creation_input_token_cost)"
    r"(?:_above_(?P<above>\d+)k_tokens)?"
)


def provider_of(name: str) -> str | None:
    """Return the provider that a model name states, or that a bare well-known name implies."""
    head, slash, _ = name.partition("/")
    if slash:
        return head
    return next((p for prefix, p in _BARE_NAMES.items() if name.startswith(prefix)), None)


def server_of(name: str, api_base: str | None, env: Mapping[str, str] = os.environ) -> str | None:
    """Return the server's address, of ``--api-base`` or the environment; None: the provider's."""
    variables = BASES.get(provider_of(name) or "", ())
    return api_base or next((env[v] for v in variables if env.get(v)), None)


def key_missing(name: str, env: Mapping[str, str] = os.environ) -> str | None:
    """Return the variables of which one must hold a key, or None where no key is missing.

    None also for a provider that is not in the table: litellm checks its key.
    """
    names = KEYS.get(provider_of(name) or "", ())
    if not names or any(env.get(n) for n in names):
        return None
    return " or ".join(names)


def is_free(name: str) -> bool:
    """Return whether a model of this name costs nothing and sends nothing over the network."""
    return name in {"", "manual", "recorded", "builtin"} or name.startswith(("recorded:", "file:"))


def check_configured(
    name: str, api_base: str | None = None, env: Mapping[str, str] = os.environ
) -> None:
    """Refuse a model that cannot work, without the network.

    Raises UsageError for an address that is no http(s) URL, ModelError for a key that is not set
    and a provider that litellm does not know. A server of one's own needs no key, and is asked for
    a model of any name. litellm is imported only for providers and bare names without an entry in
    the tables of this module.
    """
    if is_free(name):
        return
    server = server_of(name, api_base, env)
    if server is not None:
        _check_address(server)
        return
    if (provider_of(name) not in KEYS or "/" not in name) and name not in _table():
        routed(import_litellm(), name, None)
    if provider_of(name) == "azure":
        raise ModelError(f"{name}: no address; set AZURE_API_BASE, AZURE_API_VERSION and a key")
    if missing := key_missing(name, env):
        raise ModelError(f"{name}: no key; set {missing}, or use {_KEYLESS}")


def _check_address(address: str) -> None:
    """Raise UsageError unless ``address`` is an http or https URL with a host."""
    try:
        parts = urlsplit(address)
        good = parts.scheme in ("http", "https") and bool(parts.hostname)
        _ = parts.port
    except ValueError:
        good = False
    if not good:
        text = without_secrets(address)
        raise UsageError(f"{text}: not a URL; write e.g. --api-base http://localhost:8000/v1")


def import_litellm() -> Any:  # noqa: ANN401 - untyped for mypy, imported late
    """Import litellm without its downloads, prints, telemetry and log lines."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # no price table download
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")  # no reading of a .env file
    os.environ.setdefault("DISABLE_AIOHTTP_TRANSPORT", "True")  # it leaves sessions unclosed
    collects = gc.isenabled()
    gc.disable()  # a quarter of the time would go into collections that free nothing
    try:
        import litellm
        import openai.resources  # noqa: F401 - else loaded in the first call, holding up the loop
    finally:
        if collects:
            gc.enable()

    litellm.suppress_debug_info = True
    litellm.telemetry = False
    if "LITELLM_LOG" not in os.environ:
        for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
    warnings.filterwarnings("ignore", message="Pydantic serializer warnings")
    return litellm


def routed(litellm: Any, name: str, server: str | None) -> str:  # noqa: ANN401 - see above
    """Return the name as litellm can route it; a server of one's own speaks OpenAI's protocol.

    Raises ModelError for a provider that litellm does not know.
    """
    try:
        litellm.get_llm_provider(name)
    except litellm.BadRequestError:
        if server is not None:
            return f"openai/{name}"
        names = [str(getattr(p, "value", p)) for p in litellm.provider_list]
        near = difflib.get_close_matches(name.partition("/")[0], names, 1)
        hint = f"did you mean '{near[0]}/...'?" if near else f"write PROVIDER/NAME, e.g. {EXAMPLES}"
        raise ModelError(f"{name}: no such provider; {hint}") from None
    provider, _, rest = name.partition("/")
    # Ollama's completion endpoint would flatten the messages; its chat endpoint takes them.
    return f"ollama_chat/{rest}" if provider == "ollama" else name


def without_secrets(text: str, env: Mapping[str, str] = os.environ) -> str:
    """Return the text with keys, tokens and passwords replaced by ``***``."""
    for name, value in env.items():
        if len(value) >= 6 and _SECRET_NAME.search(name):
            text = text.replace(value, "***")
    text = re.sub(r"(?<=://)[^/@\s]+@", "***@", text)
    return _SECRET_TEXT.sub("***", text)


def shown_address(address: str) -> str:
    """Return an address for messages: without user, password and query."""
    parts = urlsplit(address)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


@dataclass(frozen=True)
class Price:
    """US dollars for one token of a prompt, and for one of a reply."""

    prompt: float
    completion: float

    def of(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return the price of so many tokens in US dollars."""
        return prompt_tokens * self.prompt + completion_tokens * self.completion


def price_of(model: str) -> Price | None:
    """Return the price of a model by its name, as ``--model`` takes it; None where it is unknown.

    A price of 0 is unknown too: litellm has it for servers of one's own.
    """
    entry = _entry(model)
    prompt = dollars(entry.get("input_cost_per_token"))
    completion = dollars(entry.get("output_cost_per_token"))
    return Price(prompt, completion) if prompt and completion else None


def dearest_price(model: str, prompt_tokens: int) -> Price | None:
    """Return the highest price of tokens after a prompt of so many, none of it read from a cache.

    Writing to a cache may cost more than other input, and so may long prompts and reasoning.
    """
    price, entry = price_of(model), _entry(model)
    if price is None:
        return None
    dearest = {"prompt": price.prompt, "completion": price.completion}
    for name, value in entry.items():
        rate = _RATE.fullmatch(name)
        if rate and prompt_tokens > 1000 * int(rate["above"] or 0):
            side = "completion" if name.startswith("output") else "prompt"
            dearest[side] = max(dearest[side], dollars(value) or 0.0)
    return Price(**dearest)


def longest_reply(model: str) -> int | None:
    """Return the most tokens that a reply of a model has; None where it is unknown."""
    most = _entry(model).get("max_output_tokens")
    return most if isinstance(most, int) and most > 0 else None


def check_priced(model: str, max_cost: float | None) -> None:
    """Raise UsageError where ``--max-cost`` is set for a model without a known price."""
    if max_cost is not None and not is_free(model) and price_of(model) is None:
        raise UsageError(
            f"--max-cost: the price of {model} is unknown, so it cannot be held; limit tokens"
            " instead, with --max-tokens"
        )


def _entry(model: str) -> Mapping[str, Any]:
    """Return the table's entry of a model; empty where there is none."""
    provider, slash, rest = model.partition("/")
    entry = _table().get(model)
    if entry is None and slash:
        entry = _table().get(rest)
        if entry and not str(entry.get("litellm_provider")).startswith(provider):
            entry = None
    return entry or {}


@functools.cache
def _table() -> Mapping[str, Any]:
    """Return litellm's entries by model; empty where this litellm keeps its table elsewhere."""
    package = importlib.util.find_spec("litellm")
    for folder in (package.submodule_search_locations or ()) if package else ():
        try:
            table = json.loads((Path(folder) / _TABLE).read_bytes())
        except (OSError, ValueError):
            continue
        return {name: entry for name, entry in table.items() if isinstance(entry, dict)}
    return {}
