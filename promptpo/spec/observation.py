"""The observation class: the place of each field in the flat vector, and its standalone source.

Rollouts hand observations over as flat float64 vectors. The class that policies see is generated
from the author's class by :func:`standalone_source`; it needs numpy only, and the same text runs
in the sandbox and ships inside exported policies.
"""

from __future__ import annotations

import ast
import math
import textwrap
import typing
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from promptpo.spec.definition import Bound, Field, Flat
from promptpo.spec.source import PartError, free_names, source_of

Kind = Literal["float", "int", "bool", "array"]

_KINDS: dict[Any, Kind] = {float: "float", int: "int", bool: "bool", np.ndarray: "array"}


@dataclass(frozen=True)
class LayoutField:
    """One field and its place: elements ``start`` to ``stop`` of the flat vector."""

    name: str
    kind: Kind
    shape: tuple[int, ...]
    start: int
    stop: int
    field: Field

    @property
    def slice(self) -> slice:
        """The field's elements in the flat vector."""
        return slice(self.start, self.stop)


@lru_cache(maxsize=256)
def layout(observation: type) -> tuple[LayoutField, ...]:
    """Return the fields of an observation class in their order.

    Raises:
        PartError: a field without ``field(...)``, an unknown type, or a shape that does not fit.
    """
    source = source_of(observation)
    if not isinstance(source.node, ast.ClassDef):
        raise PartError("observation", "observation must be a class")
    if observation.__bases__ != (object,):
        raise PartError(
            "observation",
            f"class {observation.__name__} must not inherit: the model sees only this class; "
            "write all its fields in it",
            source.first_line,
        )
    try:
        hints = typing.get_type_hints(observation)
    except NameError as error:
        raise PartError("observation", f"{error} in an annotation", source.first_line) from error
    fields: list[LayoutField] = []
    start = 0
    for node in source.node.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            name = node.target.id
            kind, meta = _checked(observation, name, hints.get(name), source.line(node))
            size = math.prod(meta.shape or ())
            fields.append(LayoutField(name, kind, meta.shape or (), start, start + size, meta))
            start += size
        for target in node.targets if isinstance(node, ast.Assign) else []:
            name = getattr(target, "id", "")
            if isinstance(vars(observation).get(name), Field):
                problem = f"has no type; write {name}: float = field(...), or int, ..."
                raise PartError("observation", f"field {name!r} {problem}", source.line(node))
    if not fields:
        message = (
            f"class {observation.__name__} has no fields; write e.g. speed: float = field(...)"
        )
        raise PartError("observation", message, source.first_line)
    return tuple(fields)


def observation_size(observation: type) -> int:
    """Return the length of the flat vector that fills an observation class."""
    return layout(observation)[-1].stop


def _checked(observation: type, name: str, hint: object, line: int) -> tuple[Kind, Field]:
    """Return kind and description of one field, or raise what is wrong with it."""
    meta = vars(observation).get(name)
    kind = _KINDS.get(typing.get_origin(hint) or hint)
    shape = getattr(meta, "shape", None)
    lengths = shape if isinstance(shape, tuple) else ()
    problem = None
    if name.startswith("_"):
        problem = "starts with an underscore; policies cannot read it: rename it"
    elif not isinstance(meta, Field):
        problem = "has no description; assign field(unit=..., low=..., high=..., doc=...)"
    elif kind is None:
        problem = "must be annotated float, int, bool or np.ndarray"
    elif kind == "array" and not (lengths and all(isinstance(n, int) and n > 0 for n in lengths)):
        problem = "is an array and needs its shape, e.g. field(shape=(3,), ...)"
    elif kind != "array" and shape not in (None, ()):
        problem = f"has shape {shape} but is annotated {kind}; annotate it np.ndarray"
    if problem or not isinstance(meta, Field) or kind is None:
        raise PartError("observation", f"field {name!r} {problem}", line)
    for part in ("unit", "frame", "doc"):
        words = getattr(meta, part)
        if not isinstance(words, str):
            wrong = f"{part} must be a text, not {type(words).__name__} {words!r:.60}"
            raise PartError("observation", f"field {name!r}: {wrong}", line)
    if problem := _bounds_problem(meta):
        raise PartError("observation", f"field {name!r}: {problem}", line)
    return kind, meta


def _bounds_problem(meta: Field) -> str:
    """Return the problem of a field's bounds: their type, number or order; empty without any."""
    size = math.prod(meta.shape or ())
    bounds: dict[str, Flat] = {}
    for side, bound in (("low", meta.low), ("high", meta.high)):
        if bound is None:
            continue
        try:
            numbers = np.array(bound, dtype=np.float64)
        except (TypeError, ValueError):
            return f"{side} must be a number or one per element, not {bound!r:.60}"
        if np.isnan(numbers).any():
            return f"{side} is no number; leave it out where there is no bound"
        if numbers.ndim > 1:
            return f"{side} has rows of numbers; write one number, or all of them in one row"
        if numbers.ndim == 1 and numbers.size != size:
            shape = f"the field has {size}, by its shape {meta.shape}" if meta.shape else "needs 1"
            return f"{side} has {numbers.size} numbers, but {shape}"
        bounds[side] = np.broadcast_to(numbers, (size,))
    if len(bounds) == 2 and (bounds["low"] > bounds["high"]).any():
        at = int((bounds["low"] > bounds["high"]).argmax())
        where = f" at element {at}" if meta.shape else ""
        low, high = bounds["low"][at], bounds["high"][at]
        return f"low {low:g} is above high {high:g}{where}; exchange or correct them"
    return ""


@lru_cache(maxsize=256)
def standalone_source(observation: type) -> str:
    """Return Python source of ``class Observation``, filled from a flat float64 vector.

    The class has the author's docstring, an ``__init__(self, flat)`` that fills every field with
    owned values (arrays are copies with ``.base is None``), and the author's methods, properties
    and constants verbatim. It imports numpy, and math if a method uses it.

    Raises:
        PartError: a method uses a name of the spec's module, which would not exist there.
    """
    fields = layout(observation)
    source = source_of(observation)
    visible = {"np", "math", source.node.name}
    body: list[str] = []
    extra: list[str] = []
    for index, node in enumerate(source.node.body):
        if isinstance(node, ast.AnnAssign):
            continue
        segment = source.segment(node)
        if index == 0 and ast.get_docstring(source.node) is not None:
            body += [segment, ""]
            continue
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            message = "an observation class gets its __init__ from promptpo; remove this one"
            raise PartError("observation", message, source.line(node))
        extra += ["", segment]
    unknown = [name for name in free_names(source.text) if name not in visible | {"field"}]
    if unknown:
        message = (
            f"class {source.node.name} uses {unknown[0]!r}, which does not exist where policies "
            "run and which the model would not see; use only np, math, numbers and self in it"
        )
        raise PartError("observation", message, source.first_line)
    body.append("    def __init__(self, flat):")
    for item in fields:
        body += [f"        # {line}" for line in describe(item)]
        body.append(f"        self.{item.name} = {_fill(item)}")
    text = "\n".join(["class Observation:", *body, *extra])
    if source.node.name != "Observation":
        text += f"\n\n\n{source.node.name} = Observation"
    imports = ["import math"] if "math" in free_names(source.text) else []
    return "\n".join([*imports, "import numpy as np", "", "", text, ""])


@lru_cache(maxsize=256)
def observation_class(observation: type) -> Callable[[Flat], Any]:
    """Return the class that policies see, which makes an observation of a flat vector."""
    space: dict[str, Any] = {}
    exec(standalone_source(observation), space)  # noqa: S102 - the author's own class
    return space["Observation"]  # type: ignore[no-any-return]


def _fill(item: LayoutField) -> str:
    """Return the expression that reads one field from ``flat``."""
    if item.kind != "array":
        return f"{item.kind}(flat[{item.start}])"
    part = f"flat[{item.start}:{item.stop}]"
    if len(item.shape) > 1:
        part += f".reshape({item.shape})"
    return f"np.array({part})"


def describe(item: LayoutField) -> list[str]:
    """Return comment lines on one field: type or shape, unit, range, frame, doc."""
    meta = item.field
    facts = [f"shape {item.shape}" if item.kind == "array" else item.kind]
    facts += [meta.unit] if meta.unit else []
    if meta.low is not None or meta.high is not None:
        facts.append(f"range {_bound(meta.low, '-inf')} to {_bound(meta.high, 'inf')}")
    facts += [f"frame {meta.frame}"] if meta.frame else []
    text = ", ".join(facts) + (f"; {meta.doc}" if meta.doc else "")
    return textwrap.wrap(" ".join(text.split()), width=88)


def _bound(bound: Bound, missing: str) -> str:
    if bound is None:
        return missing
    if isinstance(bound, int | float | np.number):
        return f"{bound:g}"
    return "(" + ", ".join(f"{value:g}" for value in bound) + ")"
