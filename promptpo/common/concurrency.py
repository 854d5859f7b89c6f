"""Several things at once."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable
from typing import TypeVar

T = TypeVar("T")


async def all_of(jobs: Iterable[Awaitable[T]]) -> list[T]:
    """All results, in order; the first error only once every job has ended.

    Unlike a TaskGroup, one failure takes nothing down: a model's reply that is still under way
    was paid for, and is to be recorded.
    """
    import asyncio  # here, because the help of a command imports methods

    results = await asyncio.gather(*jobs, return_exceptions=True)
    done: list[T] = []
    for result in results:
        if isinstance(result, BaseException):
            raise result
        done.append(result)
    return done
