"""``python -m sandbox doctor``: which protections are in force on this machine, and why not."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict

from sandbox import SandboxError, detect
from sandbox.isolation import ADDITIONAL, REQUIRED, Isolation

_MEANING = {
    "strict": "the full set is in force",
    "reduced": "something of the full set is missing, but system calls are filtered",
    "minimal": "system calls are not filtered: run only programs that you have read",
}


def _table(isolation: Isolation) -> str:
    lines = [f"isolation: {isolation.level} ({_MEANING[isolation.level]})"]
    for title, names in (("needed for strict", REQUIRED), ("on top", ADDITIONAL)):
        lines.append(f"\n{title}")
        for name in names:
            state = isolation.protections.get(name, "not reported")
            mark = "on " if state == "on" else "off"
            lines.append(f"  {mark}  {name}{'' if state == 'on' else ': ' + state}")
    return "\n".join(lines)


def main() -> int:
    """Returns 0 at level strict, 1 below, 2 where no process could be started."""
    parser = argparse.ArgumentParser(prog="python -m sandbox", description=__doc__)
    parser.add_argument("command", choices=["doctor"], help="look at this machine")
    parser.add_argument("--json", action="store_true", help="print the record as JSON")
    options = parser.parse_args()
    try:
        isolation = detect()
    except SandboxError as error:
        print(f"error: {error.message}", file=sys.stderr)
        return 2
    print(json.dumps(asdict(isolation), indent=2) if options.json else _table(isolation))
    return 0 if isolation.level == "strict" else 1


if __name__ == "__main__":
    sys.exit(main())
