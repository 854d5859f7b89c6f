"""The warm parent, and the processes that it forks; ``boot`` is where it begins."""
