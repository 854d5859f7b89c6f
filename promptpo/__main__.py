"""``python -m promptpo`` and the ``promptpo`` script."""
# PYTHON_ARGCOMPLETE_OK

from __future__ import annotations

import os
import sys


def main() -> int:
    """Run the command line, to which alone standard output belongs; returns the exit code."""
    if "_ARGCOMPLETE" in os.environ:
        from promptpo.cli.help import complete

        complete()
        return 0
    from promptpo.common import interrupts

    interrupts.install()
    from promptpo.cli import main as run_cli
    from promptpo.common.foreign import keep_output

    keep_output()
    return run_cli(sys.argv[1:])


if __name__ == "__main__":
    raise SystemExit(main())
