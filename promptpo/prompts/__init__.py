"""What a language model is asked: templates filled with a spec and the history of a run."""

from promptpo.prompts.history import render_history
from promptpo.prompts.stages import (
    feedback_messages,
    policy_messages,
    reflection_messages,
    reflection_text,
    render_all,
    repair_messages,
)

__all__ = [
    "feedback_messages",
    "policy_messages",
    "reflection_messages",
    "reflection_text",
    "render_all",
    "render_history",
    "repair_messages",
]
