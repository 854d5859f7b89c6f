"""A patient with type 1 diabetes, a sensor and a pump, as a Gymnasium environment."""
