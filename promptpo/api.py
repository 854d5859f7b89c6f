"""promptpo as a library: what the commands do, with typed arguments and objects for answers."""

from __future__ import annotations

import warnings
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

from promptpo.config import RunConfig
from promptpo.errors import UsageError
from promptpo.report import reporting
from promptpo.run import Result, carry_out
from promptpo.run.loop import run_to_end
from promptpo.run.options import PLAYING
from promptpo.run.past import Run
from promptpo.run.settings import configure, resumed_config
from promptpo.spec import EnvSpec
from promptpo.spec.loader import SpecLike, loaded_spec
from promptpo.store.events import Listener, all_of
from promptpo.store.folder import RunFolder
from promptpo.store.summary import remember
from promptpo.trackers import check_ready, tracking
from promptpo.types import Candidate
from promptpo.ui import progress_shown

if TYPE_CHECKING:
    from promptpo.checks import CheckReport
    from promptpo.comparison import Comparison
    from promptpo.evaluation import Evaluation, Player, PolicyComparison

#: A run as callers may give it: its folder, or what ``optimize`` or ``load_run`` returned.
RunLike: TypeAlias = str | PathLike[str] | Result | Run

#: A policy as callers may give it.
PolicyLike: TypeAlias = RunLike | Candidate | type

#: Arguments of ``optimize`` that are no settings of the run.
_NO_SETTINGS = ("spec", "resume", "on_event", "progress", "options")


def optimize(  # noqa: PLR0913 - every setting is an argument that editors and type checkers see
    spec: SpecLike | None = None,
    *,
    resume: RunLike | None = None,
    on_event: Listener | None = None,
    progress: bool | None = None,
    preset: Literal["paper", "quick"] | None = None,
    method: str | None = None,
    published_prompt: bool | None = None,
    facts: bool | None = None,
    out: str | PathLike[str] | None = None,
    track: str | None = None,
    model: str | None = None,
    api_base: str | None = None,
    temperature: float | None = None,
    max_reply_tokens: int | None = None,
    max_concurrency: int | None = None,
    call_timeout: float | None = None,
    rounds: int | None = None,
    candidates: int | None = None,
    episodes: int | Literal["auto"] | None = None,
    selection_episodes: int | Literal["auto"] | None = None,
    test_episodes: int | None = None,
    seed: int | None = None,
    policy_seed: int | None = None,
    reflection: bool | None = None,
    revise_feedback: bool | None = None,
    second_line: bool | None = None,
    challenge: bool | None = None,
    probe: int | None = None,
    trace: bool | None = None,
    max_repairs: int | None = None,
    history: Literal["focused", "published"] | None = None,
    history_tokens: int | None = None,
    prepare_time: float | None = None,
    prepare_transitions: int | None = None,
    tune: bool | None = None,
    tune_steps: int | None = None,
    tune_share: float | None = None,
    constants: Literal["either", "declared", "auto"] | None = None,
    target: float | None = None,
    patience: int | None = None,
    early_stop: bool | None = None,
    max_cost: float | None = None,
    max_tokens: int | None = None,
    max_calls: int | None = None,
    max_unreadable: int | None = None,
    max_env_steps: int | None = None,
    max_time: float | None = None,
    executor: Literal["local", "ray"] | None = None,
    ray_address: str | None = None,
    workers: int | None = None,
    sandbox: Literal["auto", "strict"] | None = None,
    act_timeout: float | None = None,
    episode_timeout: float | None = None,
    env_timeout: float | None = None,
    policy_lifetime: Literal["episode", "evaluation"] | None = None,
    evaluation_episodes: int | None = None,
    **options: bool | float | str | None,
) -> Result:
    """Search for a policy; what ``promptpo --spec SPEC`` does.

    Args:
        spec: a spec's file, the name of a shipped spec, ``family:member``, or an ``EnvSpec``.
        resume: the run to continue, by its folder or as an object; then only settings that may
            change on resuming can be given, and ``spec`` can be left out.
        on_event: receives every ``Event``, in the thread of the run.
        progress: show how the run goes. Default: where the code runs in a notebook.
        preset: a named set of settings; what is given beside it wins.
        options: options of the method that ``method`` names, beyond those above.

    The others are the options of the command, by the same names: ``promptpo --help`` and
    ``promptpo.RunConfig`` say what each means, its unit and its default. What is None is not given.

    Blocks until the run has ended. An interrupt (Ctrl-C, a notebook's stop button) ends it cleanly:
    the result's status is then "interrupted", and ``resume`` goes on. Raises PromptPOError
    (UsageError, SpecError, ModelError, ...; see ``promptpo.errors``).

        result = promptpo.optimize("cartpole", model="openai/gpt-5", rounds=3, max_cost=1.0)
        print(result.test.score.mean_return, result.best.source)
    """
    given = {k: v for k, v in locals().items() if k not in _NO_SETTINGS and v is not None}
    given |= {name: value for name, value in options.items() if value is not None}
    if out is not None:
        given["out"] = fspath(out)
    if spec is not None:
        given["spec"] = _ref_of(spec, env_timeout)
    if resume is not None:
        folder = folder_of(resume)
        config = resumed_config(folder, given)
    elif spec is None:
        raise UsageError("no spec; give a spec file, the name of a shipped one, or an EnvSpec")
    else:
        folder, config = None, configure(given)
    with progress_shown(progress) as view:
        listeners = [listener for listener in (view, on_event) if listener is not None]
        return execute(config, listener=all_of(listeners), resume=folder)


def execute(
    config: RunConfig, *, listener: Listener | None = None, resume: Path | None = None
) -> Result:
    """Carry out a run, or continue the one in the folder ``resume``; its trackers are told of it.

    In the end it has its ``report.html``. For the rest see ``promptpo.run.carry_out``.
    """
    check_ready(config.trackers)
    result = carry_out(config, (tracking, reporting), listener=listener, resume=resume)
    remember(result.folder)
    return result


def evaluate(  # noqa: PLR0913 - as for optimize
    policy: PolicyLike,
    spec: SpecLike | None = None,
    *,
    episodes: int | None = None,
    seed: int | None = None,
    policy_seed: int | None = None,
    published_prompt: bool | None = None,
    executor: Literal["local", "ray"] | None = None,
    ray_address: str | None = None,
    workers: int | None = None,
    sandbox: Literal["auto", "strict"] | None = None,
    act_timeout: float | None = None,
    episode_timeout: float | None = None,
    env_timeout: float | None = None,
    policy_lifetime: Literal["episode", "evaluation"] | None = None,
    evaluation_episodes: int | None = None,
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
    given: dict[str, Any] = {k: v for k, v in locals().items() if k in PLAYING}
    given["test_episodes"] = episodes
    given["spec"] = None if spec is None else _ref_of(spec, env_timeout)
    from promptpo.evaluation import score, settings_for

    players = [_player_of(policy)]
    settings = settings_for(players, given, tell=partial(warnings.warn, stacklevel=3))
    (found,) = run_to_end(score(players, settings))
    return found


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
    from promptpo.checks import FULL, QUICK, Checker, CheckReport, open_replays

    loaded = loaded_spec(spec, limit=env_timeout)
    effort = QUICK if quick else FULL
    with (
        open_replays([loaded.ref], env_timeout) as replays,
        Checker(effort, replays, env_timeout) as checker,
    ):
        return CheckReport(loaded.name, loaded.title, tuple(checker.findings(loaded.ref)))


@overload
def compare(*runs: RunLike) -> Comparison: ...


@overload
def compare(*evaluations: Evaluation) -> PolicyComparison: ...


def compare(*compared: RunLike | Evaluation) -> Comparison | PolicyComparison:
    """Runs side by side, as ``promptpo compare`` has them; or policies, as ``promptpo eval``.

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
    """The folder of a run. Raises RunError where there is none."""
    path = run.folder if isinstance(run, Result | Run) else Path(run)
    return RunFolder.open(path).path


def _ref_of(spec: SpecLike, env_timeout: float | None) -> str:
    """What ``load_spec`` finds a spec by."""
    if not isinstance(spec, EnvSpec):
        return fspath(spec)
    limit = RunConfig.env_timeout if env_timeout is None else env_timeout
    return loaded_spec(spec, limit=limit).ref


def _player_of(policy: PolicyLike) -> Player:
    """The policy that an argument means. Raises UsageError and RunError where there is none."""
    from promptpo import evaluation

    if isinstance(policy, Result | Run):
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
