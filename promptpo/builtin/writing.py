"""The text of a policy: what all structures have in common."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from promptpo.builtin.spaces import Number, listed

#: Numbers farther out than this many scales are cut: an unusual one is not to decide by itself.
CUT = 3.0


def policy(doc: str, constants: Sequence[str], methods: Sequence[str]) -> str:
    """A source with the class Policy: what it is, its constants, its methods."""
    about = textwrap.fill(doc, 88)
    head = "\n".join(part.rstrip("\n") + "\n" for part in constants if part)
    body = "\n\n".join(textwrap.indent(method.strip("\n"), "    ") for method in methods)
    inside = textwrap.indent(f'"""{about}"""' if "\n" not in about else f'"""{about}\n"""', "    ")
    text = f"import numpy as np\n\n{head}\n\nclass Policy:\n{inside}\n\n{body}\n"
    return re.sub(r"\n{4,}", "\n\n\n", text)


def remembered(first: str) -> str:
    """Methods that begin every episode with a statement, whoever keeps the object."""
    made = "def __init__(self):\n    self.reset()\n"
    return f"{made}\ndef reset(self):\n    {first}\n"


def scaled(read: Sequence[Number]) -> tuple[str, str]:
    """Constants and method by which a policy reads these numbers, each about from -1 to 1."""
    middles, scales = [n.middle for n in read], [n.scale for n in read]
    constants = (
        "# What is read: minus CENTRE, divided by SCALE, and cut.\n"
        f"CENTRE = np.array({listed(middles)})\nSCALE = np.array({listed(scales)})\n"
    )
    texts = "".join(f"        {n.text},\n" for n in read)
    method = (
        f"def read(self, obs):\n    x = np.array([\n{texts}    ], dtype=float)\n"
        f"    return np.clip((x - CENTRE) / SCALE, {-CUT}, {CUT})\n"
    )
    return constants, method


def column(texts: Sequence[str], indent: int = 8) -> str:
    """Expressions as an array, one a line where they are long; a row by its name.

    Numbers from a row's first on are taken for the whole row.
    """
    line = ", ".join(texts)
    field = texts[0].partition("[")[0]
    if texts[0] != field and list(texts) == [f"{field}[{i}]" for i in range(len(texts))]:
        return f"np.ravel({field})"
    if len(line) < 60:
        return f"np.array([{line}], dtype=float)"
    inner = "".join(f"{' ' * (indent + 4)}{text},\n" for text in texts)
    return f"np.array([\n{inner}{' ' * indent}], dtype=float)"
