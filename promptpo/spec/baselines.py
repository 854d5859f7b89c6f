"""Measures reference values of a spec: random actions, zero actions, its expert if it has one.

python -m promptpo.spec.baselines cartpole --episodes 100
python -m promptpo.spec.baselines metaworld: --episodes 50 --json references.json
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from msgspec import UNSET, UnsetType

from promptpo.common.files import write_atomically
from promptpo.common.foreign import keep_output
from promptpo.common.terminal import output, say
from promptpo.errors import PromptPOError, SpecError
from promptpo.spec.calls import raising_faults
from promptpo.spec.catalog import expanded
from promptpo.spec.definition import Reference
from promptpo.spec.environment import function_location
from promptpo.spec.loader import load_spec
from promptpo.spec.task import Task
from promptpo.stats import tail_error, worst_tenth

#: Makes the controller of one episode: from the task and the episode's seed, a function from the
#: raw observation to an action of the environment's own space.
Controller = Callable[[Task, int], Callable[[Any], Any]]


@dataclass(frozen=True)
class Measured:
    """A reference value with its standard error (of the mean return) and what it took.

    ``tail_error`` is that of the mean return of the worst tenth.
    """

    reference: Reference
    standard_error: float
    steps: int
    episodes: int
    tail_error: float = 0.0

    @property
    def deviation(self) -> float:
        """Standard deviation of an episode's return; NaN of a single episode."""
        return self.standard_error * math.sqrt(self.episodes)


def random_actions(task: Task, seed: int) -> Callable[[Any], Any]:
    """Sample the action space uniformly (Gymnasium's ``sample``), seeded by the episode."""
    space = task.env.action_space
    space.seed(seed)
    return lambda raw: space.sample()


def zero_actions(task: Task, seed: int) -> Callable[[Any], Any]:
    """Repeat the action of zeros; for Discrete spaces, the first action."""
    space = task.env.action_space
    zero = getattr(space, "start", 0) + np.zeros(space.shape)
    return lambda raw: zero


def spec_expert(task: Task, seed: int) -> Callable[[Any], Any]:
    """Act as the spec's own expert does; what is wrong with it becomes a SpecError."""
    spec = task.spec
    if spec.expert is None:
        raise ValueError(f"spec {spec.name} has no expert")
    where = function_location(spec, spec.expert)
    with raising_faults(spec, "expert(env) failed"):
        act = spec.expert(task.env)
    if not callable(act):
        kind = type(act).__name__
        message = f"expert(env) returned {kind}, not a function act(raw); end it with: return act"
        raise SpecError(f"{where}: {message}")

    def checked(raw: Any) -> Any:  # noqa: ANN401 - the environment's own observation and action
        with raising_faults(spec, "the expert failed"):
            action = act(raw)
        if action is None or np.size(action) != task.action_size:
            got = "None" if action is None else f"an action of size {np.size(action)}"
            need = f"one of size {task.action_size}"
            message = f"the expert's act(raw) returned {got}, not {need}; return the action in it"
            raise SpecError(f"{where}: {message}")
        return action

    return checked


#: The reference values that can be measured, by the name that a spec states them under.
MEASURED: Mapping[str, Controller] = {
    "random": random_actions,
    "zero action": zero_actions,
    "expert": spec_expert,
}


class Played(NamedTuple):
    """One episode: its return, its length in steps, its success (None: the task defines none)."""

    total: float
    length: int
    success: bool | None
    metrics: Mapping[str, float] | UnsetType = UNSET


def play_episode(task: Task, controller: Controller, seed: int, life: int | None = None) -> Played:
    """Play the episode of a seed to its end; ``life`` as of ``Task.reset``.

    Raises SpecError where task or controller fail.
    """
    task.reset(seed, life)
    act = controller(task, seed)
    total, length, succeeded, over = 0.0, 0, False, False
    while not over:
        row = np.asarray(act(task.raw), dtype=np.float64).reshape(-1)
        _, reward, terminated, truncated, success = task.step(row)
        total += reward
        succeeded = succeeded or bool(success)
        over = terminated or truncated
        length += 1
    return Played(total, length, *task.outcome(succeeded))


def measure(
    task: Task,
    controller: Controller,
    seeds: Sequence[int],
    enough: int | None = None,
    fewest: int = 0,
) -> Measured:
    """Play one episode per seed; the success rate is None where the task defines no success.

    With ``enough``, seeds are left out once ``enough`` steps and ``fewest`` episodes were played.
    """
    returns: list[float] = []
    steps = successes = 0
    for seed in seeds:
        if enough is not None and steps >= enough and len(returns) >= fewest:
            break
        total, length, success, _ = play_episode(task, controller, seed)
        returns.append(total)
        steps, successes = steps + length, successes + bool(success)
    count = len(returns)
    rate = successes / count if task.spec.defines_success else None
    error = float(np.std(returns, ddof=1) / np.sqrt(count)) if count > 1 else np.nan
    mean = float(np.mean(returns))
    if task.spec.objective == "mean":
        return Measured(Reference(mean, rate), error, steps, count)
    reference = Reference(mean, rate, worst_tenth=worst_tenth(returns))
    return Measured(reference, error, steps, count, tail_error(returns))


def measure_all(
    task: Task, seeds: Sequence[int], enough: int | None = None, fewest: int = 0
) -> Iterator[tuple[str, Measured]]:
    """Yield name and value of every baseline that the task has; arguments as of ``measure``."""
    for name, controller in MEASURED.items():
        if controller is not spec_expert or task.spec.expert is not None:
            yield name, measure(task, controller, seeds, enough, fewest)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the reference values of the specs that are named."""
    parser = argparse.ArgumentParser(prog="python -m promptpo.spec.baselines", description=__doc__)
    parser.add_argument("specs", nargs="+", metavar="SPEC", help="FAMILY: is all of its members")
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--seed", type=int, default=10_000, help="first seed (default 10000)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="add the values to this file")
    options = parser.parse_args(arguments)
    seeds = range(options.seed, options.seed + options.episodes)
    warnings.filterwarnings("ignore", message="Constant.s. may be too high")  # Meta-World's experts
    try:
        for ref in expanded(options.specs):
            task = Task.open(load_spec(ref))
            values = {}
            for name, value in measure_all(task, seeds):
                say(f"{task.spec.name}  {name:12}{_words(value)}")
                values[name] = value
            if options.json:
                store(options.json, task.spec.ref, values)
            task.close()
    except PromptPOError as error:
        say(error, sys.stderr)
        return error.exit_code
    except BrokenPipeError:  # `| head`; Python then says nothing of it at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), output().fileno())
        return 128 + signal.SIGPIPE
    return 0


def _words(value: Measured) -> str:
    score = value.reference
    success = "" if score.success_rate is None else f"  success {score.success_rate:.3f}"
    spread = f"{value.standard_error:.2f}  deviation {value.deviation:.4g}"
    tenth = "" if score.worst_tenth is None else f"  worst tenth {score.worst_tenth:.2f}"
    return f"{score.mean_return:10.2f} +- {spread}{tenth}{success}  ({value.steps} steps)"


def store(file: Path, ref: str, values: Mapping[str, Measured]) -> None:
    """Put ``{ref: {baseline: [mean, success rate, deviation, episodes]}}`` in a file.

    What the file holds of other specs stays; numbers have four significant digits.
    """
    stored = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    stored[ref] = {}
    for name, value in values.items():
        mean, deviation = (
            float(f"{x:.4g}") for x in (value.reference.mean_return, value.deviation)
        )
        stored[ref][name] = [mean, value.reference.success_rate, deviation, value.episodes]
    rows = [f"  {json.dumps(key)}: {json.dumps(stored[key])}" for key in sorted(stored)]
    write_atomically(file, "{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    keep_output()
    sys.exit(main())
