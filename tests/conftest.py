"""What all tests share."""

from pathlib import Path

#: Minutes each: begun first, so that none of them is left over when the others are done.
LONGEST = ("test_recordings.py", "test_kill_and_resume.py")


def pytest_collection_modifyitems(items):
    def is_short(item):
        return Path(item.path).name not in LONGEST

    items.sort(key=is_short)
