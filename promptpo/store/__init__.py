"""A run on disk and in memory: its events, its folder, and the ``Run`` that is folded from them."""
