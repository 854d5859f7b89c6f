"""Larger floors."""
