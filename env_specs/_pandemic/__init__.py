"""A town in an epidemic, as a Gymnasium environment."""
