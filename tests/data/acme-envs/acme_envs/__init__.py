"""Specs of a package that is installed beside promptpo."""

LENGTH = 5
