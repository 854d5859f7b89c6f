"""NoiseWorld: the environment, its boards and exact optima, and what its specs share."""
