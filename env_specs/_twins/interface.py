"""How a twin's observations and actions lie to those of the task that it is a twin of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from promptpo.spec import Env, EnvSpec, Flat, Raw, flat_function


@dataclass(frozen=True)
class Interface:
    """Order, signs and zeros of flat observations and actions.

    Attributes:
        columns: for each number of the twin's observation, which of the original's it is.
        signs: and with which sign, 1 or -1.
        offsets: and what is added then; nothing where this is empty.
        actions: for each number of the original's action, which of the twin's it is; where
            actions are ints: for each int of the twin's, which of the original's it is.
        action_signs: and with which sign; empty where actions are ints.
    """

    columns: tuple[int, ...]
    signs: tuple[int, ...]
    offsets: tuple[float, ...] = ()
    actions: tuple[int, ...] = ()
    action_signs: tuple[int, ...] = field(default=())

    def observer(self, original: EnvSpec) -> Callable[[Raw, Env], Flat]:
        """What a twin's spec has as ``observe``."""
        columns = np.array(self.columns)
        signs = np.array(self.signs, dtype=np.float64)
        offsets = np.array(self.offsets or (0.0,))
        functions: dict[int, tuple[Env, Callable[[Raw], Flat]]] = {}

        def observe(raw: Raw, env: Env) -> Flat:
            if id(env) not in functions:
                functions.clear()
                functions[id(env)] = (env, flat_function(original, env))
            seen = functions[id(env)][1](raw)
            flat: Flat = signs * seen[columns] + offsets + 0.0  # no -0.0
            return flat

        return observe

    def connect(self, env: Env) -> Env:
        """Let an environment take the twin's actions; returns it.

        The innermost one does: wrappers that only count are left out where steps are played. It may
        step by itself when it is reset, with actions of its own.
        """
        inner = env.unwrapped
        step, reset = inner.step, inner.reset
        order = np.array(self.actions, dtype=np.intp)
        if self.action_signs:
            signs = np.array(self.action_signs)

            def translated(action: Any) -> Any:  # noqa: ANN401 - an action of any type
                array = np.asarray(action)
                return (array[order] * signs).astype(array.dtype)

        else:

            def translated(action: Any) -> Any:  # noqa: ANN401 - an action of any type
                return int(order[int(action)])

        def step_translated(action: Any) -> Any:  # noqa: ANN401 - what the environment returns
            return step(translated(action))

        def reset_as_ever(**arguments: Any) -> Any:  # noqa: ANN401 - as Gymnasium's
            inner.step = step
            try:
                return reset(**arguments)
            finally:
                inner.step = step_translated

        inner.step, inner.reset = step_translated, reset_as_ever
        return env

    def played(
        self, expert: Callable[[Env], Callable[[Raw], Any]], units: Sequence[float] = (1.0,)
    ) -> Callable[[Env], Callable[[Raw], Any]]:
        """What a twin's spec has as ``expert``: the original's, its actions turned into the twin's.

        ``units`` are by how much each number of the original's action counts for more than that of
        the twin's world. Actions are arrays of the bounds -1 and 1.
        """
        order, signs = np.array(self.actions, dtype=np.intp), np.array(self.action_signs)
        factors = np.array(units)

        def factory(env: Env) -> Callable[[Raw], Any]:
            act = expert(env)

            def translated(raw: Raw) -> Any:  # noqa: ANN401 - an action
                action = np.clip(np.asarray(act(raw), dtype=np.float64) * factors, -1.0, 1.0)
                turned = np.empty_like(action)
                turned[order] = action * signs
                return turned

            return translated

        return factory
