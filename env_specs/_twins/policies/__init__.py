"""Reference policies of the twins that ship, found by ``benchmarks/twin_references.py``."""
