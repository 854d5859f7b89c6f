"""``promptpo eval POLICY_OR_RUN``: score a policy file, or the best policy of a run."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptpo.cli import runs
from promptpo.cli.parser import Parser, add_out
from promptpo.cli.settings import PLAYING, PLAYING_NOTE, add_playing
from promptpo.cli.specs import add_specs, given_spec
from promptpo.common import text
from promptpo.config import RunConfig
from promptpo.errors import PromptPOError, RunError, UsageError
from promptpo.export.policy_file import PolicyFile
from promptpo.run.options import build
from promptpo.store.folder import RunFolder
from promptpo.ui.summary import Row, proof_rows, reference_rows
from promptpo.ui.terminal import say

if TYPE_CHECKING:
    from promptpo.spec import EnvSpec
    from promptpo.types import Proof, Rollout


def parser() -> Parser:
    """The policy, and how it is evaluated."""
    p = Parser("eval", epilog=PLAYING_NOTE)
    p.add_argument("policy", metavar="POLICY_OR_RUN", help=f"a policy's file, or {runs.NAMES}")
    add_specs(p, "the task of a policy's file")
    add_out(p)
    add_playing(p, "play", "--episodes")
    return p.finish()


def main(arguments: argparse.Namespace) -> int:
    """Carry out the command."""
    given = vars(arguments)
    ref = given_spec(arguments)
    if ref:
        given["spec"] = ref
    policy, stored = find_policy(given.pop("policy"), given.pop("out"), own_spec=not ref)
    settings = build(stored, given)
    if not settings.spec:
        raise UsageError(f"{policy.path}: give the task that it is for with --spec")
    if settings.test_episodes < 1:
        raise UsageError("--episodes must be at least 1")
    from promptpo.spec import load_spec

    spec = load_spec(settings.spec, published=settings.published_prompt, limit=settings.env_timeout)
    rollout, proof = asyncio.run(play(spec, settings, policy.source))
    if rollout.error is not None:
        alone = f" (with each episode alone: it {rollout.mark})" if rollout.mark else ""
        raise PromptPOError(policy.failure(rollout.error, rollout.error_kind) + alone)
    for label, words in report(spec, settings, policy.path, rollout, proof):
        say(f"{label:11}  {words}")
    return 0


def find_policy(name: str, out: Path, *, own_spec: bool) -> tuple[PolicyFile, dict[str, Any]]:
    """A policy file, or the best policy of a run (under ``out``) with what it was run with.

    ``own_spec``: say so where a copy stands in for the run's spec. Raises RunError where there is
    none.
    """
    path = Path(name)
    if path.is_file():
        return PolicyFile.read(path), {}
    folder = RunFolder(runs.find(name, out))
    if not folder.best_policy.is_file():
        raise RunError(f"{folder.path}: no best policy in it yet; resume it, or name a file")
    from promptpo.export.spec_copy import spec_of_run
    from promptpo.run.settings import settings_of

    stored = {k: v for k, v in settings_of(folder).items() if k in PLAYING}
    if own_spec:
        stored["spec"], note = spec_of_run(folder.path, stored["spec"])
        if note:
            say(f"promptpo: {note}", sys.stderr)
    return PolicyFile.read(folder.best_policy), stored


async def play(spec: EnvSpec, settings: RunConfig, source: str) -> tuple[Rollout, Proof | None]:
    """The held-out episodes of the seed, which a run with this seed reports, and their proof."""
    from promptpo.rollout import episode_seeds, open_executor, rehearse
    from promptpo.rollout.proof import evaluate_proven

    seeds = episode_seeds(settings.seed, "test", settings.test_episodes)
    lifetime: Any = settings.policy_lifetime or spec.policy_lifetime
    with contextlib.closing(open_executor(settings, spec)) as executor:
        rollout, proof = await evaluate_proven(executor, source, "test", seeds, lifetime=lifetime)
        if rollout.error_kind == "environment":
            await rehearse(executor, seeds)
    return rollout, proof


def report(
    spec: EnvSpec, settings: RunConfig, policy: Path, rollout: Rollout, proof: Proof | None
) -> Sequence[Row]:
    """What the command prints, as labelled lines."""
    references = {
        name: {"mean_return": r.mean_return, "success_rate": r.success_rate}
        for name, r in spec.reference_scores.items()
    }
    count = len(rollout.returns)
    rows = [
        ("policy", text.near_path(policy)),
        ("task", f"{spec.name}: {spec.title}"),
        ("episodes", f"{count} held-out ones of seed {settings.seed}, {rollout.steps:,} steps"),
        ("success", text.success_words(rollout.successes).removeprefix("success ")),
        ("return", text.return_words(rollout.returns).removeprefix("mean return ")),
        *(proof_rows(asdict(proof)) if proof else ()),
        *reference_rows(references),
    ]
    if rollout.clipped:
        rows.append(("note", f"{rollout.clipped:.1%} of the actions were clipped to their bounds"))
    return [row for row in rows if row[1]]
