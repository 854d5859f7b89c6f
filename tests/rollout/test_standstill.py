"""What counts as time in which a call stands still: neither a stop nor progress."""

import os
import signal
import subprocess
import time

import pytest

from promptpo.rollout.watched import Standstill
from promptpo.spec.calls import CALL, IDLE, SEEN, SIZE, STEP

LIMIT = 0.3


@pytest.fixture
def sleeper():
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
        process.kill()


@pytest.fixture
def cells():
    return memoryview(bytearray(SIZE)).cast("q")


def stands_still(still, seconds=3 * LIMIT, meanwhile=lambda: None):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(still.seconds)
        meanwhile()
        if still.too_long():
            return True
    return False


def test_a_call_without_progress_stands_still_and_what_is_no_call_does_not(cells, sleeper):
    still = Standstill(cells, sleeper.pid, LIMIT)
    cells[CALL] = IDLE
    assert not stands_still(still)
    cells[CALL] = STEP
    assert stands_still(still)


def test_progress_counts_whoever_sees_it(cells, sleeper):
    def step():
        cells[SEEN] += 1

    cells[CALL] = STEP
    assert not stands_still(Standstill(cells, sleeper.pid, LIMIT), meanwhile=step)


def test_time_in_which_the_process_or_who_looks_was_stopped_does_not_count(cells, sleeper):
    cells[CALL] = STEP
    still = Standstill(cells, sleeper.pid, LIMIT)
    still.too_long()
    time.sleep(3 * LIMIT)  # as if this process had been stopped
    assert not still.too_long()
    os.kill(sleeper.pid, signal.SIGSTOP)
    os.waitpid(sleeper.pid, os.WUNTRACED)
    still.start()
    assert not stands_still(still)
    os.kill(sleeper.pid, signal.SIGCONT)
    assert stands_still(still)
