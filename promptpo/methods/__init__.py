"""Search methods: each one a readable loop over the same services."""

from promptpo.methods.base import Method, Search, Services
from promptpo.methods.promptpo import PromptPO

#: The methods by the name that ``--method`` takes.
METHODS: dict[str, type[Method]] = {"promptpo": PromptPO}

__all__ = ["METHODS", "Method", "PromptPO", "Search", "Services"]
