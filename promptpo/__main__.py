"""``python -m promptpo`` and the ``promptpo`` script."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line; returns the exit code."""
    from promptpo.common import interrupts

    interrupts.install()
    from promptpo.cli import main as run_cli

    return run_cli(sys.argv[1:])


if __name__ == "__main__":
    raise SystemExit(main())
