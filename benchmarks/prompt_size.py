"""How much text a run sends to its model: characters of every prompt of a recorded run, replayed.

python benchmarks/prompt_size.py mujoco_hopper --recording RECORDING --no-facts
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from promptpo import optimize


def main() -> None:
    """Replay, and print a line for each call."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("spec")
    parser.add_argument("--recording", required=True)
    parser.add_argument("--no-facts", action="store_true")
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        result = optimize(
            options.spec,
            model=f"recorded:{options.recording}",
            facts=False if options.no_facts else None,
            out=folder,
            selection_episodes=0,
            test_episodes=0,
            workers=options.workers,
            progress=False,
        )
        total = 0
        for file in sorted(Path(result.folder, "prompts").glob("*.prompt.md")):
            size = len(file.read_text(encoding="utf-8"))
            total += size
            print(f"{size:8,}  {file.name}")
    print(f"{total:8,}  characters in all, return {result.best.score if result.best else None}")


if __name__ == "__main__":
    sys.exit(main())
