"""Measure what the pages of environments and methods show: python docs/measure.py [NAME ...]

Each command runs as it stands; scores, policy and learning curve of its run go into
docs/measured.json. Without names all are run, which takes half an hour or more on two cores.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from promptpo.stats import Interval

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "docs" / "measured.json"
sys.path.insert(0, str(ROOT))

#: What runs without a checkout: the recordings that ship.
SHIPPED = (
    "cartpole", "glucose", "metaworld_drawer_open", "metaworld_reach", "mujoco_halfcheetah",
    "mujoco_hopper", "noise_world_board_1", "noise_world_board_4",
)  # fmt: skip
#: The methods, side by side: on one task, with the limits of docs/benchmark.md's first table.
TASK = "mujoco_swimmer"
LIMITS = "--max-calls 12 --max-env-steps 50000 --test-episodes 100"
RECORDED = "--model recorded:benchmarks/methods/{}-mujoco_swimmer.jsonl"
METHODS = {
    "promptpo": RECORDED.format("promptpo"),
    "r2po": f"--method r2po {RECORDED.format('r2po')}",
    "props+": f"--method props+ {RECORDED.format('props+')}",
    "inspo": f"--method inspo {RECORDED.format('inspo')}",
    "best-of-n": f"--method best-of-n {RECORDED.format('best-of-n')}",
    "random-search": "--method random-search --rounds 1000 --candidates 10",
    "builtin": "--model builtin --tune --tune-steps 40000",
}
COMMANDS = {name: f"promptpo {name}" for name in SHIPPED}
COMMANDS |= {f"method {m}": f"promptpo {TASK} {words} {LIMITS}" for m, words in METHODS.items()}


def measured(command: str) -> dict[str, Any]:
    """Run a command; return what its run has come to, as plain values."""
    import promptpo

    with tempfile.TemporaryDirectory() as out:
        words = [*shlex.split(command)[1:], "--out", out]
        subprocess.run([sys.executable, "-m", "promptpo", *words], cwd=ROOT, check=True)  # noqa: S603
        (events,) = Path(out).glob("*/*/events.jsonl")
        run = promptpo.load_run(events.parent)
        curves = promptpo.compare(run).curves
    if run.test is None or run.best is None:
        raise SystemExit(f"{command}: no held-out score: {run.reason}")
    score, steps = run.test.score, [row for row in curves if row["axis"] == "steps"]
    measure = steps[0]["measure"]
    return {
        "command": command,
        "version": promptpo.__version__,
        "return": _with(score.mean_return, run.test.return_interval),
        "success": _with(score.success_rate, run.test.success_interval),
        "episodes": len(run.test.episodes),
        "steps": run.usage.steps,
        "calls": run.usage.calls,
        "measure": measure,
        "curve": [(row["x"], row["mean"]) for row in steps if row["measure"] == measure],
        "candidate": run.best.name,
        "policy": run.policy,
    }


def _with(value: float | None, interval: Interval | None) -> list[float] | None:
    """Return a value with the ends of its interval; None where there is none."""
    ends = [interval.low, interval.high] if interval else []
    return None if value is None else [value, *ends]


def main(names: list[str]) -> None:
    """Measure what is named, or all, and write it down."""
    for name in names or COMMANDS:
        found = measured(COMMANDS[name])
        known = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
        known[name] = found
        ordered = {name: known[name] for name in COMMANDS if name in known}
        FILE.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
