"""The source of a spec with an environment of its own: a whole one, true as it stands, to edit."""

from __future__ import annotations

import re
from pathlib import Path

#: A spec file as any other; the environment's name stands in it as a class and as a title.
_TEMPLATE = Path(__file__).parent / "templates" / "own_environment.py"
_CLASS, _TITLE = "CartOnRail", "Cart on rail"


def own_source(name: str) -> str:
    """The template's text with ``NightShift`` and ``Night shift`` for ``night_shift``.

    Raises:
        ValueError: the name has other characters than ASCII letters, digits, ``_``, ``-`` and
            spaces, or begins with no letter.
    """
    text = _TEMPLATE.read_text(encoding="utf-8")
    # Import sorters set a project's own packages apart: here promptpo is one, there it is not.
    text = text.replace("\n\nfrom promptpo", "\nfrom promptpo")
    if not re.fullmatch(r"[A-Za-z][\w -]*", name, re.ASCII):
        raise ValueError(name)
    words = re.findall(r"[A-Za-z0-9]+", name)
    own = "".join(word[:1].upper() + word[1:] for word in words)
    if re.search(rf"\b{own}\b", text):  # such as Observation
        own += "Env"
    title = " ".join(words)
    return text.replace(_CLASS, own).replace(_TITLE, title[:1].upper() + title[1:])
