"""Holds a spec against its live environment, check by check; ``promptpo check`` prints it."""

from promptpo.checks.findings import FULL, QUICK, Effort, Finding, Verdict
from promptpo.checks.process import Checker, MissingPackage
from promptpo.checks.replay import Replays, open_replays
from promptpo.checks.report import CheckReport
from promptpo.checks.run import check_spec

__all__ = [
    "FULL",
    "QUICK",
    "CheckReport",
    "Checker",
    "Effort",
    "Finding",
    "MissingPackage",
    "Replays",
    "Verdict",
    "check_spec",
    "open_replays",
]
