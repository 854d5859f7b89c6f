"""Common ground of all rooms: text and its bounds, files, concurrency, plugins."""
