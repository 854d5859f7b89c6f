"""Jobs and places, without Ray: places are coroutines, which are lost or hang as a test says."""

import asyncio
import contextlib
import threading
import time
from concurrent.futures import CancelledError

import pytest

from promptpo.errors import ClusterError, PromptPOError, SpecError
from promptpo.rollout.cluster import dispatch as dispatching
from promptpo.rollout.cluster.dispatch import Dispatch
from promptpo.rollout.cluster.pace import Pace
from promptpo.rollout.cluster.places import Gone, Refused, Task


class FakePlace:
    """Answers a task with what it does to it; ``node`` tells where."""

    def __init__(self, crew, number):
        self.crew, self.number = crew, number
        self.node = f"node {number}"
        self.killed = False

    async def open(self):
        if error := self.crew.refusing.get(self.number):
            raise Refused(self.node, error)
        if self.number in self.crew.stillborn:
            raise Gone("it never came")
        return f"found by {self.number}"

    async def do(self, task):
        self.crew.begun.append((self.number, task.job))
        if self.number in self.crew.losing:
            await asyncio.sleep(0.01)
            raise Gone(f"place {self.number} is gone")
        while self.number in self.crew.hanging:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.005)
        return task.job * 2

    def kill(self):
        self.killed = True


class FakeCrew:
    def __init__(self, count, losing=(), hanging=(), refusing=(), stillborn=()):
        self.count, self.losing, self.hanging = count, set(losing), set(hanging)
        self.refusing, self.stillborn = dict(refusing), set(stillborn)
        self.places, self.begun = [], []

    def wanted(self):
        return self.count

    def hire(self):
        self.places.append(FakePlace(self, len(self.places)))
        return self.places[-1]


@pytest.fixture
def start(monkeypatch):
    """A Dispatch over a crew, and the notices that it gives."""
    monkeypatch.setattr(dispatching, "LOOK", 0.02)
    with contextlib.ExitStack() as stack:

        def started(crew, pace=None):
            notices = []
            running = Dispatch(crew, notices.append, pace)
            stack.callback(running.close)
            return running, notices

        yield started


def answers(running, jobs):
    futures = [running.submit(Task(job, "double")) for job in jobs]
    return [future.result(10) for future in futures]


def becomes_true(condition):
    """Whether something comes about within ten seconds."""
    deadline = time.monotonic() + 10
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


def test_every_job_is_done_once(start):
    crew = FakeCrew(3)
    running, _ = start(crew)
    assert running.begun().result(10) == "found by 0"
    assert answers(running, range(50)) == [2 * n for n in range(50)]
    assert sorted(job for _, job in crew.begun) == list(range(50))
    assert {number for number, _ in crew.begun} == {0, 1, 2}
    assert (running.slots, running.nodes) == (3, 3)


def test_what_a_lost_place_was_doing_is_done_elsewhere(start):
    crew = FakeCrew(2, losing={0})
    running, _ = start(crew)
    assert answers(running, range(20)) == [2 * n for n in range(20)]
    done = [job for number, job in crew.begun if number != 0]
    assert sorted(done) == list(range(20))
    assert crew.places[0].killed
    assert becomes_true(lambda: len(crew.places) == 3)  # another one has been hired for it


def test_a_job_that_loses_every_place_is_taken_for_their_end(start):
    running, _ = start(FakeCrew(1, losing=range(100)))
    with pytest.raises(ClusterError, match="5 workers were lost by one job: place 4 is gone"):
        answers(running, [1])


def test_what_hangs_is_begun_elsewhere_and_the_first_answer_counts(start):
    crew = FakeCrew(2)
    running, _ = start(crew, Pace(least=0.1, times=3.0))
    answers(running, range(20))
    crew.hanging.add(0)
    assert answers(running, range(20, 40)) == [2 * n for n in range(20, 40)]
    hung = next(job for number, job in crew.begun if number == 0 and job >= 20)
    assert (1, hung) in crew.begun
    crew.hanging.clear()
    assert answers(running, range(40, 60)) == [2 * n for n in range(40, 60)]
    assert any(number == 0 and job >= 40 for number, job in crew.begun)  # it is of use again


def test_nothing_is_begun_twice_that_takes_as_long_as_its_like(start):
    crew = FakeCrew(2)
    running, _ = start(crew, Pace(least=5.0))
    answers(running, range(20))
    crew.hanging.add(0)
    future = running.submit(Task(20, "double"))
    other = running.submit(Task(21, "double"))
    threading.Timer(0.3, crew.hanging.clear).start()
    assert (future.result(10), other.result(10)) == (40, 42)
    assert sorted(job for _, job in crew.begun if job >= 20) == [20, 21]


def test_places_that_come_later_are_used(start):
    crew = FakeCrew(1)
    running, _ = start(crew)
    answers(running, range(3))
    crew.hanging.add(0)
    stuck = running.submit(Task(3, "double"))
    crew.count = 2
    assert answers(running, range(10, 20)) == [2 * n for n in range(10, 20)]
    assert not stuck.done()


def test_a_place_that_cannot_take_part_says_why_before_anything_is_played(start):
    running, _ = start(FakeCrew(2, refusing={1: SpecError("node 1: no minigrid")}))
    with pytest.raises(SpecError, match="node 1: no minigrid"):
        running.begun().result(10)


def test_one_that_comes_later_is_left_out_and_told_of(start):
    crew = FakeCrew(1, refusing={n: ClusterError("node b: no promptpo") for n in (1, 2)})
    running, notices = start(crew)
    running.begun().result(10)
    crew.count = 4
    assert becomes_true(lambda: len(notices) == 2 and running.slots == 2)
    assert answers(running, range(30)) == [2 * n for n in range(30)]
    assert {number for number, _ in crew.begun} <= {0, 3}
    assert set(notices) == {"node b: no promptpo; until then it is not used"}


def test_places_that_never_begin_are_an_error(start):
    running, _ = start(FakeCrew(1, stillborn=range(100)))
    with pytest.raises(ClusterError, match="end before they have begun: it never came"):
        running.begun().result(10)


def test_a_closed_one_answers_nothing_and_ends_its_places(start):
    crew = FakeCrew(1, hanging={0})
    running, _ = start(crew)
    running.begun().result(10)
    futures = [running.submit(Task(n, "double")) for n in range(3)]
    running.close()
    for future in futures:
        with pytest.raises((PromptPOError, CancelledError)):
            future.result(10)
    assert crew.places[0].killed
    with pytest.raises(PromptPOError, match="closed"):
        running.submit(Task(9, "double")).result(10)
