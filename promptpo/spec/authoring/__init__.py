"""What authors of specs write with, and what is read from their text without an environment."""
