"""What a replay asks after round 1: prompts that tell what was measured in the rounds before."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from promptpo.prompts.stages import Messages
from promptpo.run_settings import configure
from promptpo.store.past import rollout_from_event

from promptpo.config import RunConfig
from promptpo.llm import extract_code, find_recording, load_recording, prompt_hash
from promptpo.prompts import policy_messages, reflection_messages
from promptpo.spec import load_spec
from promptpo.types import CallKey, Candidate, Round

#: The rollout and feedback events of runs that were recorded, but of the last round.
FOLDER = Path(__file__).parent / "data"


class Recorded:
    """A recorded run: the prompts' fingerprints, and ``rounds``, what the prompts tell of.

    ``rounds`` is empty where no measurements are kept: such a replay measures the same everywhere.
    """

    def __init__(self, spec: str) -> None:
        self.spec = load_spec(spec)
        self.config: RunConfig = configure({"spec": spec, "model": "recorded"})
        self.replies = load_recording(find_recording(spec)).replies
        self.rounds = self._rounds(FOLDER / f"{spec}_measured.jsonl")

    def fingerprint(self, key: CallKey) -> str:
        return self.replies[key].prompt_sha256

    def reflection(self, number: int) -> str:
        """The reply that looks back on a round."""
        return self.replies[CallKey("reflection", number)].reply.text.strip() if number else ""

    def prompts(self, rounds: Sequence[Round]) -> dict[CallKey, Messages]:
        """What is asked after each of the rounds, by the templates."""
        asked = {}
        for number in range(1, len(rounds) + 1):
            done, said = rounds[:number], self.reflection(number)
            asked[CallKey("reflection", number)] = reflection_messages(self.spec, self.config, done)
            for index in range(1, self.config.candidates + 1):
                messages = policy_messages(self.spec, self.config, done, said)
                asked[CallKey("policy", number + 1, index)] = messages
        return asked

    def unexplained(
        self, sent: Mapping[CallKey, Messages], rounds: Sequence[Round]
    ) -> dict[CallKey, str]:
        """Which prompts of a replay differ from the recorded ones without need, and why.

        A prompt may differ where the returns that it tells of do; then it must be what the
        templates make of ``rounds``, which the replay measured.
        """
        remade = self.prompts(rounds[: len(self.rounds)])
        found = {}
        for key, messages in sent.items():
            if prompt_hash(messages) == self.fingerprint(key):
                continue
            told = key.round if key.role == "reflection" else max(0, key.round - 1)
            if returns(rounds[:told]) == returns(self.rounds[:told]):
                found[key] = "differs, though the returns in it are the recorded ones"
            elif key not in remade or prompt_hash(messages) != prompt_hash(remade[key]):
                found[key] = "differs in more than what was measured"
        return found

    def _rounds(self, measured: Path) -> tuple[Round, ...]:
        if not measured.exists():
            return ()
        events = [json.loads(line) for line in measured.read_text(encoding="utf-8").splitlines()]
        ends = {e["round"]: e for e in events if e["type"] == "feedback"}
        return tuple(self._round(n, ends[n], events) for n in sorted(ends))

    def _round(self, number: int, end: dict, events: list[dict]) -> Round:
        rollouts = {
            e["index"]: rollout_from_event(e)
            for e in events
            if e["type"] == "rollout" and e["round"] == number
        }
        candidates = tuple(
            Candidate(number, index, self._source(number, index), rollouts[index])
            for index in sorted(rollouts)
        )
        winner = next(c for c in candidates if c.index == end["index"])
        return Round(number, candidates, winner, tuple(end["texts"]), self.reflection(number - 1))

    def _source(self, number: int, index: int) -> str:
        return extract_code(self.replies[CallKey("policy", number, index)].reply, "Policy")


def returns(rounds: Sequence[Round]) -> list[object]:
    """Every return of these rounds, to the last bit."""
    return [c.rollout and c.rollout.returns for r in rounds for c in r.candidates]
