"""What a failed model call means: try again, or tell the user what to change."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from promptpo.common.plaintext import clean
from promptpo.errors import ModelError
from promptpo.llm.providers import KEYS, provider_of, shown_address, without_secrets
from promptpo.llm.wire import RawAnswer

#: Client errors that pass by themselves: time-out, conflict, too early, rate limit.
_PASSING = {408, 409, 425, 429}
#: Statuses of gateways that have not got an answer themselves.
_GATEWAY = {408, 502, 504}
_NO_KEY = re.compile(r"(missing|no|set|provide|pass)\b.{0,60}\b(api[ _-]?key|credentials)", re.I)
_BAD_KEY = re.compile(r"\bapi[ _-]?key\b", re.I)
_JSON_MESSAGE = re.compile(r'"message"\s*:\s*"((?:[^"\\]|\\.)+)"')
#: Characters of a provider's message that are looked at.
_READ = 20_000
#: Seconds; a server that asks to wait longer does not mean it.
_LONGEST_WAIT = 1e7
#: What is said of an answer that is none.
_NO_COMPLETION = "the server's answer is not a chat completion"
_PREFIX = re.compile(r"^(?:litellm\.\w+: |\w+Error: |\w*Exception - )+")


@dataclass(frozen=True)
class Endpoint:
    """Whom a call went to, for messages: the model's name and the server of one's own, if any."""

    name: str
    server: str | None = None

    def __str__(self) -> str:
        return f"{self.name} at {shown_address(self.server)}" if self.server else self.name

    @property
    def key_names(self) -> str:
        """The variables that may hold the key."""
        return " or ".join(KEYS.get(provider_of(self.name) or "", ())) or "the provider's API key"


class PassingFailure(Exception):
    """A failure that a later try may not meet; ``wait`` is the server's Retry-After in seconds."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.wait = wait


def classify(
    error: Exception, endpoint: Endpoint, raw: RawAnswer | None = None
) -> ModelError | PassingFailure:
    """Turn what litellm raised into a failure that passes or one line that says what to set.

    ``raw`` is what came over the wire. Its status counts before the one that litellm made of it:
    of a body that is not as it expects litellm makes anything.
    """
    raw = raw or RawAnswer()
    status = raw.status if raw.failed else getattr(error, "status_code", None)
    detail = one_line(error)
    if raw.failed and not detail:
        detail = shown(raw.error)
    headers = raw.headers if raw.failed else _headers(error)
    if headers is None and _NO_KEY.search(detail):  # litellm or an SDK, before any request
        return ModelError(f"{endpoint}: no key; set {endpoint.key_names} ({detail})")
    if not isinstance(status, int):
        lost = f"no connection: {detail or type(error).__name__}"
        if raw.whole or _of_the_connection(error):  # whole: litellm cannot make anything of it
            return PassingFailure(_unreadable(raw) if raw.whole else lost)
        return ModelError(f"{endpoint}: the call failed: {type(error).__name__}: {detail}")
    if "insufficient_quota" in _codes(error):
        return ModelError(f"{endpoint}: the account has no credit left ({detail})")
    if status in _PASSING or status >= 500:
        wait = retry_after(headers)
        asked = f", asks to wait {wait:.0f} s" if wait else ""
        return PassingFailure(_reason(error, status, detail, raw) + asked, wait)
    return ModelError(_refusal(error, status, detail, endpoint))


def unbilled(error: Exception, raw: RawAnswer) -> bool:
    """Whether a try that failed is surely not billed: it was refused, or never got so far.

    Behind a gateway that has waited too long a model may have worked on.
    """
    if raw.status is not None:
        return raw.failed and raw.status not in _GATEWAY
    chain = [*_chain(error)]
    unsent = any(type(e).__name__ in ("ConnectError", "ConnectTimeout") for e in chain)
    return unsent or not any(_of_the_connection(e) for e in chain)


def withheld(error: Exception) -> bool:
    """Whether the provider's content filter refused this one prompt or its reply."""
    named = type(error).__name__ == "ContentPolicyViolationError"
    return named or bool(_codes(error) & {"content_policy_violation", "content_filter"})


def _codes(error: Exception) -> set[str]:
    """The words by which a provider names the failure; what is no word is none."""
    codes = (getattr(e, "code", None) for e in _chain(error))
    return {code for code in codes if isinstance(code, str)}


def _refusal(error: Exception, status: int, detail: str, endpoint: Endpoint) -> str:
    """The line for a call that no repetition will make right."""
    if status in (401, 403) or (status == 400 and _BAD_KEY.search(detail)):
        return (
            f"{endpoint}: the key was refused ({status}: {detail}); check {endpoint.key_names}"
            " and what it may use"
        )
    if "LLM Provider NOT provided" in detail:
        return (
            f"{endpoint.name}: no such provider; write PROVIDER/NAME, e.g. openai/gpt-5,"
            " anthropic/claude-sonnet-4-5 or ollama/qwen3"
        )
    if status == 404:
        return f"{endpoint}: no such model or address ({detail}); check --model and --api-base"
    if status == 402:
        return f"{endpoint}: the account has no credit left ({detail})"
    if status == 413 or type(error).__name__ == "ContextWindowExceededError":
        return (
            f"{endpoint}: the prompt is longer than the model takes ({detail}); use a model with"
            " a longer context, or a smaller --set history_tokens"
        )
    return f"{endpoint}: the request was refused ({status}: {detail}); check --model"


def _reason(error: Exception, status: int, detail: str, raw: RawAnswer) -> str:
    """A few words for a failure that passes."""
    if status == 429:
        return "rate limit (429)"
    if raw.failed or _headers(error) is not None:
        return f"server error {status}: {detail}"
    # No answer with headers: the connection itself failed, or the answer could not be read.
    lost = [e for e in _chain(error) if _of_the_connection(e)]
    if lost:
        return f"no connection: {one_line(lost[-1]) or type(lost[-1]).__name__}"
    return _unreadable(raw) if raw.whole else f"{_NO_COMPLETION} ({detail})"


def _unreadable(raw: RawAnswer) -> str:
    return f"{_NO_COMPLETION}: {shown(raw.data)}" if raw.data else "the server's answer is empty"


def _of_the_connection(error: BaseException) -> bool:
    package = type(error).__module__.partition(".")[0]
    return isinstance(error, OSError) or package in ("httpx", "httpcore", "aiohttp")


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An exception and those that it was raised from or while handling."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _headers(error: Exception) -> Mapping[str, Any] | None:
    """The headers of the server's answer; None where there was no answer."""
    headers = getattr(error, "litellm_response_headers", None)
    if headers:
        return headers  # type: ignore[no-any-return]
    headers = getattr(getattr(error, "response", None), "headers", None)
    return headers or None


def retry_after(headers: Mapping[str, Any] | None) -> float | None:
    """Seconds to wait by ``retry-after-ms`` or ``retry-after`` (seconds or HTTP date), or None.

    RFC 9110, section 10.2.3; a date that lies in the past is 0. None for what is no time to wait.
    """
    lower = {str(k).lower(): str(v).strip() for k, v in (headers or {}).items()}
    text = lower.get("retry-after", "")
    try:
        if "retry-after-ms" in lower:
            wait = float(lower["retry-after-ms"]) / 1000
        elif re.fullmatch(r"\d+(\.\d+)?", text):
            wait = float(text)
        else:
            wait = max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except Exception:  # of what dates may look like, the parser does not expect all
        return None
    return wait if math.isfinite(wait) and 0 <= wait <= _LONGEST_WAIT else None


def one_line(error: BaseException) -> str:
    """The message of an exception on one line, short, without secrets and litellm's prefixes."""
    text = clean(str(error)[:_READ]).partition("Traceback (most recent call last)")[0]
    if found := _JSON_MESSAGE.search(text):  # litellm shows some providers' bodies as they came
        text = found[1].replace("\\n", " ")
    return _short(_PREFIX.sub("", " ".join(text.split())))


def shown(body: bytes | bytearray) -> str:
    """The beginning of an answer, on one line and without secrets."""
    return _short(" ".join(clean(bytes(body[:_READ]).decode("utf-8", "replace")).split()))


def _short(text: str) -> str:
    text = without_secrets(text).strip().rstrip(".")
    return text if len(text) <= 200 else text[:197] + "..."
