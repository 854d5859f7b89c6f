"""Runs side by side: learning curves, held-out scores, and tests of their differences."""

from promptpo.comparison.comparison import FORMATS, WIDTH, Comparison

__all__ = ["FORMATS", "WIDTH", "Comparison"]
