"""What runs in the warm parent and in the processes that it forks; ``boot`` is where it begins."""
