"""Ctrl-C, SIGTERM and SIGHUP: the first one ends what is going on, and the rest change nothing.

A shell sends each of them to all processes of a terminal, people press keys more than once, and a
second exception would break off what the first one tidies up.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, NoReturn

from promptpo.errors import EXIT_INTERRUPTED

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

#: What is said where nothing else is.
WORDS = "promptpo: interrupted"

#: Seconds after the first one in which further ones change nothing; then this process ends at once.
PATIENCE = 10.0

_leave = os._exit  # a spec's statements are run with another one in its place


class _Command:
    """This process as a command: when it was first interrupted, and what that does."""

    installed = False
    first: float | None = None
    code = EXIT_INTERRUPTED
    tell: Callable[[], None]


def install() -> None:
    """Hear all of them from now on, until this process is gone; each ends it, with one line.

    SIGINT is heard where a shell has started the command with it ignored (``nohup ... &``), too.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    _Command.installed, _Command.tell = True, end_at_once
    for number in ENDING:
        if number == signal.SIGINT or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, hear)
    sys.unraisablehook = _lost_in
    atexit.register(_end)  # runs after all others


def unwind() -> None:
    """Let the first signal raise KeyboardInterrupt from now on, where nothing else handles it."""
    _Command.tell = _raise


def over(code: int) -> None:
    """Ignore signals from now on: all is done but leaving, with this exit code."""
    _Command.code, _Command.tell = code, _nothing


def heard() -> bool:
    """Return whether this command has been interrupted."""
    return _Command.installed and _Command.first is not None


def hear(signum: int, frame: FrameType | None) -> None:
    """Do what the first signal of a command does; nothing of one that follows it."""
    _hear(_Command.tell, end_at_once, PATIENCE)


@contextlib.contextmanager
def heard_by(
    tell: Callable[[], None], again: Callable[[], None] | None = None, pause: float = PATIENCE
) -> Iterator[None]:
    """Let the first signal call ``tell``, and those ``pause`` seconds later ``again``.

    Those that are ignored stay so. In any thread but the main one nothing changes. ``again`` is by
    default to end this process, or where it is no command of ours to raise KeyboardInterrupt.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    if not _Command.installed:
        _Command.first = None
    later = again or (end_at_once if _Command.installed else _raise)
    before: dict[signal.Signals, Any] = {}
    for number in ENDING:
        handler = signal.getsignal(number)
        if handler is not None and handler is not signal.SIG_IGN:
            before[number] = handler
            signal.signal(number, lambda *_: _hear(tell, later, pause))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _hear(tell: Callable[[], None], again: Callable[[], None], pause: float) -> None:
    now = time.monotonic()
    if _Command.first is None:
        _Command.first = now
        tell()
    elif now - _Command.first > pause:
        again()


def end_at_once() -> NoReturn:
    """Say it in one line, and leave without another word."""
    with contextlib.suppress(OSError):
        os.write(2, f"{WORDS}\n".encode())
    _leave(EXIT_INTERRUPTED)


def _raise() -> NoReturn:
    raise KeyboardInterrupt


def _nothing() -> None:
    """Let a signal pass."""


def _end() -> None:
    """Hear nothing more; where something was heard, spare Python its own way of ending by it."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)
    if heard():
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        _leave(_Command.code)


def _lost_in(unraisable: Any) -> None:  # noqa: ANN401 - sys.UnraisableHookArgs
    """KeyboardInterrupt was raised where Python drops exceptions, as in ``__del__``."""
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        end_at_once()
    sys.__unraisablehook__(unraisable)
