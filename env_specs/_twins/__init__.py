"""Twins: tasks whose world differs truthfully from that of a known one.

A twin is drawn from a seed. ``chance.py`` draws, a ``Recipe`` says what a task's twins may differ
in (``planar.py`` and its neighbours hold one a task), ``rewriting.py`` writes the twin's text from
the original's, ``interface.py`` turns numbers of the one into numbers of the other at each step.
"""
