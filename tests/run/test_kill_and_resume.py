"""SIGKILL at random moments, then --resume: the run ends as if it had never been killed."""

import json
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from llm_server import Answer, ScriptedServer, from_recording

from promptpo.llm import find_recording
from promptpo.store.codec import decode
from promptpo.types import Key

pytestmark = pytest.mark.timeout(900)
RECORDING = find_recording("cartpole")
LEANING = Path(__file__).parents[1] / "data" / "leaning.txt"
KINDS = ("candidate", "rollout", "proof", "feedback", "round", "selection", "finished", "tuning",
         "tuned")  # fmt: skip
SMALL = (
    *("--spec", "cartpole", "--workers", "1", "--policy-seed", "7"),
    *("--test-episodes", "6", "--selection-episodes", "4"),
)
METHODS = {
    "promptpo": ("--model", "recorded"),
    "racing": ("--model", "recorded", "--episodes", "auto", "--selection-episodes", "auto"),
    "best-of-n": ("--method", "best-of-n", "--model", "recorded", "--finalists", "3"),
    "random-search": ("--method", "random-search", "--rounds", "3", "--candidates", "6"),
    "tune": ("--method", "tune", "--model", f"file:{LEANING}", "--tune", "--tune-steps", "20000"),
    "tuning": ("--model", "recorded", "--tune", "--tune-steps", "60000", "--rounds", "2"),
}
#: Method and kills.
REPLAYS = [
    pytest.param(*chain, marks=pytest.mark.slow)
    for chain in (
        ("promptpo", 3),
        ("racing", 2),
        ("best-of-n", 1),
        ("random-search", 1),
        ("tune", 2),
        ("tuning", 2),
    )
]


def start(*arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "promptpo", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process):
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors


def run_folder(out):
    """The run that can be seen under ``out``, if one can be seen already."""
    return next((f for f in out.glob("cartpole/*") if not f.name.startswith(".")), None)


def whole_events(folder):
    lines = (folder / "events.jsonl").read_bytes().split(b"\n")[:-1]
    return [json.loads(line) for line in lines]


def outcome(folder):
    """What must not depend on interruptions: every candidate, score, text and decision."""
    kept = {}
    for event in whole_events(folder):
        kind = event.pop("type")
        if kind in KINDS:
            event.pop("time")
            assert event not in kept.setdefault(kind, []), f"{kind} is recorded twice"
            kept[kind].append(event)
    return {kind: sorted(map(json.dumps, events)) for kind, events in kept.items()}


@dataclass
class Chain:
    """One run that is killed again and again, each time at a random moment."""

    out: Path
    arguments: tuple[str, ...]
    seconds: float
    rng: random.Random
    kills: int = 0

    def launch(self):
        folder = run_folder(self.out)
        if folder is None:
            return start(*SMALL, *self.arguments, "--out", str(self.out))
        return start("--resume", str(folder))

    def kill_once(self):
        """Let the run go on for a while, then kill it; False where it ended before that."""
        process = self.launch()
        time.sleep(self.rng.uniform(0, self.seconds))
        ended = process.poll() is not None
        process.send_signal(signal.SIGKILL)
        process.communicate()
        self.kills += not ended
        return not ended


def timed(out, *arguments):
    began = time.monotonic()
    finish(start(*SMALL, *arguments, "--out", str(out)))
    return time.monotonic() - began


@pytest.mark.parametrize(("method", "most"), REPLAYS)
def test_a_killed_run_ends_as_one_that_was_never_killed(tmp_path, method, most):
    seconds = timed(tmp_path / "whole", *METHODS[method])
    expected = outcome(run_folder(tmp_path / "whole"))
    assert expected["candidate"]
    rng = random.Random(most)
    kills = run = 0
    while kills < most:
        run += 1
        chain = Chain(tmp_path / f"run{run}", METHODS[method], seconds, rng)
        while kills + chain.kills < most and chain.kill_once():
            pass
        kills += chain.kills
        finish(chain.launch())
        assert outcome(run_folder(chain.out)) == expected


@pytest.mark.slow  # each start imports litellm
def test_no_reply_is_paid_twice(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    answer = Answer(latency=0.2)
    with ScriptedServer(from_recording(RECORDING, answer)) as server:
        arguments = ("--model", "openai/scripted", "--api-base", server.url)
        arguments += ("--rounds", "2", "--candidates", "2")
        seconds = timed(tmp_path / "whole", *arguments)
        expected = outcome(run_folder(tmp_path / "whole"))
        calls = {r.call for r in server.requests}
        assert len(calls) == len(server.requests)
        rng, most = random.Random(0), 1
        kills = run = 0
        while kills < most:
            run += 1
            chain = Chain(tmp_path / f"run{run}", arguments, seconds, rng)
            paid = set()
            killed = True
            while killed:
                seen = len(server.requests)
                killed = kills + chain.kills < most and chain.kill_once()
                if not killed:
                    finish(chain.launch())
                assert not paid & {r.call for r in server.requests[seen:]}
                if folder := run_folder(chain.out):
                    paid = recorded_calls(folder)
            kills += chain.kills
            assert paid == calls
            assert outcome(run_folder(chain.out)) == expected


def recorded_calls(folder):
    replies = (e for e in whole_events(folder) if e["type"] == "reply")
    return {str(decode(Key, e["key"])) for e in replies}
