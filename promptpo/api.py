"""promptpo as a library: what the commands do, with typed arguments and objects for answers."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from promptpo.config import RunConfig
from promptpo.errors import UsageError
from promptpo.report import reporting
from promptpo.run import Result, carry_out
from promptpo.run.settings import configure, resumed_config
from promptpo.spec import EnvSpec
from promptpo.spec.loading.objects import SpecLike, loaded_spec
from promptpo.store.folder import RunFolder
from promptpo.trackers import check_ready, tracking
from promptpo.types import Event, Listener
from promptpo.ui import progress_shown

if TYPE_CHECKING:
    from promptpo.checks import CheckReport
    from promptpo.comparison import Comparison

#: A run as callers may give it: its folder, or what ``optimize`` returned.
RunLike: TypeAlias = str | PathLike[str] | Result

#: Arguments of ``optimize`` that are no settings of the run.
_NO_SETTINGS = ("spec", "resume", "on_event", "progress", "options")


def optimize(  # noqa: PLR0913 - every setting is an argument that editors and type checkers see
    spec: SpecLike | None = None,
    *,
    resume: str | PathLike[str] | None = None,
    on_event: Listener | None = None,
    progress: bool | None = None,
    preset: Literal["paper", "quick"] | None = None,
    method: str | None = None,
    published_prompt: bool | None = None,
    out: str | PathLike[str] | None = None,
    track: str | None = None,
    model: str | None = None,
    api_base: str | None = None,
    temperature: float | None = None,
    max_concurrency: int | None = None,
    call_timeout: float | None = None,
    rounds: int | None = None,
    candidates: int | None = None,
    episodes: int | None = None,
    selection_episodes: int | None = None,
    test_episodes: int | None = None,
    seed: int | None = None,
    policy_seed: int | None = None,
    reflection: bool | None = None,
    max_repairs: int | None = None,
    history_tokens: int | None = None,
    target: float | None = None,
    patience: int | None = None,
    max_cost: float | None = None,
    max_tokens: int | None = None,
    max_calls: int | None = None,
    max_env_steps: int | None = None,
    max_time: float | None = None,
    workers: int | None = None,
    sandbox: Literal["auto", "strict"] | None = None,
    act_timeout: float | None = None,
    episode_timeout: float | None = None,
    env_timeout: float | None = None,
    policy_lifetime: Literal["episode", "evaluation"] | None = None,
    **options: bool | float | str | None,
) -> Result:
    """Search for a policy; what ``promptpo --spec SPEC`` does.

    Args:
        spec: a spec's file, the name of a shipped spec, ``family:member``, or an ``EnvSpec``.
        resume: the folder of a run to continue; then only settings that may change on resuming
            can be given, and ``spec`` can be left out.
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
        limit = RunConfig.env_timeout if env_timeout is None else env_timeout
        given["spec"] = (
            loaded_spec(spec, limit=limit).ref if isinstance(spec, EnvSpec) else fspath(spec)
        )
    if resume is not None:
        folder = Path(resume)
        config = resumed_config(folder, given)
    elif spec is None:
        raise UsageError("no spec; give a spec file, the name of a shipped one, or an EnvSpec")
    else:
        folder, config = None, configure(given)
    with progress_shown(progress) as view:
        listeners = [listener for listener in (view, on_event) if listener is not None]
        return execute(config, listener=_all_of(listeners), resume=folder)


def execute(
    config: RunConfig, *, listener: Listener | None = None, resume: Path | None = None
) -> Result:
    """Carry out a run, or continue the one in the folder ``resume``; its trackers are told of it.

    In the end it has its ``report.html``. For the rest see ``promptpo.run.carry_out``.
    """
    check_ready(config.trackers)
    return carry_out(config, (tracking, reporting), listener=listener, resume=resume)


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


def compare(*runs: RunLike) -> Comparison:
    """Runs side by side: held-out scores, tests, learning curves; what ``promptpo compare`` does.

    Each run is a folder, or what ``optimize`` returned; one that is named twice counts once.
    Raises RunError where a folder holds no run.

        comparison = promptpo.compare("runs/cartpole/20261120-143000", result)
        print(comparison)
    """
    from promptpo.comparison import Comparison

    return Comparison.of(folder_of(run) for run in runs)


def folder_of(run: RunLike) -> Path:
    """The folder of a run. Raises RunError where there is none."""
    path = run.folder if isinstance(run, Result) else Path(run)
    return RunFolder.open(path).path


def _all_of(listeners: Sequence[Listener]) -> Listener | None:
    """One listener that tells all of them."""
    if not listeners:
        return None

    def tell(event: Event) -> None:
        for listener in listeners:
            listener(event)

    return tell
