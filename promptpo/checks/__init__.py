"""Holds a spec against its live environment, check by check; ``promptpo check`` prints it."""

from promptpo.checks.findings import FULL, QUICK, CheckReport, Effort, Finding
from promptpo.checks.process import Checker, MissingPackage, Replays, check_spec

__all__ = [
    "FULL",
    "QUICK",
    "CheckReport",
    "Checker",
    "Effort",
    "Finding",
    "MissingPackage",
    "Replays",
    "check_spec",
]
