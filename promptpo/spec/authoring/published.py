"""The published form of a spec: what its prompt tells, less what the published prompts withhold."""

from __future__ import annotations

from dataclasses import replace

from promptpo.spec.authoring.definition import EnvSpec
from promptpo.spec.authoring.observation import observation_size
from promptpo.spec.authoring.source import PartError

#: Ends a reference to the published form: ``pointmaze_large@published``.
PUBLISHED = "@published"

#: The parts of a spec that its published form may replace: what the model sees, and what goes
#: with that.
PARTS = (
    "title",
    "description",
    "observation",
    "action",
    "reward",
    "reward_helpers",
    "reward_inputs",
    "reward_tolerance",
    "withheld",
)


def published_form(spec: EnvSpec) -> EnvSpec:
    """The spec with the parts that its ``published`` gives; itself where that gives none.

    Raises:
        PartError: ``published`` names another part, or its fields take other numbers.
    """
    if not spec.published:
        return spec
    for part in spec.published:
        if part not in PARTS:
            known = ", ".join(PARTS)
            raise PartError("published", f"published cannot replace {part!r}; it may: {known}")
    form = replace(spec, **spec.published, published={}, ref=spec.ref + PUBLISHED)
    ours, theirs = (observation_size(s.observation) for s in (spec, form))
    if ours != theirs:
        raise PartError(
            "published",
            f"the published fields take {theirs} numbers, but the spec's own take {ours}; both are"
            " filled from the same observation",
        )
    return form
