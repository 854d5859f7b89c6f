"""Plays held-out episodes with policies, all on the same seeds."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from promptpo.config import RunConfig
from promptpo.errors import UsageError
from promptpo.evaluation.evaluation import Evaluation
from promptpo.evaluation.players import Player
from promptpo.export.spec_copy import spec_of_run
from promptpo.rollout import (
    Executor,
    connected,
    episode_seeds,
    evaluate,
    evaluate_baseline,
    open_executor,
    rehearse,
    worker_settings,
)
from promptpo.run.settings import build, played_again
from promptpo.spec import EnvSpec, load_spec
from promptpo.types import Rollout

#: Those that are the same for all policies that are scored together.
_SHARED = ("spec", "published_prompt", "test_episodes", "seed", "workers")


def settings_for(
    players: Sequence[Player], given: Mapping[str, Any], tell: Callable[[str], None]
) -> list[RunConfig]:
    """The settings that each is played with: what is given, else what its run was set to.

    Task, seed and number of episodes are the same for all: those of the first run among them, where
    they are not given. ``tell`` hears where that run's own copy of its spec takes the place of one
    that has changed or moved. Raises UsageError where no task is known, or the runs are of several.
    """
    runs = [player for player in players if player.run is not None]
    tasks: dict[object, Player] = {}
    for player in runs:
        tasks.setdefault(player.settings.get("spec"), player)
    if not given.get("spec") and len(tasks) > 1:
        (a, first), (b, second) = list(tasks.items())[:2]
        raise UsageError(
            f"{first.label} is of {a} and {second.label} of {b}; policies are compared on one task:"
            " name it with --spec"
        )
    of_first = played_again(runs[0].settings) if runs else {}
    shared = {k: v for k, v in of_first.items() if k in _SHARED}
    if runs and runs[0].run is not None and not given.get("spec"):
        shared["spec"], note = spec_of_run(runs[0].run, shared["spec"])
        if note:
            tell(note)
    configs = []
    for player in players:
        config = build(played_again(player.settings), shared, given)
        if not config.spec:
            raise UsageError(f"{player.label}: give the task that it is for with --spec")
        if config.test_episodes < 1:
            raise UsageError("--episodes must be at least 1")
        configs.append(config)
    return configs


async def score(players: Sequence[Player], configs: Sequence[RunConfig]) -> list[Evaluation]:
    """Play the held-out episodes, which a run with this seed reports, with each in turn.

    A policy that fails is an Evaluation with an ``error``. Raises SpecError where the environment
    fails without any policy; UsageError where a baseline is asked for that the spec has not, and
    where a policy's prepared values are missing.
    """
    first = configs[0]
    spec = load_spec(first.spec, published=first.published_prompt, limit=first.env_timeout)
    for player in players:
        if player.baseline == "expert" and spec.expert is None:
            raise UsageError(f"{spec.name} has no expert; random and zero are what every spec has")
        if player.file is not None:
            _ = player.file.prepared  # or none is played
    found: list[Evaluation] = []
    pairs = zip(players, configs, strict=True)
    with connected(first):
        for _, group in itertools.groupby(pairs, lambda pair: worker_settings(pair[1], spec)):
            alike = list(group)
            with contextlib.closing(open_executor(alike[0][1], spec)) as executor:
                for player, config in alike:
                    rollout = await _play(executor, player, config, spec)
                    found.append(_evaluation(player, config, spec, rollout))
    return found


async def _play(executor: Executor, player: Player, config: RunConfig, spec: EnvSpec) -> Rollout:
    config = config.for_spec(spec)
    life = config.life
    seeds = episode_seeds(config.seed, "test", config.held_out, life=life)
    if player.baseline is not None:
        return await evaluate_baseline(executor, player.baseline, "test", seeds, life=life)
    assert player.file is not None  # noqa: S101 - what is no baseline has a source
    source, prepared = player.file.played, player.file.prepared
    rollout, _ = await evaluate(executor, source, "test", seeds, life=life, prepared=prepared)
    if rollout.error_kind == "environment":
        await rehearse(executor, seeds)
    return rollout


def _evaluation(player: Player, config: RunConfig, spec: EnvSpec, rollout: Rollout) -> Evaluation:
    error = ""
    if rollout.error is not None and player.file is not None:
        error = player.file.failure(rollout.error, rollout.error_kind)
    return Evaluation(
        policy=player.label,
        spec=spec.name,
        title=spec.title,
        seed=config.seed,
        rollout=rollout,
        error=error,
        references=spec.reference_scores,
        source=player.file.source if player.file is not None else "",
        run=player.run,
    )
