"""What a policy is made with: the values of its ``prepare``, as they stand in an exported module.

Where they are few they are literals in it; else the arrays lie beside it, in ``prepared.npz``. The
module says where they came from in one line, from which it is known again when it is read.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sandbox
from promptpo.common.text import plural
from promptpo.export.arrays import npz
from promptpo.policies.sources import takes_prepared
from promptpo.types import Preparation

#: The file beside the policy, where there is one.
BESIDE = "prepared.npz"

#: So many numbers stand in the module itself, at most.
FEW = 200

#: Values that are named in a line, at most.
_NAMED = 12

_WIDTH = 96

_BLOCK = Template('''\
# ---- What prepare(data) returned$origin ----


def _$function():
    """What each policy is made with; nothing in it can be changed."""
$values
    for value in values.values():
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
    return MappingProxyType(values)


$name = _$function()''')

_ORIGIN = re.compile(
    r"^# ---- What prepare\(data\) returned: (\d+) transitions? of (\d+) episodes?,"
    r" ([\d.e+-]+) s of computing ----$",
    re.MULTILINE,
)

_DTYPES = {"f": "np.float64", "i": "np.int64", "b": "bool"}


@dataclass(frozen=True)
class Learned:
    """Values as ``sandbox`` packs them, and what they came from; ``transitions`` 0: unknown.

    ``seconds`` are of processor time.
    """

    values: bytes
    episodes: int = 0
    transitions: int = 0
    seconds: float = 0.0

    @classmethod
    def of(cls, preparation: Preparation, values: bytes) -> Learned:
        """What came of a candidate's ``prepare``, which returned these values."""
        p = preparation
        return cls(values, p.episodes, p.transitions, float(f"{p.seconds:.3g}"))

    @classmethod
    def stated(cls, values: bytes, module: str) -> Learned:
        """These values, with the origin that their module states."""
        said = _ORIGIN.search(module)
        if said is None:
            return cls(values)
        return cls(values, int(said[2]), int(said[1]), float(said[3]))

    @property
    def unpacked(self) -> dict[str, Any]:
        """The values by name."""
        return sandbox.unpack(self.values)

    @property
    def beside(self) -> bytes | None:
        """The content of ``prepared.npz``; None where all values stand in the module."""
        arrays = _kept_beside(self.unpacked)
        return npz({arrays[name]: self.unpacked[name] for name in arrays}) if arrays else None

    @property
    def words(self) -> str:
        """What was learned from what, in a line."""
        found = self.unpacked
        names = ", ".join([*sorted(found)[:_NAMED], *["..."] * (len(found) > _NAMED)])
        numbers = plural(_numbers(found), "number")
        origin = ""
        if self.transitions or self.seconds:
            origin = (
                f" from {plural(self.transitions, 'transition')} of"
                f" {plural(self.episodes, 'search episode')}, in {self.seconds:.3g} s of computing"
            )
        return f"Learned by its prepare(data): {names or 'nothing'} ({numbers}){origin}."


def name_in(source: str) -> str:
    """What the values are called in the module of a policy: a name that the policy has not."""
    name = "PREPARED"
    while re.search(rf"\b(?:{name}|_{name.lower()})\b", source):
        name += "_"
    return name


@dataclass(frozen=True)
class Maker:
    """How a script makes the policy of a module; ``values``: the name of what it takes, if any."""

    values: str = ""

    @property
    def names(self) -> str:
        """What the script imports."""
        return ", ".join(filter(None, (self.values, "Observation", "Policy")))

    @property
    def call(self) -> str:
        """What it calls."""
        return f"Policy({self.values})"

    @classmethod
    def of(cls, source: str, learned: Learned | None) -> Maker:
        """That of a policy's source, which may take what it has learned."""
        try:
            takes = learned is not None and takes_prepared(source)
        except SyntaxError:  # nothing tells: too deeply nested to be read here
            takes = False
        return cls(name_in(source)) if takes else cls()


def block(learned: Learned, name: str) -> str:
    """Source that defines the values under a name. It needs numpy, MappingProxyType and Path."""
    found = learned.unpacked
    arrays = _kept_beside(found)
    rows = "".join(f"    {row}\n" for n, v in found.items() for row in _row(n, v, arrays.get(n)))
    indent = "    "
    values = textwrap.indent(f"values = {{\n{rows}}}", indent)
    if arrays:
        path = f'Path(__file__).with_name("{BESIDE}")'
        opened = f"{indent}with np.load({path}, allow_pickle=False) as stored:\n"
        values = opened + textwrap.indent(values, indent)
    return _BLOCK.substitute(
        origin=_origin(learned), function=name.lower(), values=values, name=name
    )


def imports(learned: Learned) -> list[str]:
    """What ``block`` imports beside numpy."""
    path = ["from pathlib import Path"] if _kept_beside(learned.unpacked) else []
    return ["from types import MappingProxyType", *path]


def _origin(learned: Learned) -> str:
    if not learned.transitions and not learned.seconds:
        return ""
    steps, episodes = plural(learned.transitions, "transition"), plural(learned.episodes, "episode")
    return f": {steps} of {episodes}, {learned.seconds:.3g} s of computing"


def _numbers(values: Mapping[str, Any]) -> int:
    """How many numbers there are in all."""
    return sum(getattr(v, "size", 1) for v in values.values() if not isinstance(v, str))


def _kept_beside(values: Mapping[str, Any]) -> dict[str, str]:
    """The arrays that do not stand in the module: what each is called in the file beside it."""
    if _numbers(values) <= FEW:
        return {}
    arrays = [name for name, value in values.items() if isinstance(value, np.ndarray)]
    return {
        name: name if name.isidentifier() and name.isascii() else f"array {number}"
        for number, name in enumerate(arrays, 1)
    }


def _row(name: str, value: object, stored: str | None) -> Iterator[str]:
    """One value's lines in the dict."""
    if stored is not None and isinstance(value, np.ndarray):
        yield f'{_text(name)}: stored["{stored}"],  # {value.dtype} {value.shape}'
    elif isinstance(value, np.ndarray):
        yield from f"{_text(name)}: {_literal(value)},".splitlines()
    else:
        yield f"{_text(name)}: {_number(value)},"


def _literal(array: NDArray[Any]) -> str:
    """An array as source."""
    if not array.size:
        return f"np.zeros({array.shape}, dtype={_DTYPES[array.dtype.kind]})"
    if not array.ndim:
        return f"np.array({_number(array.item())})"
    rows = "\n".join(_rows(array, ""))
    return f"np.array({rows})" if "\n" not in rows else f"np.array(\n{_indented(rows)}\n)"


def _rows(array: NDArray[Any], after: str) -> Iterator[str]:
    """Lines of a list, or of lists in lists; ``after`` follows the last bracket."""
    if array.ndim == 1:
        inner = ", ".join(map(_number, array.tolist()))
        if len(inner) + 24 <= _WIDTH:
            yield f"[{inner}]{after}"
            return
        yield "["
        yield from textwrap.wrap(
            f"{inner},", _WIDTH - 20, initial_indent="    ", subsequent_indent="    "
        )
        yield f"]{after}"
        return
    yield "["
    for row in array:
        for line in _rows(row, ","):
            yield f"    {line}"
    yield f"]{after}"


def _indented(rows: str) -> str:
    return textwrap.indent(rows, "    ")


def _number(value: object) -> str:
    """A number or a string as source."""
    if isinstance(value, str):
        return _text(value)
    return re.sub(r"\b(nan|inf)$", r"np.\1", repr(value)) if type(value) is float else repr(value)


def _text(value: str) -> str:
    """A string as source, in double quotes where it can be."""
    text = repr(value)
    return text if '"' in text else f'"{text[1:-1]}"'
