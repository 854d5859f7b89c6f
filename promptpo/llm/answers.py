"""HTTP answers of providers: read up to a bound, and turned into failures that say what to do.

litellm and the providers' SDKs read an answer of any size, and make any error of one that is not as
they expect. So they are handed an HTTP client that bounds answers and notes status, headers and
body of the last one, which count before what litellm made of them.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from promptpo.common import bounds
from promptpo.common.plaintext import clean
from promptpo.errors import ModelError
from promptpo.llm.providers import KEYS, provider_of, without_secrets

#: Bytes of an error's body that are read, characters of a message that are searched, and that are
#: quoted.
_ERROR_BYTES, _READ, _QUOTED = 1 << 16, 20_000, 200
#: Client errors that pass by themselves: time-out, conflict, too early, rate limit.
_PASSING = {408, 409, 425, 429}
#: Statuses of gateways without an answer of the server behind them.
_GATEWAY = {408, 502, 504}
#: Seconds; a longer Retry-After is ignored.
_LONGEST_WAIT = 1e7
_CODINGS = {"", "identity", "gzip", "deflate"}
_PACKING = {"content-encoding", "content-length", "transfer-encoding"}
_NO_KEY = re.compile(r"(missing|no|set|provide|pass)\b.{0,60}\b(api[ _-]?key|credentials)", re.I)
_BAD_KEY = re.compile(r"\bapi[ _-]?key\b", re.I)
_JSON_MESSAGE = re.compile(r'"message"\s*:\s*"((?:[^"\\]|\\.)+)"')
_PREFIX = re.compile(r"^(?:litellm\.\w+: |\w+Error: |\w*Exception - )+")
#: What SDKs say of a body that they cannot parse.
_NO_DETAIL = re.compile(r"(Error code: \d+)?")


@dataclass
class Answer:
    """The last HTTP answer to a call.

    ``asked``: a request was made by way of ``BoundedClient``; ``sent``: and may have reached the
    server. ``status`` and ``headers`` are None before an answer, ``body`` is its beginning or
    whole, ``lost`` names the error of the connection.
    """

    asked: bool = False
    sent: bool = False
    status: int | None = None
    headers: Mapping[str, str] | None = None
    body: bytearray = field(default_factory=bytearray)
    too_large: bool = False
    lost: str = ""

    @property
    def failed(self) -> bool:
        """True where the server answered with a status other than success."""
        return self.status is not None and not 200 <= self.status < 300

    @property
    def success(self) -> bool:
        """True where a successful answer was received to its end."""
        return self.status is not None and not self.failed and not (self.lost or self.too_large)

    def names(self, *codes: str) -> bool:
        """Return whether the body has one of these as its error's code."""
        pattern = rf'"code"\s*:\s*"(?:{"|".join(codes)})"'
        return re.search(pattern, self.body[:_READ].decode("utf-8", "replace")) is not None


#: The answer of the call under way in the current task.
current: ContextVar[Answer | None] = ContextVar("current", default=None)


class BoundedClient(httpx.AsyncClient):
    """An HTTP client that reads each answer at once, up to a bound, and notes it in ``current``."""

    async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:  # noqa: ANN401 - httpx's own
        """Return the whole response. Raises httpx.NetworkError, also for an answer too large."""
        answer = current.get() or Answer()
        answer.asked = answer.sent = True
        answer.status, answer.lost, answer.body = None, "", bytearray()
        request.headers["Accept-Encoding"] = "identity"  # a small answer may unpack to gigabytes
        try:
            response = await super().send(request, **{**options, "stream": True})
            answer.status, answer.headers = response.status_code, response.headers
            try:
                await self._read(response, answer)
            finally:
                await response.aclose()
        except httpx.RequestError as e:
            answer.lost = str(e) or type(e).__name__
            answer.sent = not isinstance(e, httpx.ConnectError | httpx.ConnectTimeout)
            # Of another type: litellm sends a request again by itself after a ConnectError.
            raise httpx.NetworkError(answer.lost, request=request) from e
        headers = [(k, v) for k, v in response.headers.multi_items() if k.lower() not in _PACKING]
        whole = httpx.Response(
            response.status_code, headers=headers, content=bytes(answer.body), request=request
        )
        whole.elapsed = response.elapsed
        return whole

    async def _read(self, response: httpx.Response, answer: Answer) -> None:
        coding = response.headers.get("Content-Encoding", "").strip().lower()
        if coding not in _CODINGS:
            raise httpx.DecodingError(f"the server packs its answer ({coding}), unasked")
        most = bounds.ANSWER_BYTES if response.is_success else _ERROR_BYTES
        async for chunk in response.aiter_bytes():
            answer.body += chunk
            if len(answer.body) > most and response.is_success:
                answer.too_large = True
                raise httpx.ReadError("the answer is too large")
            if len(answer.body) > most:
                return


class PassingFailure(Exception):
    """A failure that a later try may not meet.

    ``wait`` is the server's Retry-After in seconds; ``parsed`` is false for an answer that could
    not be parsed, and may be billed.
    """

    def __init__(self, reason: str, wait: float | None = None, *, parsed: bool = True) -> None:
        super().__init__(reason)
        self.reason, self.wait, self.parsed = reason, wait, parsed


def classify(
    error: Exception, answer: Answer, name: str, endpoint: str
) -> ModelError | PassingFailure:
    """Turn litellm's exception into a failure that passes, or one line that says what to set.

    ``endpoint`` is the model's ``name`` and its server for messages.
    """
    status = answer.status if answer.failed else getattr(error, "status_code", None)
    detail = one_line(error)
    if answer.failed and _NO_DETAIL.fullmatch(detail):
        detail = beginning(answer.body) or detail
    headers = answer.headers or getattr(error, "litellm_response_headers", None)
    local = not (answer.asked or headers)  # litellm or an SDK, before any request
    if local and _NO_KEY.search(detail):
        return ModelError(f"{endpoint}: no key; set {_keys(name)} ({detail})")
    if local and not isinstance(status, int):
        return ModelError(f"{endpoint}: the call failed: {type(error).__name__}: {detail}")
    final = isinstance(status, int) and status < 500 and status not in _PASSING and not answer.lost
    if final or answer.names("insufficient_quota"):
        refusal = _refusal(error, answer, status, detail, name)
        return ModelError(f"{endpoint}: {refusal}")
    if answer.failed or (headers and not answer.asked):
        wait = retry_after(headers)
        reason = "rate limit (429)" if status == 429 else f"server error {status}: {detail}"
        return PassingFailure(reason + (f", asks to wait {wait:.0f} s" if wait else ""), wait)
    if answer.success:
        body = beginning(answer.body) or "it is empty"
        words = "the server's answer is not a chat completion"
        return PassingFailure(f"{words}: {body}", parsed=False)
    return PassingFailure(f"no connection: {answer.lost or detail or type(error).__name__}")


def unbilled(error: Exception, answer: Answer) -> bool:
    """Return whether a failed try is surely not billed: refused, or never sent.

    Behind a gateway that gave up waiting a model may have worked on.
    """
    if answer.asked:
        refused = answer.failed and answer.status not in _GATEWAY
        return refused if answer.status is not None else not answer.sent
    status = getattr(error, "status_code", None)  # litellm's, before it sent anything
    return isinstance(status, int) and 400 <= status < 500 and status not in _GATEWAY


def withheld(error: Exception, answer: Answer) -> bool:
    """Return whether the provider's content filter refused this one prompt or its reply."""
    named = type(error).__name__ == "ContentPolicyViolationError"
    return named or answer.names("content_policy_violation", "content_filter")


def _keys(name: str) -> str:
    """Return the variables that may hold a model's key."""
    return " or ".join(KEYS.get(provider_of(name) or "", ())) or "the provider's API key"


def _refusal(error: Exception, answer: Answer, status: int | None, detail: str, name: str) -> str:
    """Return the words for a call that no repetition will make right."""
    words = f"the request was refused ({status}: {detail}); check --model"
    if status == 402 or answer.names("insufficient_quota"):
        words = f"the account has no credit left ({detail})"
    elif status in (401, 403) or (status == 400 and _BAD_KEY.search(detail)):
        words = f"the key was refused ({status}: {detail}); check {_keys(name)} and what it may use"
    elif status == 404:
        words = f"no such model or address ({detail}); check --model and --api-base"
    elif status == 413 or type(error).__name__ == "ContextWindowExceededError":
        words = (
            f"the prompt is longer than the model takes ({detail}); use a model with a longer"
            " context, or a smaller --set history_tokens"
        )
    return words


def retry_after(headers: Mapping[str, Any] | None) -> float | None:
    """Return the seconds of ``retry-after-ms`` or ``retry-after`` (seconds or HTTP date), or None.

    RFC 9110, section 10.2.3; a date in the past is 0. None for anything that is no time to wait.
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
    except Exception:  # the parser does not expect every date
        return None
    return wait if math.isfinite(wait) and 0 <= wait <= _LONGEST_WAIT else None


def one_line(error: BaseException) -> str:
    """Return an exception's message on one line, short, without secrets and litellm's prefixes."""
    text = clean(str(error)[:_READ]).partition("Traceback (most recent call last)")[0]
    if message := _JSON_MESSAGE.search(text):  # some providers' bodies are quoted as they came
        text = message[1].replace("\\n", " ")
    return _short(_PREFIX.sub("", " ".join(text.split())))


def beginning(body: bytes | bytearray) -> str:
    """Return the beginning of an answer, on one line and without secrets."""
    return _short(" ".join(clean(bytes(body[:_READ]).decode("utf-8", "replace")).split()))


def _short(text: str) -> str:
    text = without_secrets(text).strip().rstrip(".")
    return text if len(text) <= _QUOTED else text[: _QUOTED - 3] + "..."
