"""``promptpo completion SHELL``: the script that completes promptpo's words in a shell.

The script asks this command, with the line as it stands (``--line``), what may come next: so specs,
runs and methods are those of this moment. Libraries that turn an argparse parser into a script
(argcomplete, shtab) know no command that may be left out, and no options that may stand anywhere.
"""

from __future__ import annotations

import argparse
import shlex
from importlib.resources import files

from promptpo.cli.parser import Parser, one_of
from promptpo.common.terminal import say

SHELLS = ("bash", "zsh", "fish")

#: What bash would read as more than a character of a word.
_SPECIAL = frozenset(" \t\\\"'`$&|;<>()[]{}*?!#")


def parser() -> Parser:
    """The shell."""
    p = Parser("completion", epilog="The script says in its first lines how it is installed.")
    p.add_argument("shell", type=one_of(SHELLS), metavar="|".join(SHELLS), help="the shell")
    p.add_argument("--line", help=argparse.SUPPRESS)
    p.add_argument("--breaks", default="", help=argparse.SUPPRESS)
    return p.finish()


def main(arguments: argparse.Namespace) -> int:
    """Print the script, or what the script asks for."""
    shell: str = arguments.shell
    if arguments.line is None:
        say(files("promptpo.cli").joinpath("shells", f"{shell}.sh").read_text("utf-8").rstrip())
        return 0
    from promptpo.cli.candidates import candidates

    words, quoted = split(arguments.line)
    for word, meaning in candidates(words[1:-1], words[-1]).items():
        if shell == "bash":
            say(word if quoted else _for_bash(word, words[-1], arguments.breaks))
        else:
            say(f"{word}\t{meaning}")
    return 0


def split(line: str) -> tuple[list[str], bool]:
    """The words of a line up to the cursor, the last one begun; whether a quote in it is open."""
    for closing in ("", "'", '"'):
        lexer = shlex.shlex(line + closing, posix=True, punctuation_chars=False)
        lexer.whitespace_split, lexer.commenters = True, ""
        try:
            words = list(lexer)
        except ValueError:  # a quote is open, or a backslash comes last
            continue
        begun = closing or (line[-1:] and not line[-1:].isspace()) or line.endswith("\\ ")
        return [*words, *([] if begun else [""])], bool(closing)
    return [*line.split(), ""], False


def _for_bash(word: str, begun: str, breaks: str) -> str:
    """What bash is to put in the place of what it takes for the word: that after ``:`` or ``=``."""
    places = [begun.rfind(c) for c in ":=" if c in breaks]
    tail = word[max([-1, *places]) + 1 :]
    return "".join(f"\\{c}" if c in _SPECIAL else c for c in tail)
