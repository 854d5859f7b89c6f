"""Text of programs and of replies within prompts, told apart from what the prompt itself says.

The rule: such text stands in a fence that is longer than any row of backticks in it, or it stands
in a paragraph, and there a line of it that could pass for a heading, a fence or the score of a
policy is marked as quoted, with ``> `` before it.
"""

from __future__ import annotations

import re

from promptpo.common.plaintext import clean

_NAMED = r"(?:r\d+_c\d+|candidate[ ]\d+)"

_FORGING = re.compile(
    rf"""^(?=[ \t]*(?:
        [#]{{1,6}}(?:[ \t]|$) | `{{3}} | ~{{3}} | [=-]{{3,}}[ \t]*$
        | (?:[-*+][ \t]+)?[*]{{0,2}}{_NAMED}[*]{{0,2}}[ \t]*(?:\([^()\n]*\)[ \t]*)?[:,][ \t]*
          (?:success|return|mean[ ]return|failed)\b
        | [*]{{2}}{_NAMED}[*]{{2}}
        | score:[ \t]*(?:success|return|failed)\b | winner:[ \t]*{_NAMED}
        | best[ ]so[ ]far:[ \t]*the[ ]winner | the[ ]best[ ]so[ ]far[ ]is[ ]{_NAMED}
    ))""",
    re.MULTILINE | re.VERBOSE | re.IGNORECASE,
)


def quoted(text: str) -> str:
    """Text for a paragraph, without control characters; what could pass for ours is marked."""
    return _FORGING.sub("> ", clean(text))
