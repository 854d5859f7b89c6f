"""Policies as programs with numbers in them, and the compact forms that an optimizer can fill."""

from promptpo.policies.forms import Actions, Form, form_for
from promptpo.policies.program import Program

__all__ = ["Actions", "Form", "Program", "form_for"]
