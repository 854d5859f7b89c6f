"""What follows every search, whatever its method: selection among finalists, held-out test."""

from __future__ import annotations

from collections.abc import Sequence

from promptpo.common.concurrency import all_of
from promptpo.rollout.seeds import episode_seeds
from promptpo.run.playing import Play
from promptpo.run.services import RunServices
from promptpo.store.codec import score_data
from promptpo.types import Candidate, Rollout, best_of


async def select(services: RunServices, finalists: Sequence[Candidate]) -> Candidate | None:
    """The best of the finalists on episodes that none has seen; None where there is none."""
    config = services.config
    different = unique([c for c in finalists if not c.score.failed])
    if len(different) < 2 or not config.selection_episodes:
        best = best_of(different) if different else None
        if services.memo.has("selection"):  # of rounds that do not count any more
            services.write_down("selection", finalists=[], winner=best.name if best else None)
        return best
    seeds = episode_seeds(config.seed, "selection", config.selection_episodes)
    services.report("state", state="selecting", finalists=[c.name for c in different])
    plays = [(c, Play(c.source or "", "selection", seeds, c.mark)) for c in different]
    played = await all_of(services.player.play(play, c.key) for c, play in plays)
    scored = list(zip(different, played, strict=True))
    winner, _ = max(scored, key=lambda x: (x[1].score, x[0].score, -different.index(x[0])))
    services.write_down(
        "selection",
        finalists=[{"name": c.name, "score": score_data(r.score)} for c, r in scored],
        winner=winner.name,
    )
    return winner


async def test(services: RunServices, candidate: Candidate) -> Rollout | None:
    """The held-out episodes of the winner, proven; None where the run asks for none."""
    config, source = services.config, candidate.source
    if not config.test_episodes or source is None:
        return None
    services.report("state", state="testing", finalists=[candidate.name])
    prover, player = services.prover, services.player
    play = Play(source, "test", prover.test_seeds, candidate.mark)
    keep = () if player.digest(play) in services.memo.record.proofs else prover.keep(play)
    run = await player.play(play, candidate.key, keep)
    if run.error is None and not run.mark:
        proof = await prover.proof(candidate.key, source, run)
        if proof.mark:
            play = Play(source, "test", prover.test_seeds, proof.mark)
            run = await player.play(play, candidate.key)
    services.write_down("test", name=candidate.name, digest=player.digest(play))
    return run


def unique(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Candidates with equal sources only once, the earliest kept."""
    seen: dict[str | None, Candidate] = {}
    for candidate in candidates:
        seen.setdefault(candidate.source, candidate)
    return list(seen.values())
