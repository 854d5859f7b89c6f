"""Finding specs by name, path or family, importing them, and checking their parts."""
