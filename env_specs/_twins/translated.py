"""An environment that takes other actions than the one that it is made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium

from promptpo.spec import Env


class Translated(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Changes each action on its way to ``step``; all else is the environment's own.

    A wrapper, and not another ``step`` of what is there: wrappers that only count steps are left
    out where steps are played, and an environment may step by itself when it is reset.
    """

    def __init__(self, env: Env, translate: Callable[[Any], Any]) -> None:
        super().__init__(env)
        self._translate = translate

    def step(self, action: Any) -> Any:  # noqa: ANN401 - what the environment returns
        """Take a step with the translated action."""
        return self.env.step(self._translate(action))

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the environment has
        """What the environment has, so that the original's ``observe`` finds it here."""
        if name == "env":  # before it is set
            raise AttributeError(name)
        return getattr(self.env, name)
