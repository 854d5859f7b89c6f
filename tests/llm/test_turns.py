import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import promptpo
from promptpo.errors import FileError
from promptpo.llm.waiting import TURNS, Turns


async def most_at_once(several, calls):
    """How many turns were had at the same time, each of some tasks."""
    now = most = 0

    async def call(turns):
        nonlocal now, most
        async with turns.one():
            now += 1
            most = max(most, now)
            await asyncio.sleep(0.01)
            now -= 1

    await asyncio.gather(*(call(turns) for turns in several for _ in range(calls)))
    return most


def test_calls_are_counted_of_one_run_and_of_all_that_share_a_folder(tmp_path, monkeypatch):
    monkeypatch.delenv(TURNS, raising=False)
    for several, calls, most in (
        ([Turns(3, None)], 10, 3),
        ([Turns(2, tmp_path / "turns") for _ in range(4)], 3, 2),
        ([Turns.of_environment(2) for _ in range(3)], 3, 6),
    ):
        assert asyncio.run(most_at_once(several, calls)) == most


HOLDER = """
import asyncio, sys
from pathlib import Path
from promptpo.llm.waiting import Turns

async def hold():
    async with Turns(1, Path(sys.argv[1])).one():
        print("held", flush=True)
        await asyncio.sleep(60)

asyncio.run(hold())
"""


def test_a_turn_ends_with_the_process_that_has_it(tmp_path):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, tmp_path],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(promptpo.__file__).parents[1])},
    )
    assert holder.stdout.readline() == b"held\n"
    turns = Turns(1, tmp_path)
    with pytest.raises(TimeoutError):
        asyncio.run(asyncio.wait_for(most_at_once([turns], 1), 0.3))
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    assert asyncio.run(asyncio.wait_for(most_at_once([turns], 1), 10)) == 1


def test_a_folder_that_cannot_be_is_one_line(tmp_path):
    (tmp_path / "file").write_text(json.dumps({}))
    with pytest.raises(FileError, match="file"):
        asyncio.run(most_at_once([Turns(1, tmp_path / "file" / "turns")], 1))
