"""What comes over the wire while a model is asked: bounded, and kept until it is understood.

litellm and the providers' SDKs read an answer of any size, and raise where a part of it is not what
they expect. Here an answer is read up to a bound, and its bytes are kept, so that a reply that has
arrived is not lost, and not paid for twice, because of what stands beside it.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import AsyncIterator, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache

import httpx

from promptpo.common import bounds

#: Bytes of an error's body that are read.
_ERROR_BYTES = 1 << 16


class AnswerTooLarge(Exception):
    """An answer has more bytes than are read."""


@dataclass
class RawAnswer:
    """The body of the last successful answer; ``whole`` once its end has come.

    ``too_large``: it had more than ``bounds.ANSWER_BYTES`` and was not read to its end.
    ``status`` and ``headers`` are of the last answer of any kind, and None before there is one;
    ``error`` is the beginning of the body of one that was no success.
    """

    data: bytearray = field(default_factory=bytearray)
    whole: bool = False
    too_large: bool = False
    status: int | None = None
    headers: Mapping[str, str] | None = None
    error: bytearray = field(default_factory=bytearray)

    @property
    def failed(self) -> bool:
        """Whether the server answered, and that it failed."""
        return self.status is not None and not 200 <= self.status < 300


_listening: ContextVar[RawAnswer | None] = ContextVar("_listening", default=None)


@contextlib.contextmanager
def listening() -> Iterator[RawAnswer]:
    """Keep what httpx receives for the current task while the block lasts."""
    install()
    raw = RawAnswer()
    token = _listening.set(raw)
    try:
        yield raw
    finally:
        _listening.reset(token)


@cache
def install() -> None:
    """Have httpx's transport hand its answers to whoever listens; others notice nothing.

    At the transport, because litellm and the SDKs each make clients of their own.
    """
    send = httpx.AsyncHTTPTransport.handle_async_request

    async def handle(self: httpx.AsyncHTTPTransport, request: httpx.Request) -> httpx.Response:
        raw = _listening.get()
        if raw is None:
            return await send(self, request)
        request.headers["Accept-Encoding"] = "identity"  # a small answer may unpack to gigabytes
        raw.status = raw.headers = None
        response = await send(self, request)
        raw.status, raw.headers = response.status_code, response.headers
        if isinstance(response.stream, httpx.AsyncByteStream):
            response.stream = _stream(response, response.stream, raw)
        return response

    httpx.AsyncHTTPTransport.handle_async_request = handle  # type: ignore[method-assign]


def _stream(
    response: httpx.Response, stream: httpx.AsyncByteStream, raw: RawAnswer
) -> httpx.AsyncByteStream:
    coding = response.headers.pop("Content-Encoding", "identity").strip().lower()
    if coding in ("gzip", "x-gzip", "deflate"):
        response.headers.pop("Content-Length", None)
        stream = _Unpacked(stream)
    elif coding not in ("", "identity"):
        raise httpx.DecodingError(f"the server packs its answer ({coding}), unasked")
    return _Kept(stream, raw) if response.is_success else _Cut(stream, raw)


@dataclass
class _Around(httpx.AsyncByteStream):
    stream: httpx.AsyncByteStream

    async def aclose(self) -> None:
        """Close the stream below."""
        await self.stream.aclose()


@dataclass
class _Kept(_Around):
    """A successful answer, kept as it is read."""

    raw: RawAnswer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        raw = self.raw
        raw.data, raw.whole = bytearray(), False
        async for chunk in self.stream:
            raw.data += chunk
            if len(raw.data) > bounds.ANSWER_BYTES:
                raw.too_large = True
                raise AnswerTooLarge
            yield chunk
        raw.whole = True


@dataclass
class _Cut(_Around):
    """An error's body, of which the beginning is enough."""

    raw: RawAnswer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = _ERROR_BYTES
        self.raw.error = bytearray()
        async for chunk in self.stream:
            self.raw.error += chunk[:left]
            yield chunk[:left]
            left -= len(chunk)
            if left <= 0:
                return


class _Unpacked(_Around):
    """A body that a server has packed although nothing asked it to, in pieces of bounded size."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        unpack = zlib.decompressobj(zlib.MAX_WBITS | 32)
        try:
            async for chunk in self.stream:
                left = chunk
                while left and not unpack.eof:
                    yield unpack.decompress(left, _ERROR_BYTES)
                    left = unpack.unconsumed_tail
            yield unpack.flush()
        except zlib.error as e:
            raise httpx.DecodingError(str(e)) from None
