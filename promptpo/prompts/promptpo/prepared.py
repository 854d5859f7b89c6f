"""What prompts say of ``prepare``: how a policy computes before it acts, and what came of that."""

from __future__ import annotations

from promptpo.common.plaintext import clean, fenced, shortened
from promptpo.config import RunConfig
from promptpo.types import Candidate

#: How a policy is written that learns before it acts.
PREPARING = """
- Beside the class your code may define `def prepare(data)`, which learns before the policy acts. It
  runs once, before the first episode, in at most $seconds s of processor time (no clock tells it:
  bound the work by counting) and 1 GB, on one core, with all libraries above, `scipy.integrate` and
  `scipy.stats` (functions and distributions, no drawing). It returns a dict of numbers, numpy
  arrays and short strings (4 MB, no objects). Every policy is then made as `Policy(prepared)`:
  write `def __init__(self, prepared)` and read `prepared["gain"]`; what is in it cannot be changed.
- `data` is what the search recorded before this round, $losers
  too: the newest $transitions transitions, which cannot be changed. `data.observations` (N, n),
  `data.actions` (N, m), `data.rewards` (N,), `data.next_observations` (N, n), `data.terminals`
  (N,; the task ended there, which the step limit is not), `data.episode` (N,; the episode of each
  row); `data.columns["name"]`: the column of a field of Observation, a slice for an array;
  `data.episodes`: each with `observations` (T+1, n), `actions` (T, m), `rewards` (T,),
  `terminated`, `truncated`, `success`, `candidate`, `round`, `total_reward`. Discrete actions are
  one column of numbers.
- What `prepare` prints, up to 4,000 characters, is shown to the authors of the next policies: print
  what was learned, and how well it fits. With `predicted_return` among the values they are told how
  far that is from what the policy then got.
- `prepare` pays where you can write a model with unknown constants: identify them from the recorded
  steps, look at the residual, and optimize a gait, gains or a plan on the model; where transition
  probabilities can be counted, for value iteration; to imitate the best episodes; to fit a value
  function. It does not pay where a formula is known, nor where the data do not show what matters:
  $first."""

#: What there is in the data besides what won, and what there is before the first round.
LOSERS, LOSERS_AND_PROBES = "of losers", "of losers, zero and random actions"
NOTHING_FIRST = "before round 1 there is nothing (`data.episodes` is empty then)"
PROBES_FIRST = "before round 1 there are the few episodes of zero and random actions only"

#: Episodes of each probe where nothing is said and candidates may prepare: their first data.
_PROBES = 2

#: Characters of what ``prepare`` printed, of a policy that is told of in full.
FULL = 4000


def probes_of(config: RunConfig) -> int:
    """How many episodes each probe plays; a method without the option has none."""
    asked: int | None = getattr(config.options, "probe", 0)
    if asked is None:
        return _PROBES if config.prepare_time else 0
    return asked


def preparation_words(candidate: Candidate, most: int = FULL) -> str:
    """What a candidate's ``prepare`` found, its output in so many characters; empty without one."""
    done = candidate.preparation
    if done is None or done.error is not None:
        return ""
    data = f"{done.episodes:,} episodes, {done.transitions:,} transitions"
    told = f"Its prepare() took {_time(done.seconds)} on {data}{_predicted(candidate)}"
    output = shortened(clean(done.output.strip()), most)
    if not output:
        return f"{told}, and printed nothing."
    return f"{told}, and printed:\n\n{fenced(output)}"


def preparation_line(candidate: Candidate, most: int) -> str:
    """The same on one line, cut to about so many characters; empty without one."""
    done = candidate.preparation
    if done is None or done.error is not None:
        return ""
    output = " ".join(clean(done.output).split())
    cut = output if len(output) <= most else output[: most - 3] + "..."
    told = f"Its prepare() took {_time(done.seconds)}{_predicted(candidate)}"
    return f"{told}: {cut or 'no output'}"


def printed(candidate: Candidate) -> str:
    """What a failed attempt had printed, while it prepared and while it played."""
    done, run = candidate.preparation, candidate.rollout
    parts = [done.output if done is not None else "", run.output if run is not None else ""]
    return "\n".join(part.strip("\n") for part in parts if part.strip())


def _time(seconds: float) -> str:
    """Processor time, so coarse that a replay of the run tells the same as far as can be."""
    step = next(n * 10**k for k in range(9) for n in (1, 2, 5) if seconds < n * 10**k)
    return f"less than {step} s"


def _predicted(candidate: Candidate) -> str:
    """How far the predicted return and the real one are apart; empty where none was predicted."""
    done, score = candidate.preparation, candidate.score
    if done is None or done.predicted is None:
        return ""
    told = f", predicted a return of {done.predicted:.5g}"
    if score.failed:
        return told
    off = score.mean_return - done.predicted
    return f"{told} (its mean is {score.mean_return:.5g}, {'+' * (off > 0)}{off:.4g})"
