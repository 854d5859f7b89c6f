"""promptpo as a library: what the commands do, with typed arguments and objects for answers."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeAlias, TypeVar, overload

from promptpo import config
from promptpo.common.concurrency import run_to_end
from promptpo.config import PlaySettings, RunConfig
from promptpo.errors import RunError, UsageError
from promptpo.methods.promptpo import Options
from promptpo.report import reporting
from promptpo.run.settings import configure, resumed_config
from promptpo.run.start import carry_out
from promptpo.spec import EnvSpec
from promptpo.spec.loader import SpecLike, loaded_spec
from promptpo.store.events import Listener, all_of
from promptpo.store.folder import RunFolder
from promptpo.store.run import Run, load_run
from promptpo.store.summary import remember
from promptpo.trackers import check_ready, tracking
from promptpo.types import Candidate
from promptpo.ui import progress_shown

if TYPE_CHECKING:
    from promptpo.checks import CheckReport
    from promptpo.comparison import Comparison
    from promptpo.evaluation import Evaluation, Player, PolicyComparison

#: A run as callers may give it: its folder, or what ``optimize`` or ``load_run`` returned.
RunLike: TypeAlias = str | PathLike[str] | Run

#: A policy as callers may give it.
PolicyLike: TypeAlias = RunLike | Candidate | type

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class _OptimizeArguments(Options, RunConfig):
    """The arguments of ``optimize``: the settings of a run, and of its default method."""

    spec: SpecLike | None = None  # type: ignore[assignment]
    out: str | PathLike[str] = RunConfig.out  # type: ignore[assignment]
    _: KW_ONLY
    resume: RunLike | None = None
    on_event: Listener | None = None
    progress: bool | None = None
    preset: Literal["paper", "quick"] | None = None


@dataclass(frozen=True)
class _PolicyArgument:
    policy: PolicyLike


@dataclass(frozen=True)
class _EvaluateArguments(PlaySettings, _PolicyArgument):
    """The arguments of ``evaluate``."""

    spec: SpecLike | None = None  # type: ignore[assignment]
    _: KW_ONLY
    episodes: int | None = None


def _taking(arguments: Callable[P, object]) -> Callable[[Callable[..., T]], Callable[P, T]]:
    """Give a function the arguments of a dataclass, for type checkers and ``help``."""

    def decorated(function: Callable[..., T]) -> Callable[P, T]:
        function.__signature__ = inspect.signature(arguments)  # type: ignore[attr-defined]
        return function

    return decorated


@_taking(_OptimizeArguments)
def optimize(spec: SpecLike | None = None, **arguments: Any) -> Run:  # noqa: ANN401
    """Search for a policy; what ``promptpo SPEC`` does.

    Args:
        spec: a spec's file, the name of a shipped spec, ``family:member``, or an ``EnvSpec``.
        resume: the run to continue, by its folder or as an object; then only settings that may
            change on resuming can be given, and ``spec`` can be left out.
        on_event: receives every ``Event``, in the thread of the run.
        progress: show how the run goes. Default: where the code runs in a notebook.
        preset: a named set of settings; what is given beside it wins.
        options: a mapping with options of a method that are no arguments of their own.

    The others are the settings of the command, by the same names: ``promptpo --help`` and
    ``promptpo help settings`` say what each means, its unit and its default. What is None is not
    given.

    Blocks until the run has ended. An interrupt (Ctrl-C, a notebook's stop button) ends it cleanly:
    the result's status is then "interrupted", and ``resume`` goes on. Raises PromptPOError
    (UsageError, SpecError, ModelError, ...; see ``promptpo.errors``).

        result = promptpo.optimize("cartpole", model="openai/gpt-5", rounds=3, max_cost=1.0)
        print(result.test.score.mean_return, result.best.source)
    """
    overrides = {name: value for name, value in arguments.items() if value is not None}
    resume, on_event = overrides.pop("resume", None), overrides.pop("on_event", None)
    progress = overrides.pop("progress", None)
    if "out" in overrides:
        overrides["out"] = fspath(overrides["out"])
    if spec is not None:
        overrides["spec"] = _ref_of(spec, overrides.get("env_timeout"))
    if resume is not None:
        folder = folder_of(resume)
        settings = resumed_config(folder, overrides)
    elif spec is None:
        raise UsageError("no spec; give a spec file, the name of a shipped one, or an EnvSpec")
    else:
        folder, settings = None, configure(overrides)
    with progress_shown(progress) as view:
        listeners = [listener for listener in (view, on_event) if listener is not None]
        return execute(settings, listener=all_of(listeners), resume=folder)


def finish(run: RunLike, **settings: Any) -> Run:  # noqa: ANN401
    """Select and test now, of a run that has not ended; what ``promptpo finish`` does.

    What is recorded counts, and nothing more is searched; of a run that has ended, a larger
    ``test_episodes`` extends the held-out test. ``settings`` may change as on resuming. Raises
    RunError where there is no such run, where another process carries it on, or no candidate of it
    has been scored, and UsageError for a setting that cannot change.

        promptpo.finish("runs/cartpole/20261120-143000", test_episodes=200).test.score
    """
    folder = folder_of(run)
    return execute(resumed_config(folder, settings), resume=folder, searching=False)


def execute(
    settings: RunConfig,
    *,
    listener: Listener | None = None,
    resume: Path | None = None,
    searching: bool = True,
) -> Run:
    """Carry out a run, or continue the one in the folder ``resume``; its trackers are told of it.

    In the end it has its ``report.html``. For the rest see ``promptpo.run.start.carry_out``.
    """
    check_ready(settings.trackers)
    run = None if searching or resume is None else load_run(resume)
    if run is not None and all(c.score.failed for c in run.candidates):
        raise RunError(f"{resume}: no candidate of it has been scored; `promptpo --resume` goes on")
    result = carry_out(
        settings, (tracking, reporting), listener=listener, resume=resume, searching=searching
    )
    remember(result.folder)
    return result


@_taking(_EvaluateArguments)
def evaluate(
    policy: PolicyLike,
    spec: SpecLike | None = None,
    *,
    episodes: int | None = None,
    **settings: Any,  # noqa: ANN401
) -> Evaluation:
    """Score one policy on held-out episodes; what ``promptpo eval`` does.

    Args:
        policy: a policy's file; a run, by its folder or as an object, for its best policy; a
            ``Candidate``; the text of a policy (of several lines); a class named Policy; or
            "expert", "random", "zero" for what the task has itself.
        spec: as for ``optimize``; for the policy of a run, its own by default.
        episodes: how many held-out episodes are played.
        seed: the run seed whose held-out episodes they are: a run of this seed reports on the same.

    What is not given is as it was in the run, else the default of ``optimize``. The policy runs in
    the sandbox. One that fails gives an Evaluation with an ``error`` and no score. Raises
    PromptPOError where there is no such policy, or the environment fails by itself.

        promptpo.evaluate("my_policy.py", "cartpole", episodes=100).mean_return
    """
    if unknown := settings.keys() - config.fields(PlaySettings):
        raise TypeError(f"evaluate() got an unexpected argument {min(unknown)!r}")
    overrides = {"test_episodes": episodes, **settings}
    overrides["spec"] = None if spec is None else _ref_of(spec, settings.get("env_timeout"))
    from promptpo.evaluation import score, settings_for

    players = [_player_of(policy)]
    configs = settings_for(players, overrides, notify=partial(warnings.warn, stacklevel=3))
    (evaluation,) = run_to_end(score(players, configs))
    return evaluation


def check(
    spec: SpecLike, *, quick: bool = False, env_timeout: float = RunConfig.env_timeout
) -> CheckReport:
    """Hold a spec against its live environment; what ``promptpo check`` does.

    Args:
        spec: as for ``optimize``.
        quick: play a tenth: seconds, less certainty.
        env_timeout: seconds that one call of the environment may take.

    Raises SpecError where the spec cannot be loaded or its environment cannot be made.

        report = promptpo.check("my_task.py", quick=True)
        assert report.passed, report
    """
    from promptpo.checks import FULL, QUICK, Checker, CheckReport

    loaded = loaded_spec(spec, limit=env_timeout)
    effort = QUICK if quick else FULL
    with Checker([loaded.ref], effort, env_timeout) as checker:
        return CheckReport(loaded.name, loaded.title, tuple(checker.findings(loaded.ref)))


@overload
def compare(*runs: RunLike) -> Comparison: ...


@overload
def compare(*evaluations: Evaluation) -> PolicyComparison: ...


def compare(*compared: RunLike | Evaluation) -> Comparison | PolicyComparison:
    """Compare runs, as ``promptpo compare`` does, or policies, as ``promptpo eval`` does.

    Each run is a folder or an object; one that is named twice counts once. Of runs there are
    held-out scores, tests and learning curves. Policies are what ``evaluate`` returned; they are
    paired by the episodes that they met.

    Raises RunError where a folder holds no run, and UsageError where there is nothing to compare.

        print(promptpo.compare("runs/cartpole/20261120-143000", result))
        ours, theirs = (promptpo.evaluate(p, "metaworld_reach") for p in (result, "expert"))
        print(promptpo.compare(ours, theirs))
    """
    from promptpo.comparison import Comparison
    from promptpo.evaluation import Evaluation, PolicyComparison

    evaluations = [each for each in compared if isinstance(each, Evaluation)]
    runs = [each for each in compared if not isinstance(each, Evaluation)]
    if runs and evaluations:
        raise UsageError("runs are compared with runs, and what evaluate() returned among itself")
    if evaluations:
        return PolicyComparison(tuple(evaluations))
    return Comparison.of(folder_of(run) for run in runs)


def folder_of(run: RunLike) -> Path:
    """Return the folder of a run. Raises RunError where there is none."""
    path = run.folder if isinstance(run, Run) else Path(run)
    return RunFolder.open(path).path


def _ref_of(spec: SpecLike, env_timeout: float | None) -> str:
    """Return the reference by which ``load_spec`` finds a spec."""
    if not isinstance(spec, EnvSpec):
        return fspath(spec)
    limit = RunConfig.env_timeout if env_timeout is None else env_timeout
    return loaded_spec(spec, limit=limit).ref


def _player_of(policy: PolicyLike) -> Player:
    """Return the policy that an argument means. Raises UsageError and RunError."""
    from promptpo import evaluation

    if isinstance(policy, Run):
        return evaluation.best_of_run(policy.folder)
    if isinstance(policy, Candidate):
        if policy.source is None:
            raise UsageError(f"{policy.name}: it has no source, because no code was found")
        if policy.prepared is not None:
            file = f"RUN/candidates/{policy.name}/policy.py"
            raise UsageError(f"{policy.name}: what it has prepared lies in its run; name {file}")
        return evaluation.player_of_source(policy.source, policy.name)
    if isinstance(policy, type):
        return evaluation.player_of_class(policy)
    if isinstance(policy, str) and "\n" in policy:
        return evaluation.player_of_source(policy, "policy")
    return evaluation.find_player(fspath(policy), Path)
