"""A run from its start to its end, whatever its method: settings, services, limits, phases."""
