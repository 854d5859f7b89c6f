"""Writes the text of a twin from that of its original.

Of the original's module the parts that a model sees are taken; passages that depend on the world or
the interface are replaced, names are exchanged, fields and their bounds are put in another order.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import indent as indent_all

import numpy as np

from promptpo.spec import Bound, EnvSpec, Field, layout, load_spec, spec_text
from promptpo.spec.writing import docstring, field_source, wrapped

#: Stands in a passage for any break between words, so that wrapped text is found too.
_BREAK = r"\s+"


@dataclass(frozen=True)
class Text:
    """The parts of a spec that a model sees.

    ``fields`` hold name, annotation and description; ``members`` the sources of the observation
    class's methods; ``functions`` those of the reward's helpers in this module and the reward.
    """

    title: str
    paragraphs: tuple[str, ...]
    observation: tuple[str, tuple[str, ...]]
    fields: tuple[tuple[str, str, Field], ...]
    members: tuple[str, ...]
    action: str
    functions: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """The fields in their order."""
        return [name for name, _, _ in self.fields]


def text_of(name: str) -> tuple[Text, list[str]]:
    """The text of a shipped spec, and the lines with which it imports what its reward calls."""
    spec = load_spec(name)
    module = ast.parse(spec_text(spec))
    source = spec_text(spec)
    nodes = {n.name: n for n in module.body if isinstance(n, ast.ClassDef | ast.FunctionDef)}
    called = [helper.__name__ for helper in spec.reward_helpers]
    own = [name for name in (*called, "reward") if name in nodes]
    imports = [
        ast.unparse(replace_names(node, called))
        for node in module.body
        if isinstance(node, ast.ImportFrom) and {a.name for a in node.names} & {*called}
    ]
    seen = nodes["Observation"]
    assert isinstance(seen, ast.ClassDef)  # noqa: S101 - what load_spec has checked
    members = [_segment(source, n) for n in seen.body if isinstance(n, ast.FunctionDef)]
    text = Text(
        title=spec.title,
        paragraphs=_paragraphs(spec.description),
        observation=_docstring(ast.get_docstring(seen) or ""),
        fields=tuple(_fields(spec, seen)),
        members=tuple(members),
        action=inspect.cleandoc(spec.action),
        functions=tuple(_segment(source, nodes[name]) for name in own),
    )
    return text, imports


def replace_names(node: ast.ImportFrom, wanted: Iterable[str]) -> ast.ImportFrom:
    """An import of those names alone."""
    names = [alias for alias in node.names if alias.name in set(wanted)]
    return ast.ImportFrom(node.module, names, node.level)


def _fields(spec: EnvSpec, seen: ast.ClassDef) -> Iterable[tuple[str, str, Field]]:
    annotations = {
        node.target.id: ast.unparse(node.annotation)
        for node in seen.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    for item in layout(spec.observation):
        yield item.name, annotations[item.name], item.field


def _segment(source: str, node: ast.stmt) -> str:
    """The lines of a definition as they stand."""
    return "\n".join(source.splitlines()[node.lineno - 1 : node.end_lineno])


def _docstring(text: str) -> tuple[str, tuple[str, ...]]:
    title, _, rest = text.partition("\n")
    return title, _paragraphs(rest)


def _paragraphs(text: str) -> tuple[str, ...]:
    parts = [part for part in re.split(r"\n\s*\n", inspect.cleandoc(text)) if part.strip()]
    return tuple(part if _has_lines(part) else " ".join(part.split()) for part in parts)


def _has_lines(part: str) -> bool:
    """Whether a paragraph's lines are its own, as in a list, and not those of wrapping."""
    flowing = " ".join(part.split())
    if any(wrapped(flowing, indent) == indent_all(part, " " * indent) for indent in (0, 4)):
        return False
    return len(re.findall(r"^\s+\S|^[-*] |^\w[\w\[\], ]*[:;]", part, re.MULTILINE)) > 1


class Passages:
    """Replaces passages of a text by others, all at once; knows which were never found."""

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        pairs = dict(zip(old, new, strict=True))
        self._new = {self._key(passage): other for passage, other in pairs.items()}
        self.missing = set(self._new)
        ordered = sorted(self._new, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(self._expression, ordered)) or r"(?!)")

    @staticmethod
    def _expression(passage: str) -> str:
        """Finds a passage between whole words and numbers, however its lines are broken."""
        before = r"(?<![\w.])" if passage[0].isdigit() else r"(?<!\w)"
        return rf"{before}{_BREAK.join(map(re.escape, passage.split()))}(?!\w)"

    @staticmethod
    def _key(passage: str) -> str:
        return " ".join(passage.split())

    def __call__(self, text: str) -> str:
        """The text with its passages replaced."""
        return self._pattern.sub(self._replaced, text)

    def _replaced(self, found: re.Match[str]) -> str:
        key = self._key(found[0])
        self.missing.discard(key)
        return self._new[key]


def renamed(text: str, names: Mapping[str, str]) -> str:
    """The text with words exchanged, capitals kept."""
    if not names:
        return text
    known = {**names, **{a[:1].upper() + a[1:]: b[:1].upper() + b[1:] for a, b in names.items()}}
    pattern = "|".join(map(re.escape, sorted(known, key=len, reverse=True)))
    return re.sub(rf"(?<!\w)(?:{pattern})(?!\w)", lambda found: known[found[0]], text)


@dataclass(frozen=True)
class Rewriting:
    """What is done to a text: passages, then names; then the order of the fields and their numbers.

    ``bounds`` are the limits of fields where they are not the original's. ``columns``, ``signs``
    and ``offsets`` are by field: where each of its numbers comes from in the field, its sign, and
    what is added; limits are moved with the numbers.
    """

    passages: Passages
    names: Mapping[str, str]
    order: Sequence[str]
    bounds: Mapping[str, tuple[Bound, Bound]]
    columns: Mapping[str, Sequence[int]]
    signs: Mapping[str, Sequence[int]]
    offsets: Mapping[str, Sequence[float]]

    def __call__(self, text: Text) -> Text:
        """The twin's text. Raises ValueError where a passage is not in the original's."""
        by_name = {name: (name, kind, found) for name, kind, found in text.fields}
        result = Text(
            title=self._words(text.title),
            paragraphs=tuple(map(self._words, text.paragraphs)),
            observation=(
                self._words(text.observation[0]),
                tuple(map(self._words, text.observation[1])),
            ),
            fields=tuple(self._field(*by_name[name]) for name in self.order),
            members=tuple(map(self._words, text.members)),
            action=self._words(text.action),
            functions=tuple(map(self._words, text.functions)),
        )
        if self.passages.missing:
            raise ValueError(f"not in the original's text: {sorted(self.passages.missing)}")
        return result

    def _words(self, text: str) -> str:
        return renamed(self.passages(text), self.names)

    def _field(self, name: str, kind: str, found: Field) -> tuple[str, str, Field]:
        low, high = self._bounds(name, found)
        doc, frame = self._words(found.doc), self._words(found.frame)
        unit = self.passages(found.unit)
        other = replace(found, unit=unit, doc=doc, frame=frame, low=low, high=high)
        return self.names.get(name, name), kind, other

    def _bounds(self, name: str, found: Field) -> tuple[Bound, Bound]:
        low, high = self.bounds.get(name, (found.low, found.high))
        if name not in self.columns or (low is None and high is None):
            return low, high
        columns = np.array(self.columns[name])
        signs, offsets = (
            np.array(values[name], dtype=float) for values in (self.signs, self.offsets)
        )
        size = len(columns)
        if (columns == range(size)).all() and (signs == 1).all() and not offsets.any():
            return low, high
        bounds = [
            np.broadcast_to(np.asarray(end if side is None else side, dtype=float), size)
            for side, end in ((low, -np.inf), (high, np.inf))
        ]
        ends = np.sort([signs * bound[columns] + offsets for bound in bounds], axis=0)
        return _bound(ends[0], low, -np.inf), _bound(ends[1], high, np.inf)


def _bound(numbers: np.ndarray, form: Bound, none: float) -> Bound:
    """Bounds in the form that the original has: one number where all are equal."""
    values = [round(float(number), 9) + 0.0 for number in numbers]
    if all(value == none for value in values):
        return None
    return values[0] if len(set(values)) == 1 and not isinstance(form, tuple) else tuple(values)


def written(text: Text) -> dict[str, str]:
    """The parts as source: module docstring, observation class, ``ACTION``, functions."""
    title, paragraphs = text.observation
    fields = "\n".join(field_source(*item) for item in text.fields)
    members = "".join(f"\n\n{member}" for member in text.members)
    head = docstring(title, paragraphs, indent=4)
    return {
        "docstring": docstring(text.title, text.paragraphs),
        "observation": f"class Observation:\n{head}\n\n{fields}{members}",
        "action": "\n".join(map(wrapped, _action_lines(text.action))),
        "functions": "\n\n\n".join(text.functions),
    }


def _action_lines(action: str) -> tuple[str, ...]:
    return (action,) if _has_lines(action) else (" ".join(action.split()),)
