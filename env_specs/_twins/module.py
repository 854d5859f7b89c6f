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

{facts}

{functions}


#: The world; factors of, or instead of, the original's numbers.
WORLD = {world}

#: The twin's numbers are the original's in this order, with these signs.
INTERFACE = {interface}


def make() -> Env:
    """The original's environment with another world, for the twin's actions."""
{make}
    return INTERFACE.connect(env)

{measured}

SPEC = replace(
    original.SPEC,
    make=make,
    observation=Observation,
    action=ACTION,
    reward=reward,
    reward_helpers=({helpers}),
{told}{tolerance}    observe=INTERFACE.observer(original.SPEC),
    expert={expert},
    references={{{references}}},
    target=None,
    published={{}},
    withheld={withheld!r},
    twin_of="{original}",
)
'''

#: The expert of a twin that has a policy in ``policies/``.
EXPERT = "expert_of(reference.Policy, Observation, INTERFACE.observer(original.SPEC))"

_FACTS = '''
FACTS = """
{text}
"""
'''

_MEASURED = '''
def measured_facts(env: Env) -> str:
    """What the live environment says of itself, as FACTS has it."""
    return {measured}
'''

_TOLD = """\
    facts=FACTS,
    measured_facts=measured_facts,
"""

_UNTOLD = """\
    facts="",
    measured_facts=None,
"""


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
    facts = recipe.facts(world, view) if recipe.facts else None
    beside = [f"from ._twins import {name}" for name in sorted(recipe.imports)]
    told = [facts.imports] if facts else []
    lines = [*told, *imports, *beside, "from ._twins.interface import Interface"]
    if expert == EXPERT:
        lines.append(f"from ._twins.policies import {recipe.original} as reference")
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
        tolerance=f"    reward_tolerance={recipe.tolerance},\n" if recipe.tolerance else "",
        helpers="".join(f"{name}, " for name in (*helpers, *own)).strip(),
        expert=expert or "None",
        references=references,
        withheld=recipe.withheld,
        facts=_FACTS.format(text=facts.text) if facts else "",
        measured=_MEASURED.format(measured=facts.measured) if facts else "",
        told=_TOLD if facts else _UNTOLD,
    )


def _titled(text: Text, title: str) -> Text:
    return replace(text, title=f"{title}:{text.title.partition(':')[2]}") if title else text


def _columns(
    recipe: Recipe, view: View, text: Text
) -> tuple[dict[str, Sequence[int]], dict[str, Sequence[int]], dict[str, Sequence[float]]]:
    moved = {name: recipe.moved(view, name, _size(found)) for name, _, found in text.fields}
    return (
        {name: field.columns for name, field in moved.items()},
        {name: field.signs for name, field in moved.items()},
        {name: field.offsets for name, field in moved.items()},
    )


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
    order, action_signs, _ = recipe.actions(view)
    if not recipe.action:
        return Interface(tuple(flat), tuple(turned), _some(added), order)
    back = tuple(order.index(index) for index in range(len(order)))
    signs_back = tuple(action_signs[index] for index in back)
    return Interface(tuple(flat), tuple(turned), _some(added), back, signs_back)


def _some(numbers: Sequence[float]) -> tuple[float, ...]:
    return tuple(numbers) if any(numbers) else ()


def _interface_source(interface: Interface) -> str:
    rows = "".join(f"    {name}={value!r},\n" for name, value in vars(interface).items())
    return f"Interface(\n{rows})"
