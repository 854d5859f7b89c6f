"""How long the N replies of a round take, in units of one reply's latency.

    python benchmarks/round_latency.py                 N calls through the model client
    python benchmarks/round_latency.py --cli           a run of one round, as a user starts it

A local OpenAI-compatible server waits ``--latency`` seconds before every reply. Calls that went
one after the other would give a ratio of N; calls that all go at once give little more than 1.
With ``--cli`` the figure is from the first policy request to the round's last recorded event, so
that rollouts count too; start-up and the calls before the round are shown apart.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from llm_server import Answer, ScriptedServer  # noqa: E402 - found by the line above

from promptpo.llm import ModelSettings, open_model  # noqa: E402
from promptpo.llm.messages import Message, Request  # noqa: E402
from promptpo.types import Key  # noqa: E402

POLICY = """```python
class Policy:
    def act(self, observation):
        return 0
```"""
FEEDBACK = """```python
class Feedback:
    def summarize_trajectory(self, traj):
        return f"{len(traj.actions)} steps, return {sum(traj.rewards)}"
```"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=10, help="N (default 10)")
    parser.add_argument("--latency", type=float, default=3.0, help="seconds per reply (default 3)")
    parser.add_argument("--cli", action="store_true", help="measure a run of the command line")
    args = parser.parse_args()
    with ScriptedServer(lambda r: Answer(_text(r.call)), latency=args.latency) as server:
        seconds = _cli(server, args.calls) if args.cli else asyncio.run(_client(server, args.calls))
    print(
        f"round of {args.calls}: {seconds:.2f} s = {seconds / args.latency:.2f} latencies of"
        f" {args.latency:g} s; {server.most_in_flight} calls at once"
    )


def _text(call: str) -> str:
    return FEEDBACK if "feedback" in call else POLICY


async def _client(server: ScriptedServer, calls: int) -> float:
    """Seconds that N calls at once take, litellm being loaded."""
    model = open_model(
        ModelSettings("openai/benchmark", api_base=server.url, max_concurrency=calls)
    )
    ask = [
        Request(Key(1, number, role="policy"), (Message("user", "Write a policy."),))
        for number in range(calls + 1)
    ]
    started = time.perf_counter()
    await model.ask(ask[0])
    print(f"first call, with the import of litellm: {time.perf_counter() - started:.2f} s")
    started = time.perf_counter()
    await asyncio.gather(*map(model.ask, ask[1:]))
    seconds = time.perf_counter() - started
    await model.close()
    return seconds


def _cli(server: ScriptedServer, calls: int) -> float:
    """Seconds from the round's first policy request to the last event of the round's candidates."""
    options = (
        f"--spec cartpole --model openai/benchmark --rounds 1 --candidates {calls} --episodes 5"
    )
    options += (
        f" --test-episodes 0 --selection-episodes 0 --set reflection=false --api-base {server.url}"
    )
    with tempfile.TemporaryDirectory() as out:
        started = time.time()
        subprocess.run(  # noqa: S603 - our own program with fixed options
            [sys.executable, "-m", "promptpo", *options.split(), "--out", out],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            check=True,
            stdout=subprocess.DEVNULL,
        )
        ended = time.time()
        (log,) = Path(out).rglob("events.jsonl")
        events = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    first = min(r.time for r in server.requests if r.call.endswith("policy"))
    last = max(e["time"] for e in events if e["type"] in ("rollout", "candidate"))
    print(f"the run: {ended - started:.2f} s, of which {first - started:.2f} s before the round")
    return last - first


if __name__ == "__main__":
    main()
