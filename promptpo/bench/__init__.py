"""Benchmarks: methods on the same specs, seeds and budget, and one comparison of what they found.

``suite`` is what is compared, as a TOML file says it, and its cells, one run each.
"""
