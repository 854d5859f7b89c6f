"""The settings of a run: dataclasses whose fields are options, keys of a TOML file and arguments.

A field says all there is to say of a setting: its type, default, range and help.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import os
import sys
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

from promptpo.common import lives
from promptpo.common.plaintext import control_character, listed, shown
from promptpo.errors import UsageError

if TYPE_CHECKING:
    from typing import Self

    from promptpo.spec import EnvSpec

#: A number of episodes that the program chooses.
AUTO = "auto"

#: Seconds of a day: no single wait is longer.
DAY = 86_400

#: Settings that are options of the command line; others are given by ``--set NAME=VALUE``.
OPTIONS = (
    "spec", "method", "published_prompt", "name", "out", "track", "model", "api_base", "rounds",
    "candidates", "episodes", "selection_episodes", "test_episodes", "seed", "tune", "tune_steps",
    "target", "patience", "max_cost", "max_tokens", "max_calls", "max_env_steps", "max_time",
    "executor", "ray_address", "workers", "sandbox",
)  # fmt: skip

#: Environment processes on this machine: more are a slip of the hand.
_MOST_HERE = max(32, 8 * (os.cpu_count() or 1))

#: Characters of a text: no path, address or name is longer.
_MOST_CHARACTERS = 4096

_WORDS = {int: "a whole number", float: "a number", str: "a string", bool: "true or false"}


def option(
    default: Any,  # noqa: ANN401 - a setting may be of any plain type
    help: str,
    *,
    metavar: str | None = None,
    within: tuple[float, float] | None = None,
    group: str = "search",
    resumable: bool = False,
    several: tuple[str, ...] = (),
) -> Any:  # noqa: ANN401
    """Declare one setting, as the default of a dataclass's field.

    The field's annotation is the plain type: int, float, str or bool, or ``Literal`` of the texts
    that it may be; ``| None`` where it may be left open.

    Args:
        within: the least and the most that a number may be, or a text have of characters; beyond
            them it is a slip of the hand.
        resumable: may change when a run is resumed; those of the group "limits" always may.
        several: the value is a comma-separated list of these.
    """
    metadata = {
        "help": help, "metavar": metavar, "within": within, "group": group,
        "resumable": resumable or group == "limits", "several": several,
    }  # fmt: skip
    return dataclasses.field(default=default, metadata=metadata)


def literal(text: str) -> int | float | bool | str:
    """Return the number or the truth value that a text is, or the text."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text, text)


@dataclass(frozen=True)
class Setting:
    """A declared setting; ``words`` are the texts that its annotation names."""

    name: str
    default: Any
    kind: type
    words: tuple[str, ...]
    optional: bool
    help: str
    metavar: str | None
    within: tuple[float, float] | None
    group: str
    resumable: bool
    several: tuple[str, ...]

    @property
    def flag(self) -> str:
        """The command-line spelling: ``--max-env-steps``, ``--set early_stop``."""
        return f"--{self.name.replace('_', '-')}" if self.name in OPTIONS else f"--set {self.name}"

    def read(self, text: str) -> Any:  # noqa: ANN401
        """Return the value that a text on the command line means. Raises UsageError."""
        value = text if self.kind is str else literal(text)
        self.check(value)
        return value

    def check(self, value: object) -> None:
        """Raise UsageError unless the setting may have this value."""
        if (value is None and self.optional) or (self.kind is not str and value in self.words):
            return
        fits = isinstance(value, int | float if self.kind is float else self.kind)
        if not fits or (isinstance(value, bool) and self.kind is not bool):
            words = " or ".join([_WORDS[self.kind], *map(repr, self.words)])
            if self.kind is str:
                words = _WORDS[str]
            raise UsageError(f"{self.name} must be {words}, not {shown(value)}")
        if isinstance(value, str):
            self._check_text(value)
        elif isinstance(value, int | float) and self.kind is not bool:
            self._check_number(value)

    def _check_text(self, value: str) -> None:
        choices = self.several or self.words
        for word in listed(value) if self.several else [value]:
            if choices and word not in choices:
                near = difflib.get_close_matches(word, choices, 1)
                hint = f"did you mean '{near[0]}'?" if near else f"one of: {', '.join(choices)}"
                raise UsageError(f"{self.name}: {shown(word)} is not known; {hint}")
        if character := control_character(value.replace("\n", "\0")):
            what = "a line break" if "\n" in value else character[1]
            raise UsageError(
                f"{self.name} must not hold control characters ({what}): {shown(value)}"
            )
        if len(value) > (self.within[1] if self.within else _MOST_CHARACTERS):
            raise UsageError(f"{self.name} has {len(value):,} characters: {shown(value)}")

    def _check_number(self, value: float) -> None:
        largest = sys.float_info.max
        least, most = self.within or (-largest, largest)
        if not -largest <= value <= largest:
            raise UsageError(f"{self.name} must be a finite number, not {shown(value)}")
        if value < least:
            raise UsageError(f"{self.name} must be at least {least:g}, not {shown(value)}")
        if value > most:
            raise UsageError(f"{self.name} must be at most {most:,}, not {shown(value)}")


def fields(kind: type) -> Mapping[str, Setting]:
    """Return the settings that a dataclass declares by ``option``, by name."""
    return _fields(kind)


@functools.cache
def _fields(kind: type) -> Mapping[str, Setting]:
    hints = get_type_hints(kind)
    declared: dict[str, Setting] = {}
    for field in dataclasses.fields(kind):
        if "help" not in field.metadata:
            continue
        hint = hints[field.name]
        parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        words = [word for part in parts if get_origin(part) is Literal for word in get_args(part)]
        kinds = [p for p in parts if p is not NoneType and get_origin(p) is not Literal]
        declared[field.name] = Setting(
            field.name, field.default, (*kinds, str)[0], tuple(words), NoneType in parts,
            **field.metadata,
        )  # fmt: skip
    return declared


_task = functools.partial(option, group="task")
_model = functools.partial(option, group="model")
_tuning = functools.partial(option, group="tuning")
_preparing = functools.partial(option, group="preparing")
_limits = functools.partial(option, group="limits")
_machine = functools.partial(option, group="machine")


@dataclass(frozen=True)
class PlaySettings:
    """The settings of a run that count where its policy is played again."""

    spec: str = _task(
        "", "spec file, name of a shipped or installed spec, or family:member", metavar="SPEC"
    )
    _: KW_ONLY
    published_prompt: bool = _task(
        False, "tell models no more of the task than its published prompt does"
    )
    test_episodes: int = option(
        50,
        "held-out episodes behind the reported score; 0: report none",
        within=(0, 100_000),
        resumable=True,
    )
    seed: int = option(0, "seed of all episode streams", within=(0, 2**63 - 1))
    policy_seed: int | None = option(
        None,
        "seed of the policies' own random numbers (default: drawn, so that no policy can know it,"
        " and recorded)",
        within=(0, 2**63 - 1),
    )
    executor: Literal["local", "ray"] | None = _machine(
        None,
        "where episodes are played: in processes of this machine, or on a Ray cluster (default:"
        " local, or ray where --ray-address is given)",
        resumable=True,
    )
    ray_address: str | None = _machine(
        None,
        "Ray cluster to join: auto, HOST:PORT or ray://HOST:PORT (default: $RAY_ADDRESS, else one"
        " is started on this machine)",
        metavar="ADDRESS",
        resumable=True,
    )
    workers: int | None = _machine(
        None,
        "environment processes (default: one per available core)",
        within=(1, 10_000),
        resumable=True,
    )
    sandbox: Literal["auto", "strict"] = _machine(
        "auto", "'strict' refuses to run where a protection is missing", resumable=True
    )
    act_timeout: float = _machine(
        5.0, "seconds of processor time that one act() may take", within=(0.01, DAY)
    )
    episode_timeout: float = _machine(
        20.0,
        "seconds of processor time that all act() calls of an episode may take together",
        within=(0.1, DAY),
    )
    env_timeout: float = _machine(
        60.0,
        "seconds that one call of the environment (make, reset or step) may take",
        within=(0.1, DAY),
        resumable=True,
    )
    objective: Literal["mean", "cvar10"] | None = _task(
        None,
        "return that ranks policies: 'mean', or 'cvar10', the mean of the worst tenth of the"
        " episodes (default: what the spec says)",
    )
    policy_lifetime: Literal["episode", "evaluation"] | None = _machine(
        None, "one policy object per 'episode' or per 'evaluation' (default: what the spec says)"
    )
    evaluation_episodes: int | None = _machine(
        None,
        "episodes that one object lives through where policy_lifetime is 'evaluation' (default:"
        " what the spec says, else 10); numbers of episodes are rounded up to whole lives",
        within=(2, 10_000),
    )


@dataclass(frozen=True)
class RunConfig(PlaySettings):
    """The settings of a run.

    Raises UsageError where a value has the wrong type or lies outside its range.
    """

    _: KW_ONLY
    method: str = _task(
        "promptpo",
        "search method: promptpo, inspo, best-of-n, random-search, tune, props, props+, r2po, one"
        " of an installed package, or FILE.py:Class; `promptpo help settings --method METHOD` shows"
        " its own settings",
        metavar="METHOD",
    )
    facts: bool = _task(
        True, "tell models the facts that a spec gives of its machine (its data sheet)"
    )
    name: str = _task("", "a name by which commands find the run", within=(0, 80), resumable=True)
    tags: str = _task(
        "", "words shown with the run in lists, comma-separated", within=(0, 200), resumable=True
    )
    out: str = _task("runs", "folder that receives the run's own folder", metavar="DIR")
    track: str = _task(
        "",
        "also tell these trackers of the run, comma-separated",
        several=("tensorboard", "wandb", "mlflow"),
        resumable=True,
    )
    model: str | None = _model(
        None,
        "language model: PROVIDER/NAME as litellm spells it, 'manual', 'recorded',"
        " 'recorded:RUN', or 'builtin': standard structures without a language model"
        " (default: $PROMPTPO_MODEL, else the spec's recording)",
        resumable=True,
    )
    api_base: str | None = _model(
        None, "address of an OpenAI-compatible server", metavar="URL", resumable=True
    )
    temperature: float | None = _model(
        None, "sampling temperature (default: the provider's)", within=(0, 10)
    )
    max_reply_tokens: int | None = _model(
        None,
        "tokens of one reply, at most (default: the provider's limit; with --max-cost or"
        " --max-tokens 16,384, or the model's own limit where that is less)",
        within=(1, 10**7),
        resumable=True,
    )
    max_concurrency: int | None = _model(
        None,
        "model calls in flight at once (default: one per candidate)",
        within=(1, 1000),
        resumable=True,
    )
    call_timeout: float = _model(
        600.0,
        "seconds that one model call may take, retries included",
        within=(1, DAY),
        resumable=True,
    )
    rounds: int = option(5, "rounds of candidates", within=(1, 1000), resumable=True)
    candidates: int = option(4, "policies written per round (N in the paper)", within=(1, 200))
    episodes: int | Literal["auto"] = option(
        AUTO,
        "search episodes per candidate (E in the paper); 'auto': 5, and more for those that cannot"
        " be told from the best",
        within=(1, 1000),
    )
    selection_episodes: int | Literal["auto"] = option(
        AUTO,
        "episodes that choose among the round winners; 'auto': 20, and more until they can tell;"
        " 0: trust their search scores",
        within=(0, 100_000),
        resumable=True,
    )
    smallest_difference: float | None = option(
        None,
        "finalists whose returns differ by less than this share of the range from random to expert"
        " are tied, and the shortest is chosen; 0: none (default: what the spec says, or 0.01)",
        within=(0, 1),
    )
    tune: bool = _tuning(False, "let an optimizer (CMA-ES) find the numbers of policies")
    tune_steps: int = _tuning(
        200_000,
        "environment steps that tuning may take in the whole run; 0: none",
        within=(0, 10**12),
    )
    tune_share: float = _tuning(
        0.5,
        "share of the tuning steps left that a round may take; the last one takes them all",
        within=(0.01, 1),
    )
    constants: Literal["either", "declared", "auto"] = _tuning(
        "either",
        "'declared': numbers that a policy declares by tunable(value, low, high); 'auto': all that"
        " can be found; 'either': what it declares, or all where it declares none",
    )
    constants_in: Literal["everywhere", "assigned"] = _tuning(
        "everywhere",
        "where constants are found: 'everywhere': numbers within act and what it calls, too, and"
        " ranges go by the observation's bounds; 'assigned': by magnitude, where numbers are"
        " assigned, as in runs of promptpo 0.1.0",
    )
    last_word: Literal["open", "closed"] = _tuning(
        "open",
        "tuned values that the last comparisons cannot tell from the written ones: 'open': the"
        " better estimate counts; 'closed': the written ones stay, as in runs of promptpo 0.1.0",
    )
    prepare_time: float = _preparing(
        60.0,
        "seconds of processor time for a policy's own prepare(data), before it plays; 0: none",
        within=(0, DAY),
    )
    prepare_transitions: int = _preparing(
        200_000,
        "recorded transitions that prepare(data) is given, the newest ones",
        within=(1, 10**9),
    )
    target: float | None = _limits(
        None,
        "stop once a round's best search score reaches this (success rate, else mean return;"
        " default: the spec's target, if it states one)",
    )
    patience: int | None = _limits(
        3, "stop after this many rounds without a better search score; 0: never", within=(0, 1000)
    )
    early_stop: bool = _limits(
        True, "stop the search where the best possible score, which a spec states, is reached"
    )
    max_cost: float | None = _limits(
        None, "stop before model calls cost more US dollars than this", within=(0, 10**9)
    )
    max_tokens: int | None = _limits(
        None, "stop before prompts and replies take more tokens than this", within=(1, 10**15)
    )
    max_calls: int | None = _limits(None, "model calls, at most", within=(1, 10**9))
    max_unreadable: int = _limits(
        20,
        "stop after this many replies in a row that hold nothing to play; 0: never",
        within=(0, 10**6),
    )
    max_env_steps: int | None = _limits(
        None,
        "environment steps that search may take, repairs included; selection and held-out"
        " episodes come on top",
        within=(1, 10**15),
    )
    max_time: float | None = _limits(
        None, "stop the search after this many seconds", within=(0, 10**9)
    )

    #: The chosen method's own options, an instance of its ``Options``.
    options: Any = None

    def __post_init__(self) -> None:
        for name, setting in fields(RunConfig).items():
            setting.check(getattr(self, name))
        if not self.on_ray and (self.workers or 0) > _MOST_HERE:
            words = f"workers must be at most {_MOST_HERE:,} on this machine, not {self.workers}"
            raise UsageError(f"{words}; more are for --executor ray")

    @property
    def on_ray(self) -> bool:
        """True where episodes are played on a Ray cluster."""
        return (self.executor or ("ray" if self.ray_address else "local")) == "ray"

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, as stored in ``run.json``; the method's own under ``options``."""
        return dataclasses.asdict(self)

    @property
    def trackers(self) -> tuple[str, ...]:
        """The names in ``track``, each once."""
        return tuple(dict.fromkeys(listed(self.track)))

    def for_spec(self, spec: EnvSpec) -> Self:
        """Return the settings with what the spec says where they leave it open.

        Raises UsageError where they give the length of a life, but no policy lives so long.
        """
        settings = self
        if self.smallest_difference is None:
            settings = replace(settings, smallest_difference=spec.smallest_difference)
        lifetime = self.policy_lifetime or spec.policy_lifetime
        if lifetime == "evaluation":
            lived = self.evaluation_episodes or spec.evaluation_episodes
            return replace(settings, policy_lifetime=lifetime, evaluation_episodes=lived)
        if self.evaluation_episodes is not None and self.policy_lifetime is None:
            raise UsageError(
                "evaluation_episodes is for policies that live through several episodes; add"
                " --set policy_lifetime=evaluation"
            )
        return settings

    @property
    def life(self) -> int:
        """Episodes that one policy object plays, of settings that are ``for_spec``."""
        return lives.life_of(vars(self))

    def whole(self, episodes: int) -> int:
        """Return a number of episodes, rounded up to whole lives."""
        return lives.whole(episodes, self.life)

    @property
    def held_out(self) -> int:
        """Held-out episodes behind the reported score."""
        return self.whole(self.test_episodes)

    @property
    def first_episodes(self) -> int:
        """Search episodes that every candidate plays."""
        return self.whole(self.episodes if isinstance(self.episodes, int) else 5)

    @property
    def races(self) -> bool:
        """True where candidates that cannot be told apart play more search episodes."""
        return not isinstance(self.episodes, int)

    @property
    def selection(self) -> tuple[int, int]:
        """Selection episodes that every finalist plays, and the most that one may play."""
        number = self.selection_episodes
        fewest, most = (number, number) if isinstance(number, int) else (20, 60)
        return self.whole(fewest), self.whole(most)


def flat(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with the options of the method beside the others, not under ``options``."""
    rest = {name: value for name, value in config.items() if name != "options"}
    own = config.get("options")
    return {**rest, **own} if isinstance(own, Mapping) else rest
