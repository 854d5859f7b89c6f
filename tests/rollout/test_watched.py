"""A process that runs a spec's code: what it prints, its closed files, its hangs and stops."""

import asyncio
import contextlib
import os
import signal
import threading
import time

import psutil
import pytest
from faulty_spec import always, write

from promptpo.common.foreign import shown_by
from promptpo.errors import SpecError
from promptpo.policies.constants import tunable
from promptpo.rollout import LocalExecutor, PlayJob, Settings, rehearse
from promptpo.rollout.jobs import InstancesJob

JOB = PlayJob(always(1), (1, 2))


@contextlib.contextmanager
def opened(spec, limit=20.0):
    with contextlib.closing(LocalExecutor(Settings(str(spec), env_timeout=limit), 1)) as executor:
        yield executor


def shown_by_playing(spec):
    """What an environment prints while a policy plays; the episodes have gone well."""
    lines = []
    with shown_by(lines.append), opened(spec) as executor:
        run = asyncio.run(executor.run(JOB))
    assert run.error is None
    return lines


PLACES = ("at_import", "in_make", "in_reset", "in_step")


def test_what_an_environment_prints_is_shown_under_its_name(tmp_path):
    says = "print('NAME'); os.write(1, b'NAME there\\n'); os.write(2, b'NAME again\\n')"
    spec = write(tmp_path / "room.py", **{place: says.replace("NAME", place) for place in PLACES})
    lines = shown_by_playing(spec)
    for place in PLACES:
        first = lines.index(f"room: {place}")
        assert lines[first + 1 : first + 3] == [f"room: {place} there", f"room: {place} again"]


def test_an_environment_that_prints_without_end_is_never_held_up(tmp_path):
    spec = write(tmp_path / "room.py", in_step="os.write(1, b'x' * 5_000_000)")
    assert sum(map(len, shown_by_playing(spec))) < 10_000


@pytest.mark.parametrize("place", PLACES)
def test_an_environment_may_close_where_it_prints(tmp_path, place):
    for closing in ("os.close(1); os.close(2)", "sys.stdout.close(); sys.stderr.close()"):
        statement = f"exec('import contextlib\\nwith contextlib.suppress(OSError): {closing}')"
        assert shown_by_playing(write(tmp_path / "room.py", **{place: statement})) == []


def counting(tmp_path, under="True"):
    """A spec that hangs in the third step under a condition, and where the hangs are counted."""
    count = tmp_path / "hangs"
    hang = f"if self.count == 3 and ({under}): open({str(count)!r}, 'a').write('x'); exec(LOOP)"
    return write(tmp_path / "room.py", at_import="LOOP = 'while True: pass'", in_step=hang), count


@pytest.mark.slow
def test_a_hang_under_whatever_is_done_is_met_three_times(tmp_path):
    spec, count = counting(tmp_path)
    with opened(spec, 0.5) as executor:
        for asked in (
            executor.run(JOB),
            rehearse(executor, JOB.seeds),
            executor.run(PlayJob(always(0), (1, 2))),
        ):
            with pytest.raises(SpecError, match="with random actions"):
                asyncio.run(asked)
    assert count.read_text() == "xxx"  # the policy, zero actions, random ones


@pytest.mark.slow
def test_a_hang_under_one_policy_is_met_twice(tmp_path):
    spec, count = counting(tmp_path, "action == 2")
    with opened(spec, 0.5) as executor:
        bad = asyncio.run(executor.run(PlayJob(always(2), (1, 2))))
        asyncio.run(rehearse(executor, (1, 2)))
        good = asyncio.run(executor.run(JOB))
    assert (bad.error_kind, good.error) == ("environment", None)
    assert count.read_text() == "xx"


@pytest.mark.slow
def test_of_many_values_that_hang_few_are_tried(tmp_path):
    spec, count = counting(tmp_path, "action == 2")
    source = "class Policy:\n    def __init__(self):\n        self.cold = 0.7\n\n"
    source += "    def act(self, obs):\n        return 2 if obs.heat > self.cold else 1\n"
    found = tunable(source, auto=True)
    places = tuple(constant.place for constant in found.constants)
    values = tuple((v,) for v in (0.7, 0.3, 0.7, 0.3, 0.3, 0.3, 0.8, 0.3))
    with opened(spec, 0.5) as executor:
        runs = asyncio.run(executor.run(InstancesJob(found.source, places, values, (1,))))
    assert [run.error is None for run in runs[:3]] == [True, False, True]
    assert len(count.read_text()) <= 2 * 3  # two parts: together, and two alone


def workers():
    """Processes that run an environment."""
    return [p for p in psutil.Process().children() if "loky" in " ".join(p.cmdline())]


@pytest.mark.slow
def test_a_process_that_is_stopped_is_replaced(tmp_path):
    spec = write(tmp_path / "room.py", in_step="time.sleep(0.02)", in_reset="time.sleep(0.02)")
    told = []
    with opened(spec, 0.25) as executor:
        executor.tell(lambda text, **how: told.append(text))
        asyncio.run(executor.run(JOB))

        def stop():
            time.sleep(0.05)
            for process in before:
                os.kill(process.pid, signal.SIGSTOP)

        before = workers()
        threading.Thread(target=stop).start()
        began = time.monotonic()
        run = asyncio.run(executor.run(PlayJob(always(1), tuple(range(20)))))
    assert run.error is None
    assert 2.0 < time.monotonic() - began < 30.0  # 10 times the limit, and a new process
    assert any("room: the process was stopped" in text for text in told)
    assert any("(its process is stopped)" in text for text in told)
