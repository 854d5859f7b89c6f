"""Specs: what a task is, in Python that a language model reads as it stands.

A spec author imports ``EnvSpec`` and ``field`` (and ``Reference``, ``Metric``, ``Constraint``,
``BodySheet``); the rest of promptpo loads specs with ``load_spec``, asks ``prompt_parts`` what the
model may see, and runs a ``Task``.
"""

from promptpo.errors import SpecError
from promptpo.spec.body_sheet import BodySheet
from promptpo.spec.catalog import known_specs, shipped_specs
from promptpo.spec.definition import (
    Bound,
    Constraint,
    Env,
    EnvSpec,
    Field,
    Flat,
    Metric,
    Raw,
    Reference,
    Space,
    UnknownMember,
    Unsuitable,
)
from promptpo.spec.definition import observation_field as field
from promptpo.spec.environment import flat_function
from promptpo.spec.loader import load_spec, spec_text
from promptpo.spec.observation import (
    LayoutField,
    layout,
    observation_size,
    standalone_source,
)
from promptpo.spec.source import PromptParts, prompt_parts
from promptpo.spec.task import Task

__all__ = [
    "BodySheet",
    "Bound",
    "Constraint",
    "Env",
    "EnvSpec",
    "Field",
    "Flat",
    "LayoutField",
    "Metric",
    "PromptParts",
    "Raw",
    "Reference",
    "Space",
    "SpecError",
    "Task",
    "UnknownMember",
    "Unsuitable",
    "field",
    "flat_function",
    "known_specs",
    "layout",
    "load_spec",
    "observation_size",
    "prompt_parts",
    "shipped_specs",
    "spec_text",
    "standalone_source",
]
