"""INSPO's prompts: PromptPO's, with an instruction at the end, and the reflection on instructions.

The first instructions are ours.
"""

from promptpo.prompts.inspo.stages import (
    LONGEST,
    Instruction,
    Shown,
    State,
    first_instructions,
    instructions_in,
    instructions_text,
    policy_messages,
    reask_messages,
    reflection_messages,
    render_all,
)

__all__ = [
    "LONGEST",
    "Instruction",
    "Shown",
    "State",
    "first_instructions",
    "instructions_in",
    "instructions_text",
    "policy_messages",
    "reask_messages",
    "reflection_messages",
    "render_all",
]
