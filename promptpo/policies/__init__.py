"""Policies as programs with numbers in them, and compact ones that an optimizer can fill."""

from promptpo.policies.coverage import CoverageRun, line_hits, unreached
from promptpo.policies.parametric import Actions, ParametricPolicy, Program, parametric_policy
from promptpo.policies.vectors import Entry, Vector, Vectors

__all__ = [
    "Actions",
    "CoverageRun",
    "Entry",
    "ParametricPolicy",
    "Program",
    "Vector",
    "Vectors",
    "line_hits",
    "parametric_policy",
    "unreached",
]
