"""What all tests share."""

import importlib
import os
import signal
import sys
from pathlib import Path

import pytest

# A shell starts `pytest &` with SIGINT ignored, and every process that a test starts would be, too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Hundreds of processes are started: not each of them is to compile all modules anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

#: A minute each: begun first, so that none of them is left over when the others are done, and those
#: with a cluster stay in the process that has started it.
LONGEST = ("test_golden_replays.py", "test_two_nodes.py", "test_kill_and_resume.py")


@pytest.fixture
def scipy_stats():
    """It takes long to import, and every process collects all tests."""
    return importlib.import_module("scipy.stats")


def pytest_xdist_auto_num_workers(config):
    """Three processes on two cores: a third of the time tests wait for processes of their own."""
    return len(os.sched_getaffinity(0)) * 3 // 2


def pytest_collection_modifyitems(items):
    def place(item):
        name = Path(item.path).name
        return LONGEST.index(name) if name in LONGEST else len(LONGEST)

    items.sort(key=place)
