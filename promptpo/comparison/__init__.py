"""Runs side by side: learning curves, held-out scores, and tests of their differences."""

from promptpo.comparison.comparison import FORMATS, Comparison

__all__ = ["FORMATS", "Comparison"]
