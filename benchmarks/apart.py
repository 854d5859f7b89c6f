"""What each change of the loop brings, apart from the others: 12 runs on a task, by a plan.

    python benchmarks/apart.py --out FOLDER                       both tasks: an hour
    python benchmarks/apart.py --out FOLDER twin_mujoco_hopper    one

Trying nine changes one by one takes ten runs, of which two tell of each. In a plan by Plackett and
Burman ("The design of optimum multifactorial experiments", Biometrika 33, 1946) 12 runs have about
half of the changes each, such that every two changes meet in all four ways equally often: all 12
tell of each then. What leaves a change out is an option of the command (``CHANGES``). Two columns
of the plan stand for nothing: what they seem to bring is chance.

Runs are replayed from ``benchmarks/apart/`` with the options that they were made with (three rounds
of three; ``ALWAYS``); those that lie in the folder are taken as they are. Each was written by a
language model that saw the prompts of that run and nothing else.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
from pathlib import Path

import numpy as np

from promptpo import load_run
from promptpo.store.run import Run

HERE = Path(__file__).parent / "apart"
TASKS = ("twin_mujoco_hopper", "twin_mujoco_walker2d")
#: Each change, and the options that leave it out.
CHANGES = {
    "the best meets its challengers": ["--set", "challenge=false"],
    "racing": ["--episodes", "5"],
    "losers and budget": ["--set", "history=published", "--set", "history_tokens=24000"],
    "second line": ["--set", "second_line=false"],
    "revised Feedback": ["--set", "revise_feedback=false"],
    "trace and lines never run": ["--set", "trace=false"],
    "probes": ["--set", "probe=0"],
    "one without reflection": [],  # no option any more: the replies stand for it
    "facts": ["--set", "facts=false"],
    "(nothing)": [],
    "(nothing, again)": [],
}
#: How many of these stand for nothing.
NOTHING = 2
#: What asks for a change that is none of the defaults any more.
ASKED_FOR = {
    "probes": ["--set", "probe=2"],
}
ALWAYS = [
    *(
        "--rounds",
        "3",
        "--candidates",
        "3",
        "--set",
        "episode_timeout=1",
        "--set",
        "prepare_time=0",
    ),
    *("--selection-episodes", "20", "--test-episodes", "50", "--workers", "1"),
]
_GENERATOR = (1, 1, -1, 1, 1, 1, -1, -1, -1, 1, -1)


def plan() -> np.ndarray:
    """Runs by changes, 1 where a run has the change and -1 where it has not; the last has all."""
    rows = [[-_GENERATOR[(j - i) % 11] for j in range(11)] for i in range(11)]
    found = np.array([*rows, [1] * 11])
    assert (found.T @ found == 12 * np.eye(11)).all()  # noqa: S101 - every two equally often
    return found


def options(row: np.ndarray) -> list[str]:
    """The options of a run of the plan."""
    found = []
    for name, has in zip(CHANGES, row, strict=True):
        found += CHANGES[name] if has < 0 else ASKED_FOR.get(name, [])
    return found


def run_of(task: str, number: int, out: Path) -> Run:
    """A run of the plan, replayed where it does not lie there."""
    folder = out / task / f"{number:02d}"
    if not (found := sorted(folder.glob("*/*/run.json"))):
        command = [sys.executable, "-m", "promptpo", task.replace("twin_", "twin:", 1)]
        command += ["--model", f"recorded:{HERE / task}_{number:02d}.jsonl", "--out", str(folder)]
        command += [*ALWAYS, *options(plan()[number - 1])]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode:
            sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
        found = sorted(folder.glob("*/*/run.json"))
    return load_run(found[-1].parent)


def measures(run: Run) -> dict[str, float]:
    """What is compared of a run."""
    if run.test is None:
        sys.exit(f"{run.folder}: no held-out score")
    told = sum(len(p.read_text()) for p in (run.folder / "prompts").glob("*.prompt.md"))
    return {
        "held-out return": run.test.score.mean_return,
        "search steps": float(run.usage.steps["search"]),
        "characters of prompts": float(told),
    }


def report(task: str, out: Path) -> np.ndarray:
    """Print a task's runs; what is compared of each, by the mean of the task."""
    found = [measures(run_of(task, number, out)) for number in range(1, 13)]
    print(f"\n| {task}, run | without | {' | '.join(found[0])} |\n|---|---|---|---|---|")
    for number, (row, measured) in enumerate(zip(plan(), found, strict=True), 1):
        without = [n for n, has in zip(CHANGES, row, strict=True) if has < 0 and n[0] != "("]
        values = " | ".join(f"{v:,.0f}" for v in measured.values())
        print(f"| {number} | {', '.join(without) or 'nothing'} | {values} |")
    table = np.array([list(m.values()) for m in found])
    shares: np.ndarray = table / table.mean(axis=0)
    return shares


def standard_error(scores: list[np.ndarray]) -> float:
    """Of a change's share of the score in all tasks, by what the changes leave unexplained."""
    real = plan()[:, : len(CHANGES) - NOTHING]
    design = np.vstack([np.column_stack([np.ones(len(real)), real]) for _ in scores])
    values = np.concatenate(scores)
    fitted, *_ = np.linalg.lstsq(design, values)
    left = values - design @ fitted
    variance = float(left @ left) / (len(values) - design.shape[1])
    return 2 * math.sqrt(variance / len(values))


def main() -> None:
    """Print the runs and what each change brings."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=f"of {', '.join(TASKS)}")
    parser.add_argument("--out", type=Path, required=True, help="folder for the runs")
    given = parser.parse_args()
    tasks = given.tasks or TASKS
    by_task = [report(task, given.out) for task in tasks]
    effects = np.array([plan().T @ shares / 6 for shares in by_task])  # task, change, measure
    print(f"\n| change | {' | '.join(f'score, {t}' for t in tasks)} | score | steps | input |")
    print("|---|" + "---|" * (len(tasks) + 3))
    for i, name in enumerate(CHANGES):
        told = (*effects[:, i, 0], *effects[:, i].mean(axis=0))
        print(f"| {name} | {' | '.join(f'{v:+.0%}' for v in told)} |")
    error = standard_error([shares[:, 0] for shares in by_task])
    nothing = effects[:, -NOTHING:, 0].mean(axis=0)
    print(
        f"\nstandard error of a change's score, by what the changes leave unexplained: {error:.0%}"
    )
    print(f"root mean square of what nothing brings: {(nothing**2).mean() ** 0.5:.0%}")


if __name__ == "__main__":
    main()
