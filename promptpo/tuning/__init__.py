"""Numbers for a policy whose structure stands: the constants of its source, found by CMA-ES."""
