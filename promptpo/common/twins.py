"""A task and its twins stand side by side wherever several tasks are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias, TypeVar

T = TypeVar("T")

#: A task's name, and that of the task that it is a twin of; empty where it is of none.
Task: TypeAlias = tuple[str, str]


def side_by_side(items: Iterable[T], task_of: Callable[[T], Task]) -> list[T]:
    """The items in their order, but for those of a task with twins, which stand together.

    They stand where the first of them was: the original's, then each twin's, by name.
    """
    known = list(items)
    tasks = [task_of(item) for item in known]
    with_twins = {original for _, original in tasks if original}
    places: dict[str, int] = {}

    def key(position: int) -> tuple[int, bool, str, int]:
        name, original = tasks[position]
        family = original or name
        if family not in with_twins:
            return (position, False, "", 0)
        return (places.setdefault(family, position), bool(original), name, position)

    keys = [key(position) for position in range(len(known))]
    return [known[position] for position in sorted(range(len(known)), key=keys.__getitem__)]


def task_words(task: Task) -> str:
    """What a task is called in a heading: ``twin_cartpole, a twin of cartpole``."""
    name, original = task
    return f"{name}, a twin of {original}" if original else name
