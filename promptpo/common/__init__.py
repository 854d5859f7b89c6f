"""What every room stands on: text and its bounds, files, several things at once, plugins."""
