"""How long a report takes, and how large it is, for a run of 10 rounds of 10 candidates.

    python benchmarks/report.py

Makes a run's folder as a long Meta-World run leaves it (episodes of 500 steps with 39 numbers to
an observation, prompts of about 60,000 characters) with scores drawn at random, and times
``promptpo report`` on it as a user would, interpreter start included, and within one process.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from promptpo.llm.recording import FORMAT  # noqa: E402
from promptpo.report import write_report  # noqa: E402 - found by the line above
from promptpo.report.code import highlighted, side_by_side  # noqa: E402
from promptpo.store.codec import encode  # noqa: E402
from promptpo.store.folder import RunFolder  # noqa: E402
from promptpo.types import Candidate, Episode, Key, Note, Rollout, Stream, Trajectory  # noqa: E402

STEPS, OBSERVATION, ACTION, EPISODES = 500, 39, 4, 5
PROMPT = "What the model is told, line by line, of the task and of the rounds before.\n" * 800


def main() -> None:
    """Make the run, time its report, print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--candidates", type=int, default=10)
    parser.add_argument("--keep", type=Path, help="leave the run's folder here")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        path = (arguments.keep or Path(temporary)) / "runs" / "benchmark" / "20260101-000000"
        make_run(path, arguments.rounds, arguments.candidates)
        whole = timed(lambda: run_command("report", str(path)))
        write_report(path)  # imports
        within = timed(lambda: write_anew(path))
        size = (path / "report.html").stat().st_size
    what = f"{arguments.rounds} rounds of {arguments.candidates}"
    print(f"{what}: promptpo report takes {whole}; at the end of a run, {within}")
    print(f"{what}: report.html has {size / 1e6:.2f} MB")


def write_anew(path: Path) -> None:
    """Write the report with nothing remembered from the last time."""
    highlighted.cache_clear()
    side_by_side.cache_clear()
    write_report(path)


def run_command(*words: str) -> None:
    """Run promptpo as a user does."""
    command = [sys.executable, "-m", "promptpo", *words]
    subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)  # noqa: S603 - ours


def timed(action: Callable[[], None]) -> str:
    """The median of three: wall clock, and the processor time that it does not share."""
    times = []
    for _ in range(3):
        wall, busy = time.perf_counter(), processor_time()
        action()
        times.append((time.perf_counter() - wall, processor_time() - busy))
    wall, busy = sorted(times)[1]
    return f"{wall:.2f} s ({busy:.2f} s of processor time)"


def processor_time() -> float:
    """Seconds that this process and those it waited for have computed."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def make_run(path: Path, rounds: int, candidates: int) -> None:
    """A finished run's folder; the same numbers every time."""
    rng = random.Random(0)  # noqa: S311 - not a secret
    path.mkdir(parents=True)
    folder = RunFolder(path)
    config = {"spec": "benchmark", "model": "openai/gpt-5", "rounds": rounds, "seed": 0}
    observation = [
        {"name": f"field_{i}", "shape": [3], "unit": "m"} for i in range(OBSERVATION // 3)
    ]
    references = {"random": {"mean_return": 800.0, "success_rate": 0.01}}
    spec = {"name": "benchmark", "title": "A long run", "sha": "0" * 16, "observation": observation}
    events: list[dict[str, Any]] = [
        {
            "type": "run",
            "format": FORMAT,
            "config": config,
            "spec": {**spec, "references": references},
        }
    ]
    best: tuple[float, str] = (0.0, "")
    for number in range(1, rounds + 1):
        scores = [(rng.gauss(1500 + 300 * number, 400), i) for i in range(1, candidates + 1)]
        for score, index in scores:
            events += trial(rng, number, index, score)
        score, index = max(scores)
        name = f"r{number:02d}_c{index:02d}"
        best = max(best, (score, name))
        folder.write_episodes(name, [episode(number * 10 + k) for k in range(EPISODES)])
        texts = ["what it looked like; " * 40 for _ in range(EPISODES)]
        notes = [Note("Reflection before it", "Why. " * 300)]
        notes += [Note(f"Episode {k}", text) for k, text in enumerate(texts, 1)]
        feedback = {"key": encode(Key(number, index)), "digest": f"feedback {name}", "by": "model"}
        end = {"round": number, "winner": name, "score": values(score), "notes": encode(notes)}
        events.append({"type": "feedback", **feedback, "texts": texts, "error": None})
        events.append({"type": "round", **end, "best": {"name": best[1], "score": values(best[0])}})
    events.append(rollout(rng, Key.named(best[1]), best[0], "test", 50))
    events.append({"type": "test", "name": best[1], "digest": events[-1]["digest"]})
    ended = {"status": "finished", "reason": "all rounds are done", "best": best[1], "score": None}
    events.append({"type": "finished", **ended})
    lines = (json.dumps({"time": 1e9 + i, **event}) for i, event in enumerate(events))
    folder.events.write_text("\n".join(lines) + "\n")
    folder.write_info({"status": "finished", "reason": "all rounds are done", "seconds": 1234.5})


def trial(rng: random.Random, number: int, index: int, score: float) -> list[dict[str, Any]]:
    """The events of one candidate."""
    key, asked = Key(number, index), encode(Key(number, index, role="policy"))
    source = policy(rng)
    reply = {"text": f"Here it is.\n\n```python\n{source}```\n", "cost": 0.03, "latency": 20.0}
    usage = {"prompt_tokens": 15_000, "completion_tokens": 2_500}
    messages = [{"role": "user", "content": f"Round {number}.\n{PROMPT}"}]
    played = rollout(rng, key, score, "search", EPISODES)
    ended = encode(Candidate(key, source)) | {"rollout": played["digest"]}
    return [
        {"type": "prompt", "key": asked, "messages": messages},
        {"type": "reply", "key": asked, "model": "openai/gpt-5", "usage": usage, **reply},
        played,
        {"type": "candidate", **ended, "score": values(score), "mark": ""},
    ]


def rollout(
    rng: random.Random, key: Key, score: float, stream: Stream, count: int
) -> dict[str, Any]:
    """What one policy scored in ``count`` episodes."""
    returns = [score + rng.gauss(0, 150) for _ in range(count)]
    episodes = tuple(Episode(seed, r, STEPS, r > 2500) for seed, r in enumerate(returns))
    run = Rollout(stream, tuple(range(count)), episodes, STEPS * count, 0.01)
    digest = f"{stream} {key.name}"
    return {"type": "rollout", "key": encode(key), "digest": digest, **encode(run)}


def values(score: float) -> dict[str, float]:
    """A score as events hold it."""
    return {"mean_return": score, "success_rate": min(max(score / 5000, 0.0), 1.0)}


def policy(rng: random.Random) -> str:
    """About 150 lines of Python, some of which differ from policy to policy."""
    lines = ["class Policy:", '    """Reach for the goal, then hold."""', ""]
    for i in range(30):
        gain = rng.choice([0.5, 1.0, 2.0])
        lines += [f"    GAIN_{i} = {gain}  # per metre, tried against {rng.random():.2f}", ""]
        lines += [
            f"    def part_{i}(self, obs):",
            f"        return self.GAIN_{i} * obs.field_{i % 13}[0]",
        ]
        lines.append("")
    return "\n".join([*lines, "    def act(self, obs):", "        return self.part_0(obs)", ""])


def episode(seed: int) -> Trajectory:
    """Random walks."""
    rng = np.random.default_rng(seed)
    return Trajectory(
        observations=rng.normal(size=(STEPS + 1, OBSERVATION)).cumsum(axis=0),
        actions=np.tanh(rng.normal(size=(STEPS, ACTION))),
        rewards=rng.random(STEPS) * 10,
        seed=seed,
        terminated=False,
        truncated=True,
        success=seed % 2 == 0,
    )


if __name__ == "__main__":
    main()
