"""Any provider that litellm knows, and any OpenAI-compatible server.

Retries have one owner, here: litellm's and the SDKs' own are off. A call is tried until it
succeeds, fails for good, or its absolute deadline has passed.
"""

from __future__ import annotations

import asyncio
import difflib
import gc
import logging
import os
import random
import time
import warnings
import weakref
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import tenacity

from promptpo.errors import ModelError, ModelUnavailable
from promptpo.llm import answers, providers
from promptpo.llm.failures import Endpoint, PassingFailure, classify, one_line, unbilled, withheld
from promptpo.llm.messages import TOO_LARGE, Reply, Request, as_data
from promptpo.llm.prompt_cache import PromptCache
from promptpo.llm.providers import EXAMPLES
from promptpo.llm.settings import ModelSettings
from promptpo.llm.turns import Turns
from promptpo.llm.usage import dollars, tokens_of
from promptpo.llm.waiting import Wait
from promptpo.llm.wire import RawAnswer, listening

#: Seconds: the longest pause between two tries (unless the server asks for more), the time that
#: setting up a connection may take, and the least time between two notices of the same trouble.
MAX_PAUSE, CONNECT_TIMEOUT, NOTICE_EVERY = 30.0, 20.0, 30.0

#: Seconds that httpx may wait for an answer: the deadline has one owner, ``Wait``.
_NEVER = 1e7

EMPTY_ANSWER = "the server's answer holds no completion"

#: Names a call to one's own server or gateway, whose log can so be matched with ``events.jsonl``.
CALL_HEADER = "X-PromptPO-Call"

_open_models: weakref.WeakSet[LiteLLMModel] = weakref.WeakSet()


class LiteLLMModel:
    """A language model behind litellm; ``max_concurrency`` calls run at once.

    Where runs were started together they are counted over all of them.
    """

    def __init__(self, settings: ModelSettings) -> None:
        self.name = settings.name
        self._settings = settings
        self._turns = Turns.of_environment(settings.max_concurrency)
        self._loading = asyncio.Lock()
        self._litellm: Any = None
        self._model = settings.name
        self._server = providers.server_of(settings.name, settings.api_base)
        self._cache = PromptCache()
        self._endpoint = Endpoint(settings.name, self._server)
        self._last_notice = ("", float("-inf"))
        _open_models.add(self)

    async def ask(self, request: Request) -> Reply:
        """Return the model's reply; its text is empty where the model wrote none.

        Raises ModelError for what no retry mends (key, model name, request), ModelUnavailable
        where the deadline passed first.
        """
        await self._load()
        async with self._turns.one():
            return await self._ask_until_deadline(request)

    async def close(self) -> None:
        """Close litellm's connections once no other model of this process uses them."""
        _open_models.discard(self)
        if self._litellm is not None and not _open_models:
            await self._litellm.close_litellm_async_clients()
            self._litellm.in_memory_llm_clients_cache.flush_cache()
            await asyncio.sleep(0)  # sockets are closed in the loop's next turn

    async def _load(self) -> None:
        """Import litellm in a thread (3 s) and settle on a name that it can route."""
        async with self._loading:
            if self._litellm is None:
                providers.check_configured(self.name, self._settings.api_base)
                litellm = await asyncio.to_thread(_import_litellm)
                self._model = _routed(litellm, self.name, self._server)
                self._litellm = litellm

    async def _ask_until_deadline(self, request: Request) -> Reply:
        limit = self._settings.call_timeout
        started = time.monotonic()
        failures: list[str] = []
        wait = Wait(limit)
        retrying = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception_type(PassingFailure),
            wait=_pause,
            stop=lambda state: state.upcoming_sleep >= wait.left,
            before_sleep=self._tell,
            reraise=True,
        )
        try:
            return await wait.until_done(retrying(self._try_once, request, failures, wait))
        except PassingFailure as e:
            tries, reason = len(failures), e.reason
        except TimeoutError:
            tries, reason = len(failures) + 1, "no reply in time"
            if failures:
                reason += f", before that {failures[-1]}"
        raise ModelUnavailable(
            f"{self._endpoint}: {reason}; given up after {tries} {'try' if tries == 1 else 'tries'}"
            f" in {time.monotonic() - started:.0f} s (call_timeout={limit:g});"
            " nothing is lost, --resume continues"
        )

    async def _try_once(self, request: Request, failures: list[str], wait: Wait) -> Reply:
        if wait.broken_off:
            raise asyncio.CancelledError
        allowance = request.allowance
        if allowance is not None:
            with wait.paused():
                await allowance.take()
        self._settings.check()
        started = time.monotonic()
        wait.sent = True
        try:
            with listening() as raw, self._messages(request) as messages:
                response = await self._litellm.acompletion(**self._arguments(request, messages))
            reply = self._reply(response, raw)
        except Exception as e:
            kept = self._kept(e, raw)
            if allowance is not None and unbilled(e, raw):
                allowance.give_back()
            if kept is None:
                failure = e if isinstance(e, PassingFailure) else classify(e, self._endpoint, raw)
                if isinstance(failure, PassingFailure):
                    failures.append(failure.reason)
                raise failure from None
            reply = kept
        finally:
            wait.sent = False
        return replace(reply, latency=time.monotonic() - started)

    def _kept(self, error: Exception, raw: RawAnswer) -> Reply | None:
        """The reply that came although the call failed, if it did: it was paid for."""
        if raw.too_large:
            return Reply("", self.name, TOO_LARGE)
        if withheld(error):  # this one prompt is refused, not the run: a failed candidate
            return Reply("", self.name, "content_filter", note=one_line(error))
        data = answers.read_answer(raw.data) if raw.whole else {}
        return answers.saved_reply(data, self._model)

    def _messages(self, request: Request) -> AbstractContextManager[list[dict[str, Any]]]:
        """The messages as they are sent; Anthropic caches only what they mark."""
        if providers.provider_of(self._model) == "anthropic":
            return self._cache.marked(request.messages)
        return nullcontext(as_data(request.messages))

    def _arguments(self, request: Request, messages: list[dict[str, Any]]) -> dict[str, Any]:
        """What ``litellm.acompletion`` is called with."""
        import httpx

        settings = self._settings
        # The same for all calls, as litellm keeps one connection pool for every value.
        timeout = httpx.Timeout(_NEVER, connect=min(settings.call_timeout, CONNECT_TIMEOUT))
        arguments: dict[str, Any] = {
            "model": self._model,
            "messages": messages,
            "timeout": timeout,
            "num_retries": 0,
            "max_retries": 0,
            "drop_params": True,  # some models refuse a temperature
        }
        if settings.temperature is not None:
            arguments["temperature"] = settings.temperature
        allowed = request.allowance.reply_tokens if request.allowance else None
        if most := allowed or settings.max_reply_tokens:
            arguments["max_tokens"] = most
        if self._server is not None:
            arguments["api_base"] = self._server
            arguments["extra_headers"] = {CALL_HEADER: str(request.key)}
            if providers.key_missing(self._model):
                arguments["api_key"] = "none"  # the SDK insists on a key, the server does not
        return arguments

    def _reply(self, response: Any, raw: RawAnswer) -> Reply:  # noqa: ANN401 - litellm's own type
        if not response.choices:
            raise PassingFailure(EMPTY_ANSWER)
        data = answers.read_answer(raw.data) if raw.whole else {}
        usage = answers.usage_of(data, getattr(response, "usage", None))
        told = [(answers.text_of(c.message.content), c) for c in response.choices]
        text, choice = next((t for t in told if t[0]), told[0])
        return Reply(
            text=text,
            model=answers.model_name(self._model, response.model),
            finish_reason=answers.finish_reason(choice.finish_reason),
            usage=usage,
            cost=self._cost(response, usage),
        )

    def _cost(self, response: Any, usage: object) -> float | None:  # noqa: ANN401 - see above
        """US dollars by litellm's price table; None where it has no price, or 0 for one."""
        if None in tokens_of(usage):
            return None
        try:
            return dollars(self._litellm.completion_cost(response, model=self._model)) or None
        except Exception:  # litellm raises bare Exceptions for models without a price
            return None

    def _tell(self, state: tenacity.RetryCallState) -> None:
        """Say that a call is tried again, but not the same thing again and again."""
        error = state.outcome.exception() if state.outcome else None
        reason = error.reason if isinstance(error, PassingFailure) else ""
        last, when = self._last_notice
        now = time.monotonic()
        if reason != last or now - when >= NOTICE_EVERY:
            self._last_notice = (reason, now)
            self._settings.notify(
                f"{self._endpoint}: {reason}; trying again for up to"
                f" {self._settings.call_timeout:g} s"
            )


def _pause(state: tenacity.RetryCallState) -> float:
    """Seconds until the next try: exponential with jitter, never less than Retry-After."""
    pause = random.uniform(0.5, 1.0) * min(MAX_PAUSE, 2.0 ** (state.attempt_number - 1))  # noqa: S311 - jitter
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, PassingFailure) and error.wait is not None:
        return max(error.wait + random.uniform(0.0, 0.25), pause)  # noqa: S311 - jitter
    return pause


def _import_litellm() -> Any:  # noqa: ANN401 - untyped for mypy, imported late
    """Import litellm without its downloads, prints, telemetry and log lines."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # no price table download
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")  # no reading of a .env file
    os.environ.setdefault("DISABLE_AIOHTTP_TRANSPORT", "True")  # it leaves sessions unclosed
    collects = gc.isenabled()
    gc.disable()  # looking for garbage among so much that stays is a quarter of the time
    try:
        import litellm
        import openai.resources  # noqa: F401 - else loaded in the first call, holding up the loop
    finally:
        if collects:
            gc.enable()

    litellm.disable_aiohttp_transport = True  # answers are bounded in httpx's transport
    litellm.suppress_debug_info = True
    litellm.telemetry = False
    if "LITELLM_LOG" not in os.environ:
        for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
    warnings.filterwarnings("ignore", message="Pydantic serializer warnings")
    return litellm


def _routed(litellm: Any, name: str, server: str | None) -> str:  # noqa: ANN401 - see above
    """The name as litellm can route it; a server of one's own is taken to speak OpenAI's protocol.

    Raises ModelError for a provider that litellm does not know.
    """
    try:
        litellm.get_llm_provider(name)
    except litellm.BadRequestError:
        if server is not None:
            return f"openai/{name}"
        known = [str(getattr(p, "value", p)) for p in litellm.provider_list]
        near = difflib.get_close_matches(name.partition("/")[0], known, 1)
        hint = f"did you mean '{near[0]}/...'?" if near else f"write PROVIDER/NAME, e.g. {EXAMPLES}"
        raise ModelError(f"{name}: no such provider; {hint}") from None
    provider, _, rest = name.partition("/")
    # Ollama's completion endpoint would flatten the messages; its chat endpoint takes them.
    return f"ollama_chat/{rest}" if provider == "ollama" else name
