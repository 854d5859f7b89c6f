"""MiniGrid's grid worlds: how they are made, and reference values."""
