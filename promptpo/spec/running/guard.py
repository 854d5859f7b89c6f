"""A spec's own statements, run in our process: what would hang or end it becomes an exception."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any, NoReturn

from promptpo.common.interrupts import hear

#: Seconds between two looks at the time. They are counted, so that Ctrl-Z is no time that passes.
_TICK = 0.25


class ProcessExit(BaseException):
    """What would have ended the command without a word, or as if by Ctrl-C, was done."""


class TookTooLong(BaseException):
    """What was to be run within a limit is still running."""


@contextlib.contextmanager
def exit_raises() -> Iterator[None]:
    """``os._exit`` raises ProcessExit meanwhile, in this thread of this process."""
    real, here = os._exit, (os.getpid(), threading.get_ident())
    meanwhile = True

    def named(status: int) -> NoReturn:
        if meanwhile and (os.getpid(), threading.get_ident()) == here:
            raise ProcessExit(f"os._exit({status!r}) was called")
        real(status)

    os._exit = named
    try:
        yield
    finally:
        meanwhile = False
        if os._exit is named:
            os._exit = real


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TookTooLong in the main thread where it takes longer.

    It is interrupted as by Ctrl-C; so where something else answers to that, there is no limit.
    """
    main = threading.main_thread()
    before: Any = signal.getsignal(signal.SIGINT)
    raises = before in (signal.default_int_handler, hear)
    if threading.current_thread() is not main or not raises:
        yield
        return
    done, late, heard = threading.Event(), threading.Event(), threading.Event()

    def interrupt(signum: int, frame: FrameType | None) -> None:
        if late.is_set():
            raise KeyboardInterrupt
        heard.set()
        before(signum, frame)

    def watch() -> None:
        for _ in range(math.ceil(seconds / _TICK)):
            if done.wait(_TICK):
                return
        late.set()
        while not done.wait(_TICK):  # more than once, for a spec may suppress it
            signal.pthread_kill(main.ident or 0, signal.SIGINT)

    signal.signal(signal.SIGINT, interrupt)
    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    except KeyboardInterrupt as error:
        if late.is_set():
            raise TookTooLong(f"took longer than {seconds:g} s") from None
        if not heard.is_set():
            raise ProcessExit("KeyboardInterrupt was raised") from error
        raise
    finally:
        done.set()
        signal.signal(signal.SIGINT, before)


def reraise_interrupt(error: BaseException) -> None:
    """Raise again what Ctrl-C raised: every other exception in a spec's code is the spec's.

    ``SystemExit`` is, and so is ``KeyboardInterrupt`` where nobody can interrupt.
    """
    heard = threading.current_thread() is threading.main_thread() and signal.getsignal(
        signal.SIGINT
    ) not in (signal.SIG_IGN, None)
    if isinstance(error, KeyboardInterrupt) and heard:
        raise error
