"""Policies that are linear in few features, and how they are written as files.

For ``twin_references.py``.
"""

from __future__ import annotations

import argparse
import math
import sys
import textwrap
from dataclasses import dataclass
from typing import Any

import numpy as np

from promptpo.spec import EnvSpec, layout
from promptpo.spec.task import Task


@dataclass(frozen=True)
class Form:
    """What a policy computes: ``weights @ features``, clipped, or the greatest for ints."""

    columns: tuple[int, ...]
    actions: int
    discrete: bool
    rate: float
    products: bool

    @property
    def size(self) -> int:
        """How many numbers of an observation it looks at."""
        return len(self.columns)

    @property
    def count(self) -> int:
        """How many features there are, the constant included."""
        pairs = self.size * (self.size + 1) // 2 if self.products else 0
        return self.size + pairs + (4 if self.rate else 0) + 1

    @property
    def length(self) -> int:
        """How many parameters there are: the weights, and the logarithm of the rate's factor."""
        return self.actions * self.count + 1

    def features(self, seen: np.ndarray, phase: float) -> np.ndarray:
        """The features of an observation, shape ``(count,)``; the constant comes last."""
        seen = seen[list(self.columns)]
        parts = [seen]
        if self.products:
            parts.append(np.outer(seen, seen)[np.triu_indices(self.size)])
        if self.rate:
            angles = (phase, phase + math.pi / 2, 2 * phase, 2 * phase + math.pi / 2)
            parts.append(np.sin(angles))
        return np.concatenate((*parts, (1.0,)))

    def action(self, weights: np.ndarray, features: np.ndarray) -> Any:  # noqa: ANN401
        """The action of the environment."""
        numbers = weights @ features
        return int(numbers.argmax()) if self.discrete else np.clip(numbers, -1.0, 1.0)


def form_of(task: Task, options: argparse.Namespace) -> Form:
    """The form of a policy for a task."""
    fields = layout(task.spec.observation)
    unknown = {*options.without} - {item.name for item in fields}
    if unknown:
        sys.exit(f"--without: no field {', '.join(unknown)} among {[i.name for i in fields]}")
    columns = [
        at for item in fields if item.name not in options.without
        for at in range(item.start, item.stop)
    ]  # fmt: skip
    space = task.env.action_space
    discrete = hasattr(space, "n")
    actions = int(space.n) if discrete else int(np.prod(space.shape))
    return Form(tuple(columns), actions, discrete, options.oscillator, options.products)


POLICY = '''\
"""Reference of twin:{name}: mean return {score:.4g}, found in {steps:.2g} steps.

{command}
"""

from typing import Any

import numpy as np


class Policy:
    """{strategy}"""

    WEIGHTS = np.array(
        [
{rows}
        ]
    )

    def __init__(self) -> None:
        self.step = 0

    def act(self, obs: Any) -> Any:  # noqa: ANN401 - the class that policies see
        seen = np.concatenate(
            [
{fields}
            ]
        )
        features = [seen{features}, np.ones(1)]
        self.step += 1
        return {action}
'''

STRATEGY = {
    (False, False): "Linear in what is observed.",
    (True, False): "Linear in what is observed and in sine and cosine of a steady phase.",
    (False, True): "Linear in what is observed and in all products of two of its numbers.",
    (True, True): "Linear in what is observed, its products of two, and a steady phase.",
}


def policy_source(
    spec: EnvSpec, best: tuple[np.ndarray, float], form: Form, score: float, steps: float
) -> str:
    """The policy as a file that ``promptpo eval`` can play."""
    weights, rate = best
    rows = "\n".join(
        textwrap.indent(f"[\n{_wrapped(row)}\n],", " " * 12) for row in np.atleast_2d(weights)
    )
    seen = [item.name for item in layout(spec.observation) if item.start in form.columns]
    fields = "\n".join(f"{' ' * 16}np.ravel(obs.{name})," for name in seen)
    features = ", np.outer(seen, seen)[np.triu_indices(len(seen))]" if form.products else ""
    if form.rate:
        features += (
            f", np.sin({rate:.6g} * self.step * np.array([1, 1, 2, 2])"
            " + np.array([0, np.pi / 2, 0, np.pi / 2]))"
        )
    value = "self.WEIGHTS @ np.concatenate(features)"
    return POLICY.format(
        name=spec.ref.partition(":")[2],
        score=score,
        steps=steps,
        command=textwrap.fill(f"python {' '.join(sys.argv)}", 98, break_on_hyphens=False),
        strategy=STRATEGY[bool(form.rate), form.products],
        rows=rows,
        fields=fields,
        features=features,
        action=f"int(np.argmax({value}))" if form.discrete else f"np.clip({value}, -1.0, 1.0)",
    )


def _wrapped(row: np.ndarray) -> str:
    return textwrap.fill(
        ", ".join(f"{value:.6g}" for value in row) + ",",
        80,
        initial_indent="    ",
        subsequent_indent="    ",
    )
