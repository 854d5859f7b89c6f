"""The parts of a spec that the model sees, as they stand in its file, and nothing else of it."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

from promptpo.spec.authoring.definition import EnvSpec
from promptpo.spec.authoring.source import source_of


@dataclass(frozen=True)
class PromptParts:
    """Texts of one spec for the prompt.

    ``observation`` and ``reward`` are verbatim Python source; ``reward`` begins with the helper
    functions that it calls. ``title`` is one line, ``description`` a paragraph or empty; ``facts``
    may be empty, and a run may withhold them.
    """

    title: str
    description: str
    observation: str
    action: str
    facts: str
    reward: str
    horizon: int

    @property
    def text(self) -> str:
        """All parts in one text, to search for what must not be in it."""
        return "\n\n".join(
            [self.title, self.description, self.observation, self.action, self.facts, self.reward]
        )


def prompt_parts(spec: EnvSpec) -> PromptParts:
    """Return what the model may see of a loaded spec."""
    functions = [*spec.reward_helpers, spec.reward]
    return PromptParts(
        title=spec.title,
        description=inspect.cleandoc(spec.description),
        observation=source_of(spec.observation).text,
        action=inspect.cleandoc(spec.action),
        facts=inspect.cleandoc(spec.facts).strip(),
        reward="\n\n\n".join(source_of(function).text for function in functions),
        horizon=spec.horizon,
    )
