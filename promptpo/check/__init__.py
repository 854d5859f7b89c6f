"""Holds a spec against its live environment, check by check; ``promptpo check`` prints it."""

from promptpo.check.findings import FULL, QUICK, Effort, Finding, Verdict
from promptpo.check.process import Checker, MissingPackage
from promptpo.check.replay import Replays, open_replays
from promptpo.check.run import check_spec

__all__ = [
    "FULL",
    "QUICK",
    "Checker",
    "Effort",
    "Finding",
    "MissingPackage",
    "Replays",
    "Verdict",
    "check_spec",
    "open_replays",
]
