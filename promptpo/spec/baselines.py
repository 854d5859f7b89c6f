"""Measures reference values of a spec: random actions, zero actions, its expert if it has one.

python -m promptpo.spec.baselines cartpole --episodes 100
python -m promptpo.spec.baselines metaworld: --episodes 50 --json references.json
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from promptpo.common.files import write_atomically
from promptpo.common.foreign import keep_output
from promptpo.common.streams import output
from promptpo.common.terminal import say
from promptpo.errors import PromptPOError
from promptpo.spec.loading.families import expanded
from promptpo.spec.loading.loader import load_spec
from promptpo.spec.running.references import Measured, measure_all
from promptpo.spec.running.task import Task


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
            found = dict(_printed(task, seeds))
            if options.json:
                store(options.json, task.spec.ref, found)
            task.close()
    except PromptPOError as error:
        say(error, sys.stderr)
        return error.exit_code
    except BrokenPipeError:  # `| head`; Python then says nothing of it at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), output().fileno())
        return 128 + signal.SIGPIPE
    return 0


def _printed(task: Task, seeds: Sequence[int]) -> Iterator[tuple[str, Measured]]:
    for name, result in measure_all(task, seeds):
        score = result.reference
        success = "" if score.success_rate is None else f"  success {score.success_rate:.3f}"
        value = f"{score.mean_return:10.2f} +- {result.standard_error:.2f}"
        spread = f"  deviation {result.deviation:.4g}"
        line = f"{task.spec.name}  {name:12}{value}{spread}{success}  ({result.steps} steps)"
        say(line)
        yield name, result


def store(file: Path, ref: str, found: Mapping[str, Measured]) -> None:
    """Put ``{ref: {baseline: [mean, success rate, deviation, episodes]}}`` in a file.

    What the file holds of other specs stays; numbers have four significant digits.
    """
    known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    known[ref] = {
        name: [
            _rounded(value.reference.mean_return),
            value.reference.success_rate,
            _rounded(value.deviation),
            value.episodes,
        ]
        for name, value in found.items()
    }
    rows = [f"  {json.dumps(key)}: {json.dumps(known[key])}" for key in sorted(known)]
    write_atomically(file, "{\n" + ",\n".join(rows) + "\n}\n")


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


if __name__ == "__main__":
    keep_output()
    sys.exit(main())
