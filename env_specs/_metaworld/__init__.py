"""Meta-World's tasks: how they are made, their fields, their rewards."""
