"""PointMaze: how it is made, and what the published prompts tell of it."""
