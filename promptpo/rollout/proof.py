"""The proof that a policy's episodes do not depend on each other.

Some episodes are fed once more, observation by observation, each to a policy that is alone in a
fresh process; its actions must be the recorded ones, bit for bit. The environment takes no part,
so nothing that it keeps from episode to episode can be laid to the policy, and it costs no steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from promptpo.common.concurrency import all_of
from promptpo.rollout.evaluation import evaluate
from promptpo.rollout.executor import Executor
from promptpo.rollout.jobs import ProofJob, ProofRun
from promptpo.types import Proof, Rollout, Stream, Trajectory

#: Episodes that are fed again, at most: those of a round's winner, and of the run's.
MOST: dict[Stream, int] = {"search": 1, "test": 10}


def to_prove(stream: Stream, seeds: Sequence[int], life: int) -> list[int]:
    """Seeds of the episodes to feed again: at most MOST, and no more than half of all.

    They are spread evenly, from the last, which has the most before it, to the second: in whatever
    groups the episodes were played, all places of a group have their turn.
    """
    if life > 1 or len(seeds) < 2:
        return []
    count = min(MOST[stream], (len(seeds) + 1) // 2)
    return [seeds[-1 - n * (len(seeds) - 2) // max(count - 1, 1)] for n in range(count)]


async def prove(
    executor: Executor,
    source: str,
    run: Rollout,
    episodes: Sequence[Trajectory],
    *,
    life: int,
    prepared: bytes = b"",
) -> Proof:
    """Hold a rollout whose episodes shared processes against the lone policy.

    ``episodes`` are those of its seeds that ``to_prove`` names, or more.
    """
    if life > 1:
        return Proof("not applicable", run.stream)
    recorded = {e.seed: e for e in episodes}
    seeds = to_prove(run.stream, run.seeds, life)
    company = len(run.seeds)
    jobs = [ProofJob(source, recorded[seed], company, prepared) for seed in seeds]
    found = await all_of(executor.run(job) for job in jobs)
    return _proof(run, [job.episode for job in jobs], found)


async def evaluate_proven(
    executor: Executor,
    source: str,
    stream: Stream,
    seeds: Sequence[int],
    *,
    life: int,
    prepared: bytes = b"",
) -> tuple[Rollout, Proof | None]:
    """Play the episodes, and play them again one by one where a proof says that they depend.

    No proof comes with a rollout that failed in company.
    """
    play = partial(evaluate, executor, source, stream, seeds, life=life, prepared=prepared)
    run, episodes = await play(keep=to_prove(stream, seeds, life))
    if run.error is not None:
        return run, None
    proof = await prove(executor, source, run, episodes, life=life, prepared=prepared)
    if proof.mark:
        run, _ = await play(mark=proof.mark)
    return run, proof


def _proof(run: Rollout, episodes: Sequence[Trajectory], found: Sequence[ProofRun]) -> Proof:
    seeds = tuple(e.seed for e in episodes)
    differing = [(e, f) for e, f in zip(episodes, found, strict=True) if f.step is not None]
    if not differing:
        return Proof("independent", run.stream, seeds)
    steady = [(e, f) for e, f in differing if f.repeats]
    episode, first = (steady or differing)[0]
    assert first.step is not None  # noqa: S101 - it is among those that differ
    score = run.score
    return Proof(
        verdict="depends on other episodes" if steady else "does not repeat itself",
        stream=run.stream,
        seeds=seeds,
        differing=tuple(e.seed for e, _ in differing),
        seed=episode.seed,
        step=first.step,
        action=tuple(episode.actions[first.step - 1].tolist()),
        action_alone=first.action_alone,
        error=first.error,
        score={"mean_return": score.mean_return, "success_rate": score.success_rate},
    )
