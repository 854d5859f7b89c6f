"""Prompts: the parts that all share, and a module for each method; templates are in a folder."""
