"""A twin's reference policy as its spec's expert."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from promptpo.spec import Env, EnvSpec, Flat, Raw, flat_function, standalone_source


def expert_of(
    policy: type, observation: type, observe: Callable[[Raw, Env], Flat]
) -> Callable[[Env], Callable[[Raw], Any]]:
    """What a spec has as ``expert``: a policy class that sees what the spec's policies see."""
    space: dict[str, Any] = {}
    exec(standalone_source(observation), space)  # noqa: S102 - a shipped class
    see: Callable[[Flat], Any] = space["Observation"]

    def factory(env: Env) -> Callable[[Raw], Any]:
        act: Callable[[Any], Any] = policy().act
        return lambda raw: act(see(observe(raw, env)))

    return factory


def expert_in_words_of(original: EnvSpec, policy: type) -> Callable[[Env], Callable[[Raw], Any]]:
    """The same of a policy that was written for the original; its actions are the original's."""
    return expert_of(
        policy, original.observation, lambda raw, env: flat_function(original, env)(raw)
    )
