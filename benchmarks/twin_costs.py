"""What runs on twins cost, with `prepare` and without, with tuning and without: docs/twins.md.

    python benchmarks/twin_costs.py --out FOLDER                     all of them, two hours
    python benchmarks/twin_costs.py --out FOLDER lunar_lander both   some

Plays recorded runs again with the settings that they were made with, one after the other, each in
one environment process. Prints of each: the held-out score, environment steps by purpose, how many
candidates prepared and how long, and the processor time of the whole command with all processes
below it, those of policies and of `prepare` included. A line is printed as soon as it is known, in
the form of the table. Needs root on Linux, for the control group in which processor time is
counted.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from promptpo import load_run
from promptpo.store.run import Run

HERE = Path(__file__).parent
GROUPS = Path("/sys/fs/cgroup")
COLUMNS = ("neither", "tuning", "prepare", "both")


class Cell(NamedTuple):
    """One recorded run of the table."""

    twin: str
    column: str
    recording: str


CELLS = [
    Cell("mujoco_hopper", "neither", "loop/twin_mujoco_hopper.after.jsonl"),
    Cell("mujoco_hopper", "tuning", "tuning/twin_mujoco_hopper.jsonl"),
    Cell("mujoco_hopper", "prepare", "prepare/twin_mujoco_hopper.jsonl"),
    Cell("mujoco_hopper", "prepare", "prepare/twin_mujoco_hopper_2.jsonl"),
    Cell("mujoco_hopper", "both", "prepare/twin_mujoco_hopper_tuned.jsonl"),
    Cell("mujoco_hopper", "both", "prepare/twin_mujoco_hopper_tuned_2.jsonl"),
    Cell("mujoco_walker2d", "neither", "loop/twin_mujoco_walker2d.after.jsonl"),
    Cell("mujoco_walker2d", "tuning", "tuning/twin_mujoco_walker2d.jsonl"),
    Cell("mujoco_walker2d", "prepare", "prepare/twin_mujoco_walker2d.jsonl"),
    Cell("mujoco_walker2d", "both", "prepare/twin_mujoco_walker2d_tuned.jsonl"),
    Cell("mujoco_halfcheetah", "neither", "prepare/twin_mujoco_halfcheetah_neither.jsonl"),
    Cell("mujoco_halfcheetah", "tuning", "tuning/twin_mujoco_halfcheetah.jsonl"),
    Cell("mujoco_halfcheetah", "prepare", "prepare/twin_mujoco_halfcheetah.jsonl"),
    Cell("mujoco_halfcheetah", "both", "prepare/twin_mujoco_halfcheetah_tuned.jsonl"),
    Cell("lunar_lander", "neither", "loop/twin_lunar_lander.after.jsonl"),
    Cell("lunar_lander", "tuning", "tuning/twin_lunar_lander.jsonl"),
    Cell("lunar_lander", "prepare", "prepare/twin_lunar_lander.jsonl"),
    Cell("lunar_lander", "both", "prepare/twin_lunar_lander_tuned.jsonl"),
]


def replay(cell: Cell, out: Path) -> tuple[Run, float]:
    """Play it; the run, and seconds of processor time of its process tree."""
    out.mkdir(parents=True, exist_ok=True)
    told = [sys.executable, "-m", "promptpo", f"twin:{cell.twin}", "--out", str(out)]
    told += ["--workers", "1", "--model", f"recorded:{HERE / cell.recording}"]
    name = f"{Path(cell.recording).name.removesuffix('.jsonl')}.{cell.column}"
    group = control_group(f"twin_costs.{os.getpid()}")
    try:
        with (out / f"{name}.txt").open("wb") as screen:
            # A shell enters the group and becomes the program, so that nothing runs outside it.
            enter = ["sh", "-c", 'echo $$ > "$0" && exec "$@"', str(group / "cgroup.procs")]
            done = subprocess.run(  # noqa: S603 - our own program
                [*enter, *told], stdout=screen, stderr=screen, check=False
            )
        while (group / "cgroup.procs").read_text():  # the last of its processes may still be ending
            time.sleep(0.1)
        seconds = processor_seconds(group)
    finally:
        with contextlib.suppress(OSError):  # interrupted: the group goes with its processes
            group.rmdir()
    if done.returncode:
        sys.exit(f"{cell}: ended with {done.returncode}: see {screen.name}")
    told_of = re.findall(r"^report +(.+)/report.html$", Path(screen.name).read_text(), re.M)
    return load_run(told_of[-1]), seconds


def control_group(name: str) -> Path:
    """A new control group: rusage leaves out children whose parent ignores their end."""
    group = next(p for p in (GROUPS / "cpuacct", GROUPS) if p.is_dir()) / name
    try:
        group.mkdir()
    except OSError as e:
        sys.exit(f"processor time is counted in a control group, which needs root: {e}")
    return group


def processor_seconds(group: Path) -> float:
    """What a group's processes have taken, those that have ended too (cgroups 1 and 2)."""
    if (group / "cpuacct.usage").exists():
        return int((group / "cpuacct.usage").read_text()) / 1e9
    return int((group / "cpu.stat").read_text().split()[1]) / 1e6


def row(cell: Cell, run: Run, seconds: float) -> str:
    """A line of the table."""
    if run.test is None:
        sys.exit(f"{cell}: no held-out score in {run.folder}")
    score, steps = run.test.score, run.usage.steps
    shown = f"{score.mean_return:,.1f}"
    if score.success_rate is not None:
        shown = f"{score.success_rate:.2f}, {shown}"
    counts = " | ".join(f"{steps.get(s, 0):,}" for s in ("search", "tuning", "selection", "test"))
    prepared = [c.preparation.seconds for c in run.candidates if c.preparation is not None]
    by_itself = f"{len(prepared)}, {sum(prepared):.0f} s" if prepared else ""
    return f"| {cell.twin}, {cell.column} | {shown} | {counts} | {by_itself} | {seconds / 60:.1f} |"


def main() -> None:
    """Play the cells that are asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("twin", nargs="?", choices=sorted({c.twin for c in CELLS}))
    parser.add_argument("column", nargs="?", choices=COLUMNS)
    parser.add_argument("--out", type=Path, required=True, help="folder for the runs")
    given = parser.parse_args()
    print("| run | held out | search | tuning | selection | test | prepare | processor minutes |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for cell in CELLS:
        if given.twin in (None, cell.twin) and given.column in (None, cell.column):
            print(row(cell, *replay(cell, given.out)), flush=True)


if __name__ == "__main__":
    main()
