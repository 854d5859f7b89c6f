"""The command line: finds the command, runs it, turns errors into one line and an exit code."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Sequence

from promptpo.cli.parser import COMMANDS, is_option
from promptpo.common import interrupts, terminal
from promptpo.common.plaintext import clean_line, shortened
from promptpo.common.terminal import STATUS, flush, say
from promptpo.errors import EXIT_INTERRUPTED, known_error

#: Characters of an error: a name or a value in it may be of any length.
_MOST_SAID = 2000


def main(argv: Sequence[str]) -> int:
    """Run ``promptpo ARGV``; returns the exit code (see ``promptpo.errors``)."""
    terminal.open_all()
    for stream in (terminal.output(), sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a sign is no error
    try:
        code = _run(list(argv))
        interrupts.over(code)
    except KeyboardInterrupt:
        interrupts.over(EXIT_INTERRUPTED)
        _complain(interrupts.WORDS)
        return EXIT_INTERRUPTED
    return code


def _run(argv: list[str]) -> int:
    """Carry out a command, and say what went wrong; returns the exit code."""
    try:
        return _dispatch(argv)
    except BrokenPipeError:
        return terminal.reader_gone()
    except Exception as e:
        error = known_error(e)
        if error is None:
            raise
        if isinstance(e, OSError):
            terminal.silence(terminal.output())
            if interrupts.heard():  # with SIGHUP the terminal has gone
                return EXIT_INTERRUPTED
        _complain(clean_line(shortened(f"promptpo: error: {error}".strip(), _MOST_SAID)))
        return error.exit_code


def _complain(line: str) -> None:
    """Print a line on standard error, if anybody can still read it."""
    try:
        say(line, sys.stderr)
    except OSError:
        terminal.silence(sys.stderr)


def _dispatch(argv: list[str]) -> int:
    if "--json" not in argv:
        STATUS.show("starting")
    name, argv = ("help", []) if argv in (["-h"], ["--help"]) else command_of(argv)
    parser = COMMANDS[name].parser()
    if "--json" not in argv and name != "run":
        STATUS.show(f"promptpo {name}")
    with contextlib.ExitStack() as stack:
        stack.callback(flush)
        stack.callback(STATUS.end)
        try:
            arguments = parser.parse_args(argv)
        except SystemExit as stop:  # --help and --version have printed and are done
            return int(stop.code or 0)
        interrupts.unwind()
        return COMMANDS[name].main(arguments)


def command_of(argv: list[str]) -> tuple[str, list[str]]:
    """Return the command that is named, or ``run``, and the command line without its name.

    Options may stand before the name. Raises UsageError where a word is neither a command nor a
    spec to run.
    """
    from promptpo.cli import specs

    run = COMMANDS["run"].parser()
    certain, place, commands = True, 0, COMMANDS
    while place < len(argv) and (is_option(argv[place]) or argv[place] == "--"):
        if argv[place] == "--":
            place, commands = place + 1, {}
            break
        option, equals, _ = argv[place].partition("=")
        takes_value = run.takes_value(option)
        certain = certain and takes_value is not None  # else the next word may be its value
        place += 2 if takes_value and not equals else 1
    word = argv[place] if place < len(argv) else None
    if word in commands:
        return str(word), argv[:place] + argv[place + 1 :]
    if word is not None and certain and not specs.is_spec(word):
        raise specs.neither(word)
    return "run", argv
