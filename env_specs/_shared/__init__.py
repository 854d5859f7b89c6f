"""What several worlds and families use."""
