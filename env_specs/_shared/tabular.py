"""Exact optima of Gymnasium's toy-text tasks, from the transition tables that they hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from promptpo.spec import Env, Raw

#: state -> action -> outcomes (probability, next state, reward, terminated).
Table = Mapping[int, Mapping[int, Sequence[tuple[float, int, float, bool]]]]


def solve(table: Table, horizon: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Finite-horizon value iteration: values (states,), and best actions (horizon, states)."""
    states, actions = len(table), len(table[0])
    probability = np.zeros((states, actions, states))
    reward = np.zeros((states, actions))
    for state in range(states):
        for action in range(actions):
            for chance, target, gain, terminated in table[state][action]:
                reward[state, action] += chance * gain
                if not terminated:
                    probability[state, action, target] += chance
    value, policy = np.zeros(states), np.zeros((horizon, states), dtype=np.int64)
    for time in reversed(range(horizon)):
        ahead = reward + probability @ value
        policy[time] = ahead.argmax(axis=1)
        value = ahead.max(axis=1)
    return value, policy


def expert(horizon: int) -> Callable[[Env], Callable[[Raw], int]]:
    """Return the factory of the optimal controller of an episode of so many steps."""

    @lru_cache(maxsize=1)
    def policy_of(env: Env) -> NDArray[np.int64]:
        return solve(env.P, horizon)[1]

    def factory(env: Env) -> Callable[[Raw], int]:
        policy = policy_of(env)
        steps = iter(range(horizon))
        return lambda raw: int(policy[next(steps), raw])

    return factory


def start_value(env: Any, horizon: int) -> float:  # noqa: ANN401 - a toy-text environment
    """The exact optimum: mean return of the best policy from the task's own starts."""
    return float(env.initial_state_distrib @ solve(env.P, horizon)[0])
