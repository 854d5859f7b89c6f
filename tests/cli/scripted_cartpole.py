"""A recording for CartPole of what models really send: winners, losers, a crash, its repair."""

import json
from pathlib import Path

FEEDBACK = """
class Feedback:
    def summarize_trajectory(self, traj):
        last = traj.observations[-1]
        return f"{traj.length} steps, ended at angle {last.pole_angle:.2f}"
"""

#: Falls at once.
LEFT = '''
class Policy:
    """Always push to the left."""

    def act(self, observation):
        return 0
'''

#: About 40 steps.
LEAN = '''
class Policy:
    """Push to the side that the pole leans to."""

    def act(self, observation):
        return 1 if observation.pole_angle > 0 else 0
'''

#: All 500 steps.
BALANCE = '''
import numpy as np


class Policy:
    """Push to the side that the pole is falling to."""

    def __init__(self):
        self.gains = np.array([0.05, 0.1, 1.0, 0.5])

    def act(self, observation):
        state = np.array(
            [
                observation.cart_position,
                observation.cart_velocity,
                observation.pole_angle,
                observation.pole_velocity,
            ]
        )
        return int(self.gains @ state > 0)
'''

CRASH = """
class Policy:
    def act(self, observation):
        return int(observation.pole_tilt > 0)
"""


def fenced(source: str) -> str:
    """As a chat model answers."""
    return f"Here it is.\n\n```python\n{source.strip()}\n```\n"


#: role, round, candidate, attempt, text: two rounds of three.
REPLIES = [
    ("feedback", 0, 0, 0, fenced(FEEDBACK)),
    ("policy", 1, 1, 0, fenced(LEFT)),
    ("policy", 1, 2, 0, fenced(CRASH)),
    ("repair", 1, 2, 1, fenced(LEAN)),
    ("policy", 1, 3, 0, "I would rather talk about the weather."),
    ("reflection", 2, 0, 0, "Leaning beats pushing left. Use the velocity of the pole as well."),
    ("policy", 2, 1, 0, fenced(BALANCE)),
    ("policy", 2, 2, 0, fenced(LEAN)),
    ("policy", 2, 3, 0, fenced(LEFT)),
]


def write_recording(path: Path) -> Path:
    """Write the recording; returns its path."""
    header = {
        "type": "recording",
        "format": 2,
        "spec": "cartpole",
        "config": {
            "spec": "cartpole",
            "seed": 0,
            "rounds": 2,
            "candidates": 3,
            "episodes": 5,
            "early_stop": False,
            "tune": False,
            "options": {
                "history": "published",
                "probe": 0,
                "challenge": False,
            },
        },
        "model": "scripted",
        "how": "written by hand for tests",
        "date": "2026-11-20",
    }
    lines = [header]
    for role, round_, candidate, attempt, text in REPLIES:
        key = {"role": role, "round": round_, "candidate": candidate, "attempt": attempt}
        lines.append({"type": "reply", "time": 0.0, "key": key, "text": text, "model": "scripted"})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path
