"""Three small games of our own as Gymnasium environments: a maze, Nim and Pong."""
