"""Runs whose replies a test has written: recordings in the product's own format."""

import json
import shutil
from dataclasses import asdict

from promptpo import optimize
from promptpo.llm.messages import Reply, Request
from promptpo.llm.recording import reply_event
from promptpo.store.codec import decode
from promptpo.store.events import FORMAT
from promptpo.types import Key

FEEDBACK = """
class Feedback:
    def summarize_trajectory(self, traj):
        last = traj.observations[-1]
        return f"{traj.length} steps, return {traj.total_reward:.0f}, last {last.pole_angle:.2f}"
"""

#: Keeps CartPole's pole up for all 500 steps.
GOOD = """
class Policy:
    \"\"\"Pushes towards where the pole is falling.\"\"\"

    def act(self, obs):
        lean = obs.pole_angle + 0.3 * obs.pole_velocity
        return int(lean + 0.02 * obs.cart_position + 0.05 * obs.cart_velocity > 0)
"""

#: Falls over within about ten steps.
BAD = """
class Policy:
    \"\"\"Always pushes left.\"\"\"

    def act(self, obs):
        return 0
"""


def policy(body, setup="pass"):
    """A policy whose ``act`` is ``body``."""
    return f"class Policy:\n    def __init__(self):\n        {setup}\n\n" + (
        f"    def act(self, obs):\n        {body}\n"
    )


def fenced(code):
    return f"Here it is.\n\n```python\n{code.strip()}\n```\n"


class Replies(dict):
    """Replies by key; code is put into a fence, text that is no code stays as it is."""

    def say(self, text, role, round_=0, candidate=0, attempt=0, **details):
        key = Key(round_, candidate, attempt, role)
        text = fenced(text) if text.lstrip().startswith(("class ", "import ", "from ")) else text
        self[key] = Reply(text, "scripted", **details)
        return self

    def write(self, path, **config):
        header = {"type": "recording", "format": FORMAT, "config": config}
        lines = [header] + [
            {"type": "reply", **reply_event(Request(key, ()), reply), "prompt_sha256": ""}
            for key, reply in self.items()
        ]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return f"recorded:{path}"


def replies(*rounds, feedback=FEEDBACK):
    """Replies for rounds of candidates, each a policy's source or a Reply's text."""
    script = Replies().say(feedback, "feedback")
    for number, sources in enumerate(rounds, 1):
        script.say("It got better.", "reflection", number + 1)
        for index, source in enumerate(sources, 1):
            script.say(source, "policy", number, index)
    return script


def run(tmp_path, script, spec="cartpole", **settings):
    """A small run of CartPole, or a spec like it, over scripted replies: result and events."""
    rounds = max(key.round for key in script if key.role == "policy")
    candidates = max(key.candidate for key in script)
    small = {"rounds": rounds, "candidates": candidates}
    if settings.get("method", "promptpo") == "promptpo":
        small |= {"max_repairs": 0, "probe": 0}
    model = script.write(tmp_path / "replies.jsonl")
    return run_small(tmp_path, spec, **{"model": model} | small | settings)


def run_small(tmp_path, spec="cartpole", **settings):
    """A small run that asks no model, or one that is given: result and events."""
    events = []
    small = {"episodes": 2, "selection_episodes": 2, "test_episodes": 3, "workers": 1}
    out = str(tmp_path / "runs")
    result = optimize(spec, out=out, on_event=events.append, **small | settings)
    return result, events


def data_of(events, kind):
    return [asdict(e)["data"] for e in events if e.type == kind]


def prompts_of(events):
    """The last message of each prompt, by the name of its call."""
    prompts = data_of(events, "prompt")
    return {str(decode(Key, p["key"])): p["messages"][-1]["content"] for p in prompts}


def events_of(folder, kind=None):
    """The events in a run's log, or those of a kind."""
    events = map(json.loads, (folder / "events.jsonl").read_text().splitlines())
    return [e for e in events if kind in (None, e["type"])]


def run_folder(out):
    """The run of CartPole that can be seen under a folder of runs, if one can be seen already."""
    return next((f for f in out.glob("cartpole/*") if not f.name.startswith(".")), None)


def info_of(folder):
    return json.loads((folder / "run.json").read_text())


def cut(folder, to, kind, number=0, **data):
    """A copy of a run as a kill leaves it after an event of a kind: with this data, by number."""
    shutil.copytree(folder, to)
    lines = (folder / "events.jsonl").read_text().splitlines(keepends=True)
    events = enumerate(map(json.loads, lines), 1)
    ends = [i for i, e in events if {"type": kind, **data}.items() <= e.items()]
    (to / "events.jsonl").write_text("".join(lines[: ends[number]]))
    info = info_of(to) | {"status": "running", "ended": None}
    (to / "run.json").write_text(json.dumps({k: v for k, v in info.items() if k != "test"}))
    return to


#: Events that are the same whether a run was interrupted or not.
DECIDED = (
    *("candidate", "rollout", "feedback", "round", "selection", "finished"),
    *("tuning", "tuned", "prepared", "table", "coverage"),
)


def outcome(folder):
    """What must not depend on interruptions: every candidate, score, text and decision, once."""
    kept = {}
    for event in events_of(folder):
        if event["type"] in DECIDED:
            line = json.dumps({k: v for k, v in event.items() if k not in ("time", "seconds")})
            assert line not in kept.setdefault(event["type"], []), f"{line} is recorded twice"
            kept[event["type"]].append(line)
    return {kind: sorted(lines) for kind, lines in kept.items()}
