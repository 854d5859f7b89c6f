"""The README of a run's folder: what lies in it, and a loop that runs the best policy."""

from __future__ import annotations

from string import Template

from promptpo.common import text
from promptpo.export.inline import Inlined, NotInlinable, inline
from promptpo.export.learned import BESIDE, Learned, Maker
from promptpo.spec import EnvSpec
from promptpo.spec.validation import PUBLISHED
from promptpo.types import Candidate, Rollout

#: Episodes that the loop plays, with the returns that the run measured for them.
_SHOWN = 3

_README = Template("""\
# $spec

$title

The best policy of this run is `best/policy.py` (candidate $candidate).

$scores

| here | what it is |
|---|---|
| `best/policy.py` | the best policy, as a module that does not need promptpo |
$beside| `spec/` | the spec as it was, with all of its own files |
| `run.json` | what was asked, versions, isolation in force, how the run ended, scores, usage |
| `events.jsonl` | everything that happened, one JSON object a line; resuming reads it |
| `prompts/` | every prompt and every reply |
| `candidates/r02_c03/` | candidate 3 of round 2: `policy.py`; `result.json` with its score or its \
error; `episodes.npz` with its search episodes; `feedback.txt` where it won its round |

`python -m promptpo --resume RUN` continues the run if it was interrupted, and
`python -m promptpo eval RUN --episodes 100` scores its best policy again, where RUN is this folder.

## Run the policy

Save this in `best/`, beside `policy.py`; it needs $needs.
It prints what episodes return, and what this run measured for the same seeds: the same numbers,
unless the policy draws random ones.

```python
$loop```
""")

_BESIDE_ROW = f"""\
| `best/{BESIDE}` | arrays that its `prepare(data)` returned; `policy.py` loads them |
"""

#: Where a run keeps its spec, seen from a script in ``best/``.
_KEPT_SPEC = 'Path(__file__).parents[1] / "spec"'

_GYMNASIUM_LOOP = Template("""\
$imports

from policy import $names, observe


$definitions


env = $make()
# Gymnasium's own wrappers are left out, as in the run: the loop counts the steps itself.
while type(env).__name__ in ("TimeLimit", "OrderEnforcing", "PassiveEnvChecker"):
    env = env.env
space = env.action_space
${policy_for_all}for seed, measured in $episodes:
    $policy_for_one
    raw = $reset
    total = 0.0
    for _ in range($horizon):
        action = np.asarray(policy.act(Observation(observe(raw, env))))
        if hasattr(space, "low"):  # continuous actions are clipped to their bounds
            action = np.clip(action.reshape(space.shape), space.low, space.high)
            action = action.astype(space.dtype)
        elif not space.shape:
            action = int(action.item())
        raw, reward, terminated, truncated, info = env.step(action)
        total += float(reward)
        if terminated or truncated:
            break
    print(f"seed {seed}: return {total:.6g}, measured {measured:.6g}")
""")

_TASK_LOOP = Template("""\
from pathlib import Path

import numpy as np

from policy import $names
from promptpo.spec import Task, load_spec

task = Task.open($spec)
${policy_for_all}for seed, measured in $episodes:
    $policy_for_one
    observation = task.reset(seed$life)
    total, done = 0.0, False
    while not done:
        action = np.ravel(policy.act(Observation(observation))).astype(float)
        observation, reward, terminated, truncated, success = task.step(action)
        total += reward
        done = terminated or truncated
    print(f"seed {seed}: return {total:.6g}, measured {measured:.6g}")
""")


def run_readme(
    spec: EnvSpec, candidate: Candidate, test: Rollout | None, learned: Learned | None = None
) -> str:
    """Text of the run folder's README.md."""
    maker = Maker.of(candidate.source or "", learned)
    loop, needs = policy_loop(spec, test or candidate.rollout, _KEPT_SPEC, maker)
    lines = [*score_lines(candidate, test), *([learned.words] if learned else ())]
    return _README.substitute(
        spec=spec.name,
        title=spec.title,
        candidate=candidate.name,
        scores="\n".join(f"- {line}" for line in lines),
        beside=_BESIDE_ROW if learned and learned.beside else "",
        needs=needs,
        loop=loop,
    )


def score_lines(candidate: Candidate, test: Rollout | None) -> list[str]:
    """What the policy scored: on held-out episodes, or in the search if there are none."""
    played = test or candidate.rollout
    if played is None:
        return ["No episode was played."]
    kind = "Held-out episodes" if test else "Search episodes (it was chosen by these: optimistic)"
    words = (text.success_words(played), text.return_words(played))
    lines = [f"{kind}: {line}." for line in words if line]
    if played.error is not None:
        lines = [f"{kind}: failed, {text.gist(played.error)}"]
    return lines


def policy_loop(spec: EnvSpec, played: Rollout | None, place: str, maker: Maker) -> tuple[str, str]:
    """A script that runs ``policy.py`` on some of the played episodes, and what it needs.

    The script is plain Gymnasium where the spec's functions can be copied out of it. Where they
    cannot, it opens the task through promptpo, from the copy of the spec at ``place``, which is an
    expression that has the script's own place in it.
    """
    life = played.life if played else spec.life
    fixed = {
        "episodes": shown_episodes(played),
        "names": maker.names,
        **_lifetime(life, maker.call),
    }
    try:
        parts = start_inlined(spec)
        if spec.observe is not None:
            inline(spec.observe)  # or policy.py is without it
    except NotInlinable:
        needs = "promptpo, because the environment is part of the spec (`spec/`)"
        return _TASK_LOOP.substitute(spec=loading(spec, place), **fixed), needs
    loop = _GYMNASIUM_LOOP.substitute(
        imports="\n".join(sorted({"import numpy as np", *parts.imports})),
        definitions=parts.text,
        make=spec.make.__name__,
        reset=f"{spec.reset.__name__}(env, seed)" if spec.reset else "env.reset(seed=seed)[0]",
        horizon=spec.horizon,
        **fixed,
    )
    return loop, f"numpy and {spec.install or 'gymnasium'}, not promptpo"


def start_inlined(spec: EnvSpec) -> Inlined:
    """What makes and resets the environment, copied out of the spec. Raises NotInlinable."""
    if spec.new_life is not None:
        raise NotInlinable("what it draws for a life depends on which life a seed belongs to")
    return inline(spec.make, *([spec.reset] if spec.reset else []))


def _lifetime(life: int, made: str) -> dict[str, str]:
    if life == 1:
        return {"policy_for_all": "", "policy_for_one": f"policy = {made}", "life": ""}
    again = (
        f"if policy is None:\n        policy = {made}\n"
        '    elif hasattr(policy, "reset"):\n        policy.reset()'
    )
    return {
        "policy_for_all": "policy = None  # one for all of these\n",
        "policy_for_one": again,
        "life": f", {life}",
    }


def shown_episodes(played: Rollout | None) -> str:
    """The episodes that a script plays, as source: a list of pairs of seed and return."""
    episodes = list(zip(played.seeds, played.returns, strict=False)) if played else []
    episodes = episodes[: _SHOWN if played is None or played.life == 1 else played.life][:_SHOWN]
    rows = "".join(f"\n    ({seed}, {value!r})," for seed, value in episodes)
    return f"[{rows}\n]" if rows else "[]"


def loading(spec: EnvSpec, place: str) -> str:
    """How a script loads a copy of the spec from a folder, as source."""
    published = ", published=True" if spec.ref.endswith(PUBLISHED) else ""
    return f"load_spec({place}{published})"
