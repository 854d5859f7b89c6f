"""What a run leaves behind, and how it is read: its events, its folder, its record."""
