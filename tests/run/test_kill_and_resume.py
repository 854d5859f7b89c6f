"""SIGKILL at random moments, then --resume: the run ends as if it had never been killed.

What is killed is a process of its own; what runs to its end does so in this one, which has
everything imported. Replies are of policies that fall soon, and none counts on scipy, which each
process would load: episodes and libraries are the subject of other tests.
"""

import random
import signal
import subprocess
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from llm_server import Answer, ScriptedServer, from_recording
from processes import started
from scripted import BAD, Replies, events_of, outcome, policy, replies, run_folder

from promptpo.cli import main
from promptpo.store.codec import decode
from promptpo.types import Key

pytestmark = pytest.mark.timeout(900)
LEANING = Path(__file__).parents[1] / "data" / "leaning.txt"
LEARNING = Path(__file__).parents[1] / "data" / "cartpole_lqr.txt"
SMALL = (
    *("--spec", "cartpole", "--workers", "1", "--set", "policy_seed=7"),
    *("--rounds", "2", "--candidates", "2", "--episodes", "3"),
    *("--test-episodes", "3", "--selection-episodes", "2"),
)
METHODS = {
    "promptpo": (),
    "racing": ("--episodes", "auto", "--selection-episodes", "auto"),
    "best-of-n": ("--method", "best-of-n", "--set", "finalists=3"),
    "random-search": ("--method", "random-search"),
    "r2po": ("--method", "r2po", "--set", "warm_up=3", "--episodes", "5", "--rounds", "3"),
    "props+": (
        *("--method", "props+", "--set", "warm_up=3", "--candidates", "1"),
        *("--episodes", "5", "--rounds", "3"),
    ),
    "inspo": (
        *("--method", "inspo", "--set", "max_repairs=1"),
        *("--set", "probe=1", "--set", "prune_every=1"),
    ),
    "tune": ("--method", "tune", "--model", f"file:{LEANING}", "--tune", "--tune-steps", "4000"),
    "tuning": ("--tune", "--tune-steps", "12000"),
    "preparing": (
        *("--set", "prepare_time=20", "--set", "max_repairs=1"),
        *("--set", "early_stop=false"),
    ),
}

#: Pushes left, and fails where an episode lasts for more than nine steps: shorter ones are kept.
FAILING = """
class Policy:
    def __init__(self):
        self.steps = 0

    def act(self, obs):
        self.steps += 1
        return 0 if self.steps <= 9 else 2
"""

#: Method and kills: more than one where a run that was resumed is killed again.
KILLS = {"promptpo": 2, "racing": 1, "best-of-n": 1, "random-search": 1, "r2po": 2, "props+": 1,
         "inspo": 2, "tune": 2, "tuning": 2, "preparing": 3}  # fmt: skip
#: What must be on record besides, else a method has not done what can be killed.
DONE = {"tune": {"tuning", "tuned"}, "tuning": {"tuning", "tuned"}, "preparing": {"prepared"},
        "inspo": {"table"}, "racing": {"selection"}, "best-of-n": {"selection"}}  # fmt: skip


def written(tune=False):
    """Rounds of two; one policy fails, and its repair is the best there is."""
    leaning = LEANING.read_text() if tune else policy("return int(obs.pole_angle > 0)")
    ahead = policy("return int(obs.pole_angle + 0.1 * obs.pole_velocity > 0)")
    script = replies([BAD, leaning], [policy("return int(obs.pole_velocity > 0)"), FAILING])
    return script.say(ahead, "repair", 2, 2, 1)


def proposals():
    """Parameters for three iterations; one reply to R2PO has none, and is asked for again."""
    script = Replies()
    for number in (1, 2, 3):
        for candidate, role in ((1, "search"), (2, "critic")):
            values = [candidate + i / 2 - number for i in range(10)]
            script.say(f"params = {values}", role, number, candidate)
    script.say("I cannot tell.", "critic", 2, 2)
    return script.say("params = [-1, 0, -2, 0, 0, 1, 0, 2, 1, 0]", "critic", 2, 2, 1)


def instructed():
    """Policies written under instructions; the first reflection has none, and is asked again."""
    script = replies([LEANING.read_text(), FAILING], [FAILING, LEANING.read_text()])
    script.say("I know of none.", "reflection", 2).say(LEANING.read_text(), "repair", 2, 1, 1)
    return script.say("```instruction\nLook twice.\n```", "reflection", 2, 0, 1)


def learning():
    """Policies that learn: what was learned from is played, fails and is repaired."""
    source = LEARNING.read_text()
    another = source.replace("10.0", "20.0")
    script = replies([source, FAILING], [source, another])
    return script.say(another, "repair", 1, 2, 1)


SCRIPTS = {"r2po": proposals, "props+": proposals, "inspo": instructed, "preparing": learning,
           "tuning": partial(written, tune=True)}  # fmt: skip


def arguments_of(method, folder):
    """Its options, and the replies of a model where it asks one."""
    if method in ("random-search", "tune"):
        return METHODS[method]
    script = SCRIPTS.get(method, written)()
    return ("--model", script.write(folder / "replies.jsonl"), *METHODS[method])


def prepared(folder):
    """What policies have learned, to the byte."""
    return {f.relative_to(folder): f.read_bytes() for f in folder.glob("candidates/*/prepared_*")}


@dataclass
class Chain:
    """One run that is killed again and again, each time at a random moment."""

    out: Path
    arguments: tuple[str, ...]

    def command(self):
        """What begins the run, or goes on with it."""
        folder = run_folder(self.out)
        if folder is None:
            return [*SMALL, *self.arguments, "--out", str(self.out)]
        return ["--resume", str(folder)]

    def events(self):
        """Return how many the run has recorded."""
        folder = run_folder(self.out)
        return 0 if folder is None else (folder / "events.jsonl").read_bytes().count(b"\n")

    def kill_once(self, events, seconds):
        """Kill the run so many seconds after so many events; False where it ended before that."""
        process = started(*self.command(), stdout=subprocess.DEVNULL)
        while self.events() < events and process.poll() is None:
            time.sleep(0.002)
        time.sleep(seconds)
        ended = process.poll() is not None
        process.send_signal(signal.SIGKILL)
        process.communicate()
        return not ended


@pytest.mark.slow
@pytest.mark.parametrize(("method", "most"), KILLS.items())
def test_a_killed_run_ends_as_one_that_was_never_killed(tmp_path, method, most):
    arguments = arguments_of(method, tmp_path)
    whole = Chain(tmp_path / "whole", arguments)
    began = time.monotonic()
    assert main(whole.command()) == 0
    count = whole.events()
    between = (time.monotonic() - began) / count
    expected = outcome(run_folder(whole.out))
    assert {"candidate", *DONE.get(method, ())} <= set(expected)
    rng = random.Random(most)
    kills = run = 0
    while kills < most:
        run += 1
        chain = Chain(tmp_path / f"run{run}", arguments)
        while kills < most:
            # One in each part of the run; where it stood is read off its record, not off a clock.
            events = count * (kills + rng.random()) / most
            if not chain.kill_once(events, rng.uniform(0, between)):
                break
            kills += 1
        assert main(chain.command()) == 0
        assert outcome(run_folder(chain.out)) == expected
        assert prepared(run_folder(chain.out)) == prepared(run_folder(whole.out))


@pytest.mark.slow
def test_no_reply_is_paid_twice(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    written().write(tmp_path / "replies.jsonl")
    answers = from_recording(tmp_path / "replies.jsonl", Answer(latency=0.2))
    with ScriptedServer(answers) as server:
        arguments = ("--model", "openai/scripted", "--api-base", server.url)
        assert main([*SMALL, *arguments, "--out", str(tmp_path / "whole")]) == 0
        calls = {r.call for r in server.requests}
        assert len(calls) == len(server.requests)
        begun = len(calls)
        process = started(
            *SMALL, *arguments, "--out", str(tmp_path / "killed"), stdout=subprocess.DEVNULL
        )
        while len(server.requests) < begun + len(calls) // 2:
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        time.sleep(random.uniform(0, 0.4))  # the reply may be there, and may be recorded
        process.kill()
        process.communicate()
        folder = run_folder(tmp_path / "killed")
        paid, begun = recorded_calls(folder), len(server.requests)
        assert paid < calls
        assert main(["--resume", str(folder)]) == 0
        assert paid.isdisjoint(r.call for r in server.requests[begun:])
    assert recorded_calls(folder) == calls
    assert outcome(folder) == outcome(run_folder(tmp_path / "whole"))


def recorded_calls(folder):
    return {str(decode(Key, e["key"])) for e in events_of(folder, "reply")}
