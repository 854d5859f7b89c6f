"""The command line: finds the command, runs it, turns errors into one line and an exit code."""

from __future__ import annotations

import contextlib
import importlib
import io
import sys
from collections.abc import Sequence

from promptpo.cli.parser import BY_METHOD, COMMANDS, Parser
from promptpo.cli.settings import chosen_method
from promptpo.cli.words import parts
from promptpo.common import interrupts, streams
from promptpo.common.plaintext import clean_line, shortened
from promptpo.common.terminal import flush, say
from promptpo.errors import EXIT_INTERRUPTED, PromptPOError, known_error

#: Characters of an error: a name or a value in it may be of any length.
_MOST_SAID = 2000


def main(argv: Sequence[str]) -> int:
    """Run ``promptpo ARGV``; returns the exit code (see ``promptpo.errors``)."""
    streams.open_all()
    for stream in (streams.output(), sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a sign is no error
    try:
        code = _carried_out(list(argv))
        interrupts.over(code)
    except KeyboardInterrupt:
        return _interrupted()
    return code


def _carried_out(argv: list[str]) -> int:
    """The exit code of a command, which has told what went wrong."""
    try:
        return _dispatch(argv)
    except BrokenPipeError:
        return streams.reader_gone()
    except Exception as e:
        error = known_error(e)
        if error is None:
            raise
        if isinstance(e, OSError):
            streams.silence(streams.output())
            if interrupts.heard():  # with SIGHUP the terminal has gone
                return EXIT_INTERRUPTED
        return _failed(error)


def _interrupted() -> int:
    """Say so, if anybody can still be told; returns the exit code."""
    interrupts.over(EXIT_INTERRUPTED)
    try:
        say(interrupts.WORDS, sys.stderr)
    except OSError:
        streams.silence(sys.stderr)
    return EXIT_INTERRUPTED


def _failed(error: PromptPOError) -> int:
    """Say it in one line, if anybody can still be told; returns the exit code."""
    try:
        line = shortened(f"promptpo: error: {error}".strip(), _MOST_SAID)
        say(clean_line(line), sys.stderr)
    except OSError:
        streams.silence(sys.stderr)
    return error.exit_code


def _dispatch(argv: list[str]) -> int:
    name, argv = command_of(argv)
    command = importlib.import_module(f"promptpo.cli.{COMMANDS[name].module}")
    parser: Parser = command.parser(*([chosen_method(argv)] if name in BY_METHOD else []))
    with contextlib.ExitStack() as stack:
        stack.callback(flush)
        try:
            arguments = parser.parse_args(argv)
        except SystemExit as stop:  # --help and --version have printed and are done
            return int(stop.code or 0)
        interrupts.unwind()
        code: int = command.main(arguments)
    return code


def command_of(argv: list[str]) -> tuple[str, list[str]]:
    """The command that is named, or ``run``, and the command line without its name.

    Options may stand before the name. Raises UsageError where a word is neither a command nor a
    spec to run.
    """
    from promptpo.cli import run

    certain = True
    for part in parts(argv, run.parser(chosen_method(argv))):
        if part.name:  # of an option that a search does not have, the next word may be the value
            certain = certain and part.action is not None
            continue
        word = part.value or ""
        if word in COMMANDS and "--" not in argv[: part.first]:
            return word, argv[: part.first] + argv[part.end :]
        if certain:
            from promptpo.cli import specs

            if not specs.is_spec(word):
                raise specs.neither(word)
        break
    return "run", argv
