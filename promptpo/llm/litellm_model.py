"""Models of any provider that litellm knows, and of any OpenAI-compatible server.

Retries have one owner, here: litellm's and the SDKs' own are off. A call is tried until it
succeeds, fails for good, or its absolute deadline has passed.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import httpx
import tenacity

from promptpo.errors import ModelUnavailable
from promptpo.llm import answers, messages, providers
from promptpo.llm.answers import Answer, BoundedClient, PassingFailure
from promptpo.llm.messages import TOO_LARGE, Message, ModelSettings, Reply, Request, as_data
from promptpo.llm.waiting import Deadline, Turns

#: Seconds: the longest pause between two tries (unless the server asks for more), the time that
#: setting up a connection may take, and the least time between two notices of the same trouble.
MAX_PAUSE, CONNECT_TIMEOUT, NOTICE_EVERY = 30.0, 20.0, 30.0

#: Seconds that httpx may wait for an answer: the deadline has one owner, ``Deadline``.
_NEVER = 1e7

#: Tries of a call whose answers cannot be parsed: each of them may be billed.
UNPARSED = 3

#: Names a call to one's own server or gateway, whose log can so be matched with ``events.jsonl``.
CALL_HEADER = "X-PromptPO-Call"

#: Providers that litellm reaches by an HTTP handler, which may be replaced; most others it reaches
#: by the OpenAI SDK, which uses ``litellm.aclient_session``.
_BY_HANDLER = {
    "anthropic", "deepseek", "fireworks_ai", "gemini", "groq", "hosted_vllm", "mistral",
    "ollama_chat", "openrouter", "together_ai", "xai",
}  # fmt: skip

#: Cache marks that Anthropic accepts in a request.
_MARKS = 4

_open_models: weakref.WeakSet[LiteLLMModel] = weakref.WeakSet()


class LiteLLMModel:
    """A language model behind litellm; ``max_concurrency`` calls run at once.

    Where runs were started together this counts over all of them.
    """

    def __init__(self, settings: ModelSettings) -> None:
        self.name = settings.name
        self._settings = settings
        self._turns = Turns.of_environment(settings.max_concurrency)
        self._loading = asyncio.Lock()
        self._litellm: Any = None
        self._handler: Any = None
        self._model = settings.name
        self._server = providers.server_of(settings.name, settings.api_base)
        server = f" at {providers.shown_address(self._server)}" if self._server else ""
        self._endpoint = settings.name + server
        self._last_notice = ("", float("-inf"))
        _open_models.add(self)

    async def ask(self, request: Request) -> Reply:
        """Return the model's reply; its text is empty where the model wrote none.

        Raises ModelError for what no retry mends (key, model name, request), ModelUnavailable
        where the deadline passed first.
        """
        async with self._loading:
            if self._litellm is None:
                self._load(await asyncio.to_thread(providers.import_litellm))  # it takes seconds
        async with self._turns.one():
            return await self._ask_until_deadline(request)

    async def close(self) -> None:
        """Close the connections once no other model of this process uses them."""
        _open_models.discard(self)
        if self._litellm is None or _open_models:
            return
        if (session := self._litellm.aclient_session) is not None:
            self._litellm.aclient_session = None
            await session.aclose()
        await self._litellm.close_litellm_async_clients()
        self._litellm.in_memory_llm_clients_cache.flush_cache()
        await asyncio.sleep(0)  # sockets are closed in the loop's next turn

    def _load(self, litellm: Any) -> None:  # noqa: ANN401 - a module without types
        """Route the model, and hand litellm the bounded client."""
        self._model = providers.routed(litellm, self.name, self._server)
        if not isinstance(litellm.aclient_session, BoundedClient):
            from litellm.llms.custom_httpx.http_handler import get_ssl_configuration

            limits = httpx.Limits(max_keepalive_connections=100)
            litellm.aclient_session = BoundedClient(verify=get_ssl_configuration(), limits=limits)
        if providers.provider_of(self._model) in _BY_HANDLER:
            self._handler = litellm.AsyncHTTPHandler()
            self._handler.client = litellm.aclient_session
        self._litellm = litellm

    async def _ask_until_deadline(self, request: Request) -> Reply:
        limit = self._settings.call_timeout
        started = time.monotonic()
        failures: list[PassingFailure] = []
        deadline = Deadline(limit)
        retrying = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception_type(PassingFailure),
            wait=pause,
            stop=lambda state: (
                state.upcoming_sleep >= deadline.left
                or sum(not failure.parsed for failure in failures) >= UNPARSED
            ),
            before_sleep=self._report,
            reraise=True,
        )
        try:
            return await deadline.until_done(retrying(self._try_once, request, failures, deadline))
        except PassingFailure as e:
            tries, reason = len(failures), e.reason
        except TimeoutError:
            tries, reason = len(failures) + 1, "no reply in time"
            if failures:
                reason += f", before that {failures[-1].reason}"
        raise ModelUnavailable(
            f"{self._endpoint}: {reason}; given up after {tries} {'try' if tries == 1 else 'tries'}"
            f" in {time.monotonic() - started:.0f} s (call_timeout={limit:g});"
            " nothing is lost, --resume continues"
        )

    async def _try_once(
        self, request: Request, failures: list[PassingFailure], deadline: Deadline
    ) -> Reply:
        if deadline.broken_off:
            raise asyncio.CancelledError
        allowance = request.allowance
        if allowance is not None:
            deadline.paused = True
            try:
                await allowance.take()
            finally:
                deadline.paused = False
        self._settings.check()
        started = time.monotonic()
        answer = Answer()
        token = answers.current.set(answer)
        deadline.sent = True
        try:
            response = await self._litellm.acompletion(**self._arguments(request))
            reply = self._reply(response, answer)
        except Exception as e:
            if allowance is not None and answers.unbilled(e, answer):
                allowance.give_back()
            if answer.too_large:
                reply = Reply("", self.name, TOO_LARGE)
            elif answers.withheld(e, answer):  # only this prompt is refused: a failed candidate
                reply = Reply("", self.name, "content_filter", note=answers.one_line(e))
            else:
                failure = answers.classify(e, answer, self.name, self._endpoint)
                if isinstance(failure, PassingFailure):
                    failures.append(failure)
                raise failure from None
        finally:
            deadline.sent = False
            answers.current.reset(token)
        return replace(reply, latency=time.monotonic() - started)

    def _arguments(self, request: Request) -> dict[str, Any]:
        """Return the arguments of ``litellm.acompletion``."""
        settings = self._settings
        arguments: dict[str, Any] = {
            "model": self._model,
            "messages": as_data(request.messages),
            "timeout": httpx.Timeout(_NEVER, connect=min(settings.call_timeout, CONNECT_TIMEOUT)),
            "num_retries": 0,
            "max_retries": 0,
            "drop_params": True,  # some models refuse a temperature
        }
        if providers.provider_of(self._model) == "anthropic":
            arguments["messages"] = with_cache_marks(request.messages)
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
        if self._handler is not None:
            arguments["client"] = self._handler
        return arguments

    def _reply(self, response: Any, answer: Answer) -> Reply:  # noqa: ANN401 - litellm's own type
        """Return the first choice with text. Raises for a response that has none at all."""
        texts = [str(choice.message.content or "") for choice in response.choices]
        number = next((i for i, text in enumerate(texts) if text), 0)
        usage = _usage(response, answer)
        try:
            cost = self._litellm.completion_cost(response, model=self._model)
        except Exception:  # litellm raises bare Exceptions for models without a price
            cost = None
        counted = None not in messages.tokens_of(usage)  # else litellm's price is a guess
        return Reply(
            text=texts[number],
            model=messages.model_name(self._model, response.model),
            finish_reason=messages.finish_reason(response.choices[number].finish_reason),
            usage=usage,
            cost=(messages.dollars(cost) or None) if counted else None,  # 0 is no price
        )

    def _report(self, state: tenacity.RetryCallState) -> None:
        """Notify that a call is tried again, the same trouble once in a while."""
        reason = failure_of(state).reason
        last, when = self._last_notice
        now = time.monotonic()
        if reason != last or now - when >= NOTICE_EVERY:
            self._last_notice = (reason, now)
            self._settings.notify(
                f"{self._endpoint}: {reason}; trying again for up to"
                f" {self._settings.call_timeout:g} s"
            )


def failure_of(state: tenacity.RetryCallState) -> PassingFailure:
    """Return the failure of the last try."""
    error = state.outcome.exception() if state.outcome else None
    return error if isinstance(error, PassingFailure) else PassingFailure("")


def pause(state: tenacity.RetryCallState) -> float:
    """Return the seconds until the next try: exponential with jitter, at least Retry-After."""
    seconds = random.uniform(0.5, 1.0) * min(MAX_PAUSE, 2.0 ** (state.attempt_number - 1))  # noqa: S311 - jitter
    wait = failure_of(state).wait
    return seconds if wait is None else max(wait + random.uniform(0.0, 0.25), seconds)  # noqa: S311 - jitter


def with_cache_marks(prompt: Sequence[Message]) -> list[dict[str, Any]]:
    """Return the messages as JSON, with litellm's cache marks at the ends of shared beginnings."""
    data, left = as_data(prompt), _MARKS
    for message, item in zip(reversed(prompt), reversed(data), strict=True):
        ends = message.shared[-left:] if left else ()
        left -= len(ends)
        if ends:
            edges = sorted({0, *ends, len(message.content)})
            item["content"] = [
                {"type": "text", "text": message.content[start:end]}
                | ({"cache_control": {"type": "ephemeral"}} if end in ends else {})
                for start, end in itertools.pairwise(edges)
            ]
    return data


def _usage(response: Any, answer: Answer) -> object:  # noqa: ANN401 - litellm's own type
    """Return the raw usage: of a chat completion as it came, else litellm's translation."""
    try:
        data = json.loads(answer.body) if answer.asked else None
        if isinstance(data, Mapping) and "choices" in data:
            return messages.plain(data.get("usage"))
        usage = response.usage
        counted = usage.prompt_tokens or usage.completion_tokens  # litellm's 0 is no count
        return messages.plain(usage.model_dump(mode="json", exclude_none=True)) if counted else None
    except Exception:  # anything that a server may send
        return None
