"""The text of a twin's spec module."""

from __future__ import annotations

import math
import pprint
from collections.abc import Sequence
from dataclasses import replace

from promptpo.spec import Field

from .interface import Interface
from .recipe import Recipe, View, World
from .rewriting import Passages, Rewriting, Text, text_of, written

_TEMPLATE = '''\
{docstring}

import math
from dataclasses import replace

import numpy as np

from promptpo.spec import Env, EnvSpec, Reference, field

from . import {original} as original
{imports}

{observation}


ACTION = """
{action}
"""


{functions}


#: The world; factors of, or instead of, the original's numbers.
WORLD = {world}

#: The twin's numbers are the original's in this order, with these signs.
INTERFACE = {interface}


def make() -> Env:
    """The original's environment with another world, for the twin's actions."""
{make}
    return INTERFACE.connect(env)


SPEC = replace(
    original.SPEC,
    make=make,
    observation=Observation,
    action=ACTION,
    reward=reward,
    reward_helpers=({helpers}),
    observe=INTERFACE.observer(original.SPEC),
    expert={expert},
    references={{{references}}},
    target=None,
    published={{}},
    withheld={withheld!r},
)
'''


def module_text(
    recipe: Recipe, world: World, view: View, *, title: str, expert: str, references: str
) -> str:
    """The module of the twin that has this world, seen in this way. Raises ValueError."""
    text, imports = text_of(recipe.original)
    plain = recipe.plain_view(text.names)
    passages = Passages(recipe.passages(recipe.world, plain), recipe.passages(world, view))
    moved = _columns(recipe, view, text)
    rewriting = Rewriting(passages, view.names, view.fields, recipe.bounds(world), *moved)
    parts = written(_titled(rewriting(text), title))
    beside = [f"from ._twins import {', '.join(sorted(recipe.imports))}"] if recipe.imports else []
    lines = [*imports, *beside, "from ._twins.interface import Interface"]
    if expert:
        lines.append("from ._twins.reference import expert_of")
    helpers = [name for line in imports for name in line.partition("import ")[2].split(", ")]
    own = [part.split("(")[0].removeprefix("def ") for part in text.functions[:-1]]
    return _TEMPLATE.format(
        **parts,
        original=recipe.original,
        imports="\n".join(lines) + "\n",
        world=pprint.pformat(dict(world), width=92, sort_dicts=False),
        interface=_interface_source(interface_of(recipe, view, text)),
        make=recipe.make(world),
        helpers="".join(f"{name}, " for name in (*helpers, *own)).strip(),
        expert=expert or "None",
        references=references,
        withheld=recipe.withheld,
    )


def _titled(text: Text, title: str) -> Text:
    return replace(text, title=f"{title}:{text.title.partition(':')[2]}") if title else text


def _columns(
    recipe: Recipe, view: View, text: Text
) -> tuple[dict[str, Sequence[int]], dict[str, Sequence[int]], dict[str, Sequence[float]]]:
    columns: dict[str, Sequence[int]] = {}
    signs: dict[str, Sequence[int]] = {}
    offsets: dict[str, Sequence[float]] = {}
    for name, _, found in text.fields:
        group = _group_of(recipe, name)
        size = _size(found)
        columns[name] = view.orders[group] if group else tuple(range(size))
        turned = bool(group) and recipe.groups[group].fields[name]
        signs[name] = view.signs[group] if turned else (1,) * size
        offsets[name] = (0.0,) * size
    return columns, signs, offsets


def _group_of(recipe: Recipe, field: str) -> str:
    return next((name for name, group in recipe.groups.items() if field in group.fields), "")


def _size(found: Field) -> int:
    return math.prod(found.shape or ())


def interface_of(recipe: Recipe, view: View, text: Text) -> Interface:
    """How the twin's numbers lie to the original's."""
    columns, signs, offsets = _columns(recipe, view, text)
    starts, at = {}, 0
    for name, _, found in text.fields:
        starts[name] = at
        at += _size(found)
    flat = [starts[name] + column for name in view.fields for column in columns[name]]
    turned = [sign for name in view.fields for sign in signs[name]]
    added = [number for name in view.fields for number in offsets[name]]
    order = view.orders[recipe.action or "choices"]
    if not recipe.action:
        return Interface(tuple(flat), tuple(turned), _some(added), order)
    back = tuple(order.index(index) for index in range(len(order)))
    signs_back = tuple(view.signs[recipe.action][index] for index in back)
    return Interface(tuple(flat), tuple(turned), _some(added), back, signs_back)


def _some(numbers: Sequence[float]) -> tuple[float, ...]:
    return tuple(numbers) if any(numbers) else ()


def _interface_source(interface: Interface) -> str:
    rows = "".join(f"    {name}={value!r},\n" for name, value in vars(interface).items())
    return f"Interface(\n{rows})"
