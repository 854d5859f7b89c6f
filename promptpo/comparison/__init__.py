"""Runs side by side: learning curves, held-out scores, and tests of their differences."""
