"""Specs: what a task is, in Python that a language model reads as it stands.

A spec author imports ``EnvSpec`` and ``field`` (and ``Reference``); the rest of promptpo loads
specs with ``load_spec``, asks ``prompt_parts`` what the model may see, and runs a ``Task``.
"""

from promptpo.errors import SpecError
from promptpo.spec.definition import Env, EnvSpec, Field, Raw, Reference
from promptpo.spec.definition import observation_field as field
from promptpo.spec.loading import load_spec, shipped_specs
from promptpo.spec.observation import LayoutField, layout, observation_size, standalone_source
from promptpo.spec.prompt import PromptParts, prompt_parts
from promptpo.spec.task import Task

__all__ = [
    "Env",
    "EnvSpec",
    "Field",
    "LayoutField",
    "PromptParts",
    "Raw",
    "Reference",
    "SpecError",
    "Task",
    "field",
    "layout",
    "load_spec",
    "observation_size",
    "prompt_parts",
    "shipped_specs",
    "standalone_source",
]
