"""Text from values: ``str.format`` without attributes, and ``print``, which is captured."""

from __future__ import annotations

import io
import string

from sandbox.language import names


def safe_format(template: str, /, *args: object, **kwargs: object) -> str:
    """``str.format`` whose fields are plain names or numbers: no attribute, no item access."""
    text = str.__str__(template)
    _check_fields(text)
    return text.format(*args, **{names.readable(name): value for name, value in kwargs.items()})


def _check_fields(text: str, depth: int = 0) -> None:
    for _, field, spec, _ in string.Formatter().parse(text):
        if field and ("." in field or "[" in field):
            raise AttributeError(f"str.format field {{{field}}} is not available; use an f-string")
        if spec and depth < 2:
            _check_fields(spec, depth + 1)


class Printer:
    """``print``: keeps the first ``limit`` characters that were printed."""

    def __init__(self, limit: int = 0) -> None:
        self.limit = limit
        self.clear()

    def clear(self) -> None:
        """Forget what was printed."""
        self._parts: list[str] = []
        self._kept = self._dropped = 0

    def write(
        self,
        *args: object,
        sep: str | None = None,
        end: str | None = None,
        file: object = None,
        flush: bool = False,
    ) -> None:
        """As the builtin; ``file`` and ``flush`` have no meaning here.

        Raises:
            TypeError: ``sep`` or ``end`` is no plain string (a subclass could lie about itself).
        """
        between, last = _plain("sep", sep, " "), _plain("end", end, "\n")
        text = between.join(map(str, args)) + last
        room = self.limit - self._kept
        if room > 0:
            self._parts.append(text[:room])
            self._kept += min(room, len(text))
        self._dropped += max(0, len(text) - room)

    @property
    def text(self) -> str:
        """What is kept, with a note where it was cut."""
        kept = names.readable("".join(self._parts))
        if self._dropped:
            return f"{kept}\n[output cut here: {self._dropped} more characters]"
        return kept


class Stream(io.TextIOBase):
    """The file to which libraries print."""

    def __init__(self, printer: Printer) -> None:
        super().__init__()
        self._printer = printer

    def write(self, text: str) -> int:
        """As for any file."""
        self._printer.write(text, end="")
        return len(text)


def _plain(name: str, text: object, default: str) -> str:
    if text is None:
        return default
    if type(text) is not str:
        raise TypeError(f"{name} must be None or a plain string")
    return text
