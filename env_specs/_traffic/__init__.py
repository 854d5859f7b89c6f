"""A highway merge in SUMO, as a Gymnasium environment."""
