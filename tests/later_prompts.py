"""What a replay asks after round 1: prompts that tell what was measured in the rounds before."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from promptpo.config import RunConfig
from promptpo.llm import extract_code, find_recording, load_recording, prompt_hash
from promptpo.methods.base import Messages
from promptpo.prompts.promptpo import (
    REFLECTION,
    episode_notes,
    policy_messages,
    reflection_messages,
    reflection_text,
)
from promptpo.run.settings import configure
from promptpo.spec import load_spec
from promptpo.store.codec import decode
from promptpo.store.events import Event, read_log
from promptpo.types import Candidate, Key, Note, Rollout, Round

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

    def fingerprint(self, key: Key) -> str:
        return self.replies[key].prompt_sha256

    def reflection(self, number: int) -> tuple[Note, ...]:
        """The note that opens a round, but the first: what the reply said of the one before."""
        if number == 1:
            return ()
        reply = self.replies[Key(number, role="reflection")].reply
        return (Note(REFLECTION, reflection_text(reply.text)),)

    def prompts(self, rounds: Sequence[Round]) -> dict[Key, Messages]:
        """What is asked after each of the rounds, by the templates."""
        asked = {}
        for last in range(1, len(rounds) + 1):
            done, number = rounds[:last], last + 1
            key = Key(number, role="reflection")
            asked[key] = reflection_messages(self.spec, self.config, done)
            for index in range(1, self.config.candidates + 1):
                messages = policy_messages(self.spec, self.config, done, self.reflection(number))
                asked[Key(number, index, role="policy")] = messages
        return asked

    def unexplained(self, sent: Mapping[Key, Messages], rounds: Sequence[Round]) -> dict[Key, str]:
        """Which prompts of a replay differ from the recorded ones without need, and why.

        A prompt may differ where the returns that it tells of do; then it must be what the
        templates make of ``rounds``, which the replay measured.
        """
        remade = self.prompts(rounds[: len(self.rounds)])
        found = {}
        for key, messages in sent.items():
            if prompt_hash(messages) == self.fingerprint(key):
                continue
            told = max(0, key.round - 1)
            if returns(rounds[:told]) == returns(self.rounds[:told]):
                found[key] = "differs, though the returns in it are the recorded ones"
            elif key not in remade or prompt_hash(messages) != prompt_hash(remade[key]):
                found[key] = "differs in more than what was measured"
        return found

    def _rounds(self, measured: Path) -> tuple[Round, ...]:
        if not measured.exists():
            return ()
        events = read_log(measured).events
        ends = {_key(e).round: e for e in events if e.type == "feedback"}
        return tuple(self._round(n, ends[n], events) for n in sorted(ends))

    def _round(self, number: int, end: Event, events: Sequence[Event]) -> Round:
        rollouts = {
            _key(e): decode(Rollout, e.data)
            for e in events
            if e.type == "rollout" and _key(e).round == number
        }
        candidates = tuple(
            Candidate(key, self._source(key), rollouts[key]) for key in sorted(rollouts)
        )
        winner = next(c for c in candidates if c.key == _key(end))
        notes = self.reflection(number) + episode_notes(end.data["texts"])
        return Round(number, candidates, winner, notes)

    def _source(self, key: Key) -> str:
        return extract_code(self.replies[replace(key, role="policy")].reply, "Policy")


def _key(event: Event) -> Key:
    return decode(Key, event.data["key"])


def returns(rounds: Sequence[Round]) -> list[object]:
    """Every return of these rounds, to the last bit."""
    return [c.rollout and c.rollout.returns for r in rounds for c in r.candidates]
