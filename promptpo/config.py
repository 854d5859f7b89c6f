"""The settings of a run: one dataclass whose fields are the options and the keys of a TOML file."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from typing import Any, get_args

from promptpo.common.options import flat, hints_of, option, value_type
from promptpo.common.values import check_value, listed
from promptpo.counts import EpisodeCounts
from promptpo.errors import UsageError

__all__ = [
    "AUTO",
    "DAY",
    "RunConfig",
    "check_setting",
    "fields",
    "flat",
    "option",
    "value_type",
]

#: A number that the program finds by itself; of episodes, see ``promptpo.counts``.
AUTO = "auto"

#: Seconds of a day: no single wait is longer.
DAY = 86_400

#: Environment processes on this machine: more are a slip of the hand.
_MOST_HERE = max(32, 8 * (os.cpu_count() or 1))


@dataclass(frozen=True)
class RunConfig(EpisodeCounts):
    """What a run was asked to do.

    Raises UsageError where a value has the wrong type or lies outside its range.
    """

    spec: str = option(
        "",
        "spec file, name of a shipped or installed spec, or family:member",
        metavar="SPEC",
        group="task",
    )
    method: str = option(
        "promptpo",
        "search method: promptpo, inspo, best-of-n, random-search, tune, props, props+, r2po, one"
        " of an installed package, or FILE.py:Class; its own options stand in this help once it is"
        " named",
        metavar="METHOD",
        group="task",
    )
    published_prompt: bool = option(
        False, "tell models no more of the task than its published prompt does", group="task"
    )
    facts: bool = option(
        True,
        "tell models the facts that a spec gives of its machine (its data sheet)",
        group="task",
    )
    out: str = option(
        "runs", "folder that receives the run's own folder", metavar="DIR", group="task"
    )
    track: str = option(
        "",
        "also tell these trackers of the run, comma-separated",
        choices=("tensorboard", "wandb", "mlflow"),
        group="task",
        resumable=True,
        several=True,
    )

    model: str | None = option(
        None,
        "language model: PROVIDER/NAME as litellm spells it, 'manual', 'recorded',"
        " 'recorded:RUN', or 'builtin': standard structures without a language model"
        " (default: $PROMPTPO_MODEL, else the spec's recording)",
        group="model",
        resumable=True,
    )
    api_base: str | None = option(
        None, "address of an OpenAI-compatible server", metavar="URL", group="model", resumable=True
    )
    temperature: float | None = option(
        None, "sampling temperature (default: the provider's)", within=(0, 10), group="model"
    )
    max_reply_tokens: int | None = option(
        None,
        "tokens of one reply, at most (default: the provider's limit; with --max-cost or"
        " --max-tokens 16,384, or the model's own limit where that is less)",
        within=(1, 10**7), group="model", resumable=True,
    )  # fmt: skip
    max_concurrency: int | None = option(
        None, "model calls in flight at once (default: one per candidate)", within=(1, 1000),
        group="model", resumable=True,
    )  # fmt: skip
    call_timeout: float = option(
        600.0, "seconds that one model call may take, retries included", within=(1, DAY),
        group="model", resumable=True,
    )  # fmt: skip

    rounds: int = option(5, "rounds of candidates", within=(1, 1000), resumable=True)
    candidates: int = option(4, "policies written per round (N in the paper)", within=(1, 200))
    episodes: int | str = option(
        AUTO,
        "search episodes per candidate (E in the paper); 'auto': 5, and more for those that cannot"
        " be told from the best",
        within=(1, 1000),
        auto=True,
    )
    selection_episodes: int | str = option(
        AUTO,
        "episodes that choose among the round winners; 'auto': 20, and more until they can tell;"
        " 0: trust their search scores",
        within=(0, 100_000),
        auto=True,
    )
    test_episodes: int = option(
        50, "held-out episodes behind the reported score; 0: report none", within=(0, 100_000)
    )
    seed: int = option(0, "seed of all episode streams", within=(0, 2**63 - 1))
    policy_seed: int | None = option(
        None,
        "seed of the policies' own random numbers (default: drawn, so that no policy can know it,"
        " and recorded)",
        within=(0, 2**63 - 1),
    )
    tune: bool = option(
        False, "let an optimizer (CMA-ES) find the numbers of policies", group="tuning"
    )
    tune_steps: int = option(
        200_000,
        "environment steps that tuning may take in the whole run; 0: none",
        within=(0, 10**12),
        group="tuning",
    )
    tune_share: float = option(
        0.5,
        "share of the tuning steps left that a round may take; the last one takes them all",
        within=(0.01, 1),
        group="tuning",
    )
    constants: str = option(
        "either",
        "'declared': numbers that a policy declares by tunable(value, low, high); 'auto': all that"
        " can be found; 'either': what it declares, or all where it declares none",
        choices=("either", "declared", "auto"),
        group="tuning",
    )
    prepare_time: float = option(
        60.0,
        "seconds of processor time for a policy's own prepare(data), before it plays; 0: none",
        within=(0, DAY), group="preparing",
    )  # fmt: skip
    prepare_transitions: int = option(
        200_000,
        "recorded transitions that prepare(data) is given, the newest ones",
        within=(1, 10**9), group="preparing",
    )  # fmt: skip
    target: float | None = option(
        None,
        "stop once a round's best search score reaches this (success rate, else mean return;"
        " default: the spec's target, if it states one)",
        group="limits",
    )
    patience: int | None = option(
        3,
        "stop after this many rounds without a better search score; 0: never",
        within=(0, 1000), group="limits",
    )  # fmt: skip
    early_stop: bool = option(
        True,
        "stop the search where the best possible score, which a spec states, is reached",
        group="limits",
    )
    max_cost: float | None = option(
        None,
        "stop before model calls cost more US dollars than this",
        within=(0, 10**9), group="limits",
    )  # fmt: skip
    max_tokens: int | None = option(
        None, "stop before prompts and replies take more tokens than this",
        within=(1, 10**15), group="limits",
    )  # fmt: skip
    max_calls: int | None = option(None, "model calls, at most", within=(1, 10**9), group="limits")
    max_unreadable: int = option(
        20, "stop after this many replies in a row that hold nothing to play; 0: never",
        within=(0, 10**6), group="limits",
    )  # fmt: skip
    max_env_steps: int | None = option(
        None,
        "environment steps that search may take, repairs included; selection and held-out"
        " episodes come on top",
        within=(1, 10**15), group="limits",
    )  # fmt: skip
    max_time: float | None = option(
        None, "stop the search after this many seconds", within=(0, 10**9), group="limits"
    )

    executor: str | None = option(
        None,
        "where episodes are played: in processes of this machine, or on a Ray cluster (default:"
        " local, or ray where --ray-address is given)",
        choices=("local", "ray"), group="machine", resumable=True,
    )  # fmt: skip
    ray_address: str | None = option(
        None,
        "Ray cluster to join: auto, HOST:PORT or ray://HOST:PORT (default: $RAY_ADDRESS, else one"
        " is started on this machine)",
        metavar="ADDRESS", group="machine", resumable=True,
    )  # fmt: skip
    workers: int | None = option(
        None,
        "environment processes (default: one per available core)",
        within=(1, 10_000), group="machine", resumable=True,
    )  # fmt: skip
    sandbox: str = option(
        "auto",
        "'strict' refuses to run where a protection is missing",
        choices=("auto", "strict"), group="machine", resumable=True,
    )  # fmt: skip
    act_timeout: float = option(
        5.0,
        "seconds of processor time that one act() may take",
        within=(0.01, DAY),
        group="machine",
    )
    episode_timeout: float = option(
        20.0,
        "seconds of processor time that all act() calls of an episode may take together",
        within=(0.1, DAY),
        group="machine",
    )
    env_timeout: float = option(
        60.0,
        "seconds that one call of the environment (make, reset or step) may take",
        within=(0.1, DAY),
        group="machine",
        resumable=True,
    )
    policy_lifetime: str | None = option(
        None,
        "one policy object per 'episode' or per 'evaluation' (default: what the spec says)",
        choices=("episode", "evaluation"),
        group="machine",
    )
    evaluation_episodes: int | None = option(
        None,
        "episodes that one object lives through with --policy-lifetime evaluation (default: what"
        " the spec says, else 10); numbers of episodes are rounded up to whole lives",
        within=(2, 10_000),
        group="machine",
    )

    #: The chosen method's own options, an instance of its ``Options``.
    options: Any = None

    def __post_init__(self) -> None:
        for name in fields():
            check_setting(RunConfig, name, getattr(self, name))
        if not self.on_ray and (self.workers or 0) > _MOST_HERE:
            words = f"workers must be at most {_MOST_HERE:,} on this machine, not {self.workers}"
            raise UsageError(f"{words}; more are for --executor ray")

    @property
    def on_ray(self) -> bool:
        """Whether episodes are played on a Ray cluster."""
        return (self.executor or ("ray" if self.ray_address else "local")) == "ray"

    def as_dict(self) -> dict[str, Any]:
        """Plain values, as stored in ``run.json``; the method's own stand under ``options``."""
        return dataclasses.asdict(self)

    @property
    def concurrency(self) -> int:
        """Model calls in flight at once."""
        return self.max_concurrency or self.candidates

    @property
    def trackers(self) -> tuple[str, ...]:
        """The names in ``track``, each once."""
        return tuple(dict.fromkeys(listed(self.track)))


def fields(kind: type = RunConfig) -> dict[str, dataclasses.Field[Any]]:
    """The settings of RunConfig, or a method's own options, by name."""
    return {f.name: f for f in dataclasses.fields(kind) if f.name != "options"}


def check_setting(kind: type, name: str, value: object) -> None:
    """Raise UsageError unless a setting of RunConfig, or of a method, may have this value."""
    if value == AUTO and fields(kind)[name].metadata["auto"]:
        return
    if value is not None or type(None) not in get_args(hints_of(kind)[name]):
        check_value(name, value_type(kind, name), fields(kind)[name].metadata, value)
