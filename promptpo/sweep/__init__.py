"""Sweeps: several runs of one command, over specs and seeds, each a process of its own.

``plan`` says what is to be run, ``folder`` keeps it on disk and finds its runs, ``process`` is one
run, ``schedule`` carries them out side by side, ``overview`` shows how they stand.
"""
