"""What a language model is opened with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from promptpo.types import Key

#: What ``--model`` calls the synthesizer that stands in for a language model.
BUILTIN = "builtin"


def _silent(_: str) -> None:
    """Drop a notice."""


def _fine() -> None:
    """Find nothing against a request."""


@dataclass(frozen=True)
class ModelSettings:
    """How the models of a run are reached.

    ``name`` is ``PROVIDER/NAME`` as litellm spells it, ``manual``, ``builtin``, ``recorded``,
    ``recorded:PATH`` or ``file:PATH``. ``call_timeout`` is the absolute deadline of one call in
    seconds, retries included; the wait for a free slot (``max_concurrency``) does not count.
    ``folder`` receives the prompts of ``manual``; ``recording`` is what plain ``recorded`` replays,
    and ``write`` answers the calls of ``builtin`` and ``file:`` by their keys. ``notify`` gets
    one-line notices for the user; ``check`` is called before each request, and raises where none
    may be made any more. None for ``temperature`` or ``max_reply_tokens`` leaves the
    provider's default.
    """

    name: str
    api_base: str | None = None
    temperature: float | None = None
    max_concurrency: int = 4
    call_timeout: float = 600.0
    max_reply_tokens: int | None = None
    folder: Path = Path("prompts")
    recording: Path | None = None
    write: Callable[[Key], str] | None = None
    notify: Callable[[str], None] = _silent
    check: Callable[[], None] = _fine
