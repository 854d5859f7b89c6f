"""PromptPO's prompts: for Feedback, policies, reflections and repairs."""

from promptpo.prompts.promptpo.demand import prompt_tokens
from promptpo.prompts.promptpo.focused import render_memory
from promptpo.prompts.promptpo.history import render_history
from promptpo.prompts.promptpo.memory import REFLECTION, Memory
from promptpo.prompts.promptpo.prepared import printed, probes_of
from promptpo.prompts.promptpo.stages import (
    episode_notes,
    feedback_messages,
    placeholder_memory,
    policy_messages,
    reflection_messages,
    reflection_text,
    render_all,
    repair_messages,
    repair_policy_messages,
)

__all__ = [
    "REFLECTION",
    "Memory",
    "episode_notes",
    "feedback_messages",
    "placeholder_memory",
    "policy_messages",
    "printed",
    "probes_of",
    "prompt_tokens",
    "reflection_messages",
    "reflection_text",
    "render_all",
    "render_history",
    "render_memory",
    "repair_messages",
    "repair_policy_messages",
]
