"""Policies that know nothing of a task: zero actions, and random ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from promptpo.policies.parametric import Actions

_SOURCE = '''\
import numpy as np


class Policy:
    """{strategy}"""

    def act(self, obs):
        return {action}
'''


def zero_policy(actions: Actions) -> str:
    """The source of a policy that repeats the action of zeros; where it is discrete, the first."""
    if not actions.counts:
        action = f"np.zeros({actions.shape})"
    else:
        action = repr(actions.starts[0]) if not actions.shape else f"np.array({actions.starts})"
    return _SOURCE.format(strategy="Zero action at every step.", action=action)


def random_policy(actions: Actions) -> str:
    """The source of a policy that draws each action evenly; where there is no bound, normally."""
    if actions.counts and not actions.shape:
        low, count = actions.starts[0], actions.counts[0]
        action = f"{low} + int(np.random.randint({count}))"
    elif actions.counts:
        action = f"np.array({actions.starts}) + np.random.randint(np.array({actions.counts}))"
    else:
        ends = zip(actions.low, actions.high, strict=True)
        bounded = [(max(low, -_FAR), min(high, _FAR)) for low, high in ends]
        if any(low <= -_FAR or high >= _FAR for low, high in bounded):
            action = f"np.random.normal(size={actions.shape})"
        else:
            least, most = ([pair[i] for pair in bounded] for i in (0, 1))
            action = f"np.random.uniform({least}, {most}).reshape({actions.shape})"
    return _SOURCE.format(strategy="A random action at every step.", action=action)


#: A bound beyond this is none to draw between.
_FAR = 1e6

#: By what they are called, in the order in which a search plays them before its first round.
PROBES: Mapping[str, Callable[[Actions], str]] = {
    "zero action": zero_policy,
    "random": random_policy,
}
