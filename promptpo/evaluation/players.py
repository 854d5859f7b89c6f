"""Policies to be scored, by the names that users give them, and the playing of their episodes."""

from __future__ import annotations

import ast
import contextlib
import itertools
import linecache
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType
from typing import Any

from promptpo.common import text
from promptpo.config import RunConfig
from promptpo.errors import RunError, UsageError
from promptpo.evaluation.results import Evaluation, Transfer
from promptpo.export.folder import spec_of_run
from promptpo.export.policy_file import PolicyFile
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
from promptpo.rollout.jobs import Baseline
from promptpo.run.settings import build, play_settings, settings_of
from promptpo.spec import EnvSpec, load_spec
from promptpo.store.folder import RunFolder

#: Behaviours that a task has without any policy, by the names that users give them.
BASELINES: Mapping[str, Baseline] = {
    "expert": "expert",
    "random": "random",
    "zero": "zero action",
}

#: Settings that are the same for all policies that are scored together.
_SHARED = ("spec", "published_prompt", "objective", "test_episodes", "seed", "workers")


@dataclass(frozen=True)
class Player:
    """A policy to be scored, or a behaviour of the task (``baseline``; then there is no ``file``).

    ``settings`` are those of the ``run`` whose best policy it is; empty where it is of no run.
    """

    label: str
    file: PolicyFile | None = None
    baseline: Baseline | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    run: Path | None = None


def player_of_source(source: str, label: str) -> Player:
    """Return a policy that is given as text."""
    return Player(label, PolicyFile(Path(label), source))


def player_of_class(policy: type) -> Player:
    """Return a policy that is given as a class, of a module or a notebook's cell: its source alone.

    Raises UsageError where the source cannot be read, or the class has another name than Policy.
    """
    name = policy.__name__
    if name != "Policy":
        raise UsageError(f"{name}: a policy's class is called Policy; give it that name")
    # inspect.getsource does not find classes of a notebook's cell; their functions know the place.
    for code in (f.__code__ for f in vars(policy).values() if isinstance(f, FunctionType)):
        lines = linecache.getlines(code.co_filename)
        for node in ast.walk(ast.parse("".join(lines))):
            if isinstance(node, ast.ClassDef) and node.name == name:
                source = lines[node.lineno - 1 : node.end_lineno]
                if node.lineno <= code.co_firstlineno < node.lineno + len(source):
                    return player_of_source(textwrap.dedent("".join(source)), name)
    raise UsageError(f"{name}: its source cannot be read; give its text, or its file's name")


def find_player(name: str, find_run: Callable[[str], Path]) -> Player:
    """Return what a word means: ``expert``, ``random``, ``zero``, a policy's file, or a run.

    ``find_run`` returns the folder of a run that a word names. Raises RunError where there is none.
    """
    if name in BASELINES:
        return Player(name, baseline=BASELINES[name])
    path = Path(name)
    if path.is_file():
        return Player(text.near_path(path), PolicyFile.read(path))
    return best_of_run(find_run(name))


def best_of_run(path: Path) -> Player:
    """Return the best policy of a run, with the run's settings. Raises RunError without one."""
    folder = RunFolder.open(path)
    settings = settings_of(folder)
    if not folder.best_policy.is_file():
        raise RunError(f"{folder.path}: no best policy in it yet; resume it, or name a file")
    file = PolicyFile.read(folder.best_policy)
    label = text.near_path(folder.best_policy)
    return Player(label, file, settings=settings, run=folder.path)


def settings_for(
    players: Sequence[Player], overrides: Mapping[str, Any], notify: Callable[[str], None]
) -> list[RunConfig]:
    """Return the settings that each is played with: the overrides, else those of its run.

    Task, seed and number of episodes are the same for all: those of the first run among them, where
    they are not given. ``notify`` is called where that run's own copy of its spec takes the place
    of one that has changed or moved. Raises UsageError where no task is known, or the runs are of
    several.
    """
    runs = [player for player in players if player.run is not None]
    shared: dict[str, Any] = {}
    if runs:
        first, task = runs[0], runs[0].settings.get("spec")
        shared = {k: v for k, v in play_settings(first.settings).items() if k in _SHARED}
        if not overrides.get("spec"):
            if other := next((run for run in runs if run.settings.get("spec") != task), None):
                raise UsageError(
                    f"{first.label} is of {task} and {other.label} of"
                    f" {other.settings.get('spec')}; policies are compared on one task: name it"
                    " with --spec"
                )
            assert first.run is not None  # noqa: S101 - they are those that have one
            shared["spec"], note = spec_of_run(first.run, shared["spec"])
            if note:
                notify(note)
    configs = []
    for player in players:
        config = build(play_settings(player.settings), shared, overrides)
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
    evaluations: list[Evaluation] = []
    pairs = zip(players, configs, strict=True)
    with connected(first):
        for _, group in itertools.groupby(pairs, lambda pair: worker_settings(pair[1], spec)):
            alike = list(group)
            with contextlib.closing(open_executor(alike[0][1], spec)) as executor:
                for player, config in alike:
                    evaluations.append(await _play(executor, player, config, spec))
    return evaluations


async def _play(executor: Executor, player: Player, config: RunConfig, spec: EnvSpec) -> Evaluation:
    life, terms = config.for_spec(spec).life, spec.terms(config.objective)
    seeds = episode_seeds(config.seed, "test", config.for_spec(spec).held_out, life=life)
    error, source = "", ""
    if player.file is None:
        assert player.baseline is not None  # noqa: S101 - what has no file is a baseline
        rollout = await evaluate_baseline(
            executor, player.baseline, "test", seeds, life=life, terms=terms
        )
    else:
        program, prepared, source = player.file.played, player.file.prepared, player.file.source
        rollout, _ = await evaluate(
            executor, program, "test", seeds, life=life, prepared=prepared, terms=terms
        )
        if rollout.error_kind == "environment":
            await rehearse(executor, seeds)
        if rollout.error is not None:
            error = player.file.failure(rollout.error, rollout.error_kind)
    return Evaluation(
        policy=player.label,
        spec=spec.name,
        title=spec.title,
        seed=config.seed,
        rollout=rollout,
        error=error,
        references=spec.reference_scores,
        source=source,
        run=player.run,
    )


async def transfer(
    player: Player, to: str, overrides: Mapping[str, Any], notify: Callable[[str], None]
) -> Transfer:
    """Play a policy on its own task, and on the world of the spec ``to`` as if that were its own.

    The world keeps the order, signs and names that the policy knows. Settings that ``overrides``
    lacks are as in the player's run. ``notify`` is called where the run's spec has changed since.
    Raises UsageError where the two specs are no twins, SpecError where one cannot be loaded.
    """
    home, other = _home(player, overrides, notify), load_spec(to)
    crossed = _crossed_ref(home, other, player.label)
    players = [player, Player("random", baseline="random", settings=player.settings)]
    (before, random_before), (after, random_after) = [
        await score(players, settings_for(players, {**overrides, "spec": ref}, notify))
        for ref in (home.ref, crossed)
    ]
    return Transfer(home, other, before, after, (random_before.score, random_after.score))


def _home(player: Player, overrides: Mapping[str, Any], notify: Callable[[str], None]) -> EnvSpec:
    """Return the task that a policy was written for. Raises UsageError where nothing names it."""
    if player.baseline is not None:
        raise UsageError(f"{player.label} is no policy; name a run, or a policy's file")
    ref = overrides.get("spec") or player.settings.get("spec")
    if not ref:
        raise UsageError(f"{player.label}: give the task that it was written for with --spec")
    home = load_spec(ref)
    if player.run is not None and not overrides.get("spec") and spec_of_run(player.run, ref)[1]:
        if home.twin_of:
            raise UsageError(
                f"{player.label}: {ref} has changed since this run was made, and with it the order,"
                " signs and names that the policy knows; start a new run of it"
            )
        notify(f"{ref} has changed since this run was made; it is taken as it is now")
    return home


def _crossed_ref(home: EnvSpec, to: EnvSpec, label: str) -> str:
    """Return the name of the world of ``to`` behind the interface of ``home``.

    One is a twin of the other, or both are of the same task. Raises UsageError otherwise; ``label``
    is the policy's name.
    """
    if home.ref == to.ref:
        raise UsageError(f"--on {to.ref}: {label} was written for it; leave out --on")
    seed = (home.ref.partition("@")[2] or "shipped").rpartition("+")[2]
    if to.twin_of and to.twin_of in (home.ref, home.twin_of):
        return f"{to.ref.partition('+')[0]}+{seed if home.twin_of else 'original'}"
    if home.twin_of and home.twin_of == to.ref:
        return f"{home.ref.partition('@')[0]}@original+{seed}"
    if to.twin_of:
        raise UsageError(
            f"--on {to.ref}: a twin of {to.twin_of}, but {label} was written for {home.ref};"
            f" name a run of {to.twin_of}"
        )
    raise UsageError(
        f"--on {to.ref}: no twin; name one of {home.twin_of or home.ref}"
        " (`promptpo list twin` shows the specs that have twins)"
    )
