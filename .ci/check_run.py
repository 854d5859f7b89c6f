"""Checks what the README's first command has left in runs/: ended, scored, reproducible."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SPEC = "metaworld_reach"
FILES = ("events.jsonl", "best/policy.py", "README.md", "prompts", "candidates")


def main() -> int:
    """Check the latest run of the spec; 0 where everything holds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--since", type=float, default=0.0, help="no older run counts (epoch)")
    since = parser.parse_args().since
    runs = [p for p in (ROOT / "runs" / SPEC).glob("*/run.json") if p.stat().st_mtime >= since]
    if not runs:
        print(f"check_run: no new run in runs/{SPEC}", file=sys.stderr)
        return 1
    folder = max(runs, key=lambda p: p.stat().st_mtime).parent
    problems = [*file_problems(folder), *prompt_problems(folder), *score_problems(folder)]
    for problem in problems:
        print(f"check_run: {folder.relative_to(ROOT)}: {problem}", file=sys.stderr)
    return 1 if problems else 0


def file_problems(folder: Path) -> list[str]:
    """What is missing of the folder, or does not compile."""
    problems = [f"{name} is missing" for name in FILES if not (folder / name).exists()]
    policy = folder / "best" / "policy.py"
    if policy.exists():
        try:
            compile(policy.read_text(encoding="utf-8"), str(policy), "exec")
        except SyntaxError as e:
            problems.append(f"best/policy.py does not compile: {e}")
    return problems


def prompt_problems(folder: Path) -> list[str]:
    """The prompts that are not those for which the replies were recorded."""
    lines = (folder / "events.jsonl").read_text(encoding="utf-8").splitlines()
    notices = [e["text"] for e in map(json.loads, lines) if e["type"] == "notice"]
    return [text for text in notices if "changed" in text]


def score_problems(folder: Path) -> list[str]:
    """What is wrong with the end and the score of a run; prints the score."""
    info: dict[str, Any] = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    if info.get("status") != "finished":
        return [f"its status is {info.get('status')!r}, not 'finished'"]
    test = info.get("test")
    if not test or test["error"] is not None:
        return ["it has no held-out score"]
    rate, (low, high) = test["score"]["success_rate"], test["success_rate_interval"]
    print(
        f"check_run: held-out success {rate:.2f}, 95% interval {low:.2f} to {high:.2f},"
        f" {len(test['episodes'])} episodes ({folder.relative_to(ROOT)})"
    )
    again = evaluated(folder, len(test["episodes"]))
    return [] if again == f"{rate:.2f}" else [f"eval says success {again}, the run {rate:.2f}"]


def evaluated(folder: Path, episodes: int) -> str:
    """The success rate that ``promptpo eval`` gives for the same held-out episodes."""
    argv = [sys.executable, "-m", "promptpo", "eval", str(folder), "--episodes", str(episodes)]
    done = subprocess.run(argv, cwd=ROOT, check=False, capture_output=True, text=True)  # noqa: S603 - our own
    found = re.search(r"^success +([\d.]+),", done.stdout, re.MULTILINE)
    return found[1] if found else f"nothing ({done.stderr.strip()})"


if __name__ == "__main__":
    raise SystemExit(main())
