"""What all tests share."""

import os
import signal
from pathlib import Path

# A shell starts `pytest &` with SIGINT ignored, and every process that a test starts would be, too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

#: Minutes each: begun first, so that none of them is left over when the others are done.
LONGEST = ("test_recordings.py", "test_kill_and_resume.py")


def pytest_xdist_auto_num_workers(config):
    """Three processes on two cores: a third of the time tests wait for processes of their own."""
    return len(os.sched_getaffinity(0)) * 3 // 2


def pytest_collection_modifyitems(items):
    def is_short(item):
        return Path(item.path).name not in LONGEST

    items.sort(key=is_short)
