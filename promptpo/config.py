"""The settings of a run: one dataclass whose fields are the options and the keys of a TOML file."""

from __future__ import annotations

import dataclasses
import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args, get_type_hints

from promptpo.errors import UsageError


def option(
    default: Any,  # noqa: ANN401 - a setting may be of any plain type
    help: str,
    *,
    metavar: str | None = None,
    choices: tuple[str, ...] | None = None,
    at_least: float | None = None,
    group: str = "search",
    resumable: bool = False,
    several: bool = False,
) -> Any:  # noqa: ANN401
    """Declare one setting; ``resumable`` ones and limits may change when a run is resumed.

    ``several``: a comma-separated list of ``choices``.
    """
    meta = {
        "help": help,
        "metavar": metavar,
        "choices": choices,
        "at_least": at_least,
        "group": group,
        "resumable": resumable or group == "limits",
        "several": several,
    }
    return dataclasses.field(default=default, metadata=meta)


@dataclass(frozen=True)
class RunConfig:
    """What a run was asked to do.

    Raises UsageError where a value has the wrong type or lies outside its range.
    """

    spec: str = option(
        "", "spec file, name of a shipped spec, or family:member", metavar="SPEC", group="task"
    )
    method: str = option("promptpo", "search method", choices=("promptpo",), group="task")
    published_prompt: bool = option(
        False, "tell models no more of the task than its published prompt does", group="task"
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
        "language model: PROVIDER/NAME as litellm spells it, 'manual', 'recorded' or"
        " 'recorded:RUN' (default: $PROMPTPO_MODEL, else the spec's recording)",
        group="model",
        resumable=True,
    )
    api_base: str | None = option(
        None, "address of an OpenAI-compatible server", metavar="URL", group="model", resumable=True
    )
    temperature: float | None = option(
        None, "sampling temperature (default: the provider's)", at_least=0, group="model"
    )
    max_concurrency: int | None = option(
        None,
        "model calls in flight at once (default: one per candidate)",
        at_least=1,
        group="model",
        resumable=True,
    )
    call_timeout: float = option(
        600.0,
        "seconds that one model call may take, retries included",
        at_least=1,
        group="model",
        resumable=True,
    )

    rounds: int = option(5, "rounds of candidates", at_least=1, resumable=True)
    candidates: int = option(4, "policies written per round (N in the paper)", at_least=1)
    episodes: int = option(5, "search episodes per candidate (E in the paper)", at_least=1)
    selection_episodes: int = option(
        20, "episodes that choose among the round winners; 0: trust their search scores", at_least=0
    )
    test_episodes: int = option(
        50, "held-out episodes behind the reported score; 0: report none", at_least=0
    )
    seed: int = option(0, "seed of all episode streams", at_least=0)
    policy_seed: int | None = option(
        None,
        "seed of the policies' own random numbers (default: drawn, so that no policy can know it,"
        " and recorded)",
        at_least=0,
    )
    reflection: bool = option(True, "ask for a reflection before each later round")
    max_repairs: int = option(3, "times a failing candidate is sent back for repair", at_least=0)
    history_tokens: int = option(
        24_000, "token budget of the history in the prompt; oldest sources go first", at_least=500
    )

    target: float | None = option(
        None,
        "stop once a round's best search score reaches this (success rate, else mean return;"
        " default: the spec's target, if it states one)",
        group="limits",
    )
    patience: int | None = option(
        None,
        "stop after this many rounds without a better search score",
        at_least=1,
        group="limits",
    )
    max_cost: float | None = option(
        None, "stop before model calls cost more US dollars than this", at_least=0, group="limits"
    )
    max_tokens: int | None = option(
        None, "stop once prompts and replies have used this many tokens", at_least=1, group="limits"
    )
    max_calls: int | None = option(None, "model calls, at most", at_least=1, group="limits")
    max_env_steps: int | None = option(
        None, "stop once search has used this many environment steps", at_least=1, group="limits"
    )
    max_time: float | None = option(
        None, "stop the search after this many seconds", at_least=0, group="limits"
    )

    workers: int | None = option(
        None,
        "environment processes (default: one per available core)",
        at_least=1,
        group="machine",
        resumable=True,
    )
    sandbox: str = option(
        "auto",
        "'strict' refuses to run where a protection is missing",
        choices=("auto", "strict"),
        group="machine",
        resumable=True,
    )
    act_timeout: float = option(
        5.0, "seconds of processor time that one act() may take", at_least=0.01, group="machine"
    )
    episode_timeout: float = option(
        20.0,
        "seconds of processor time that all act() calls of an episode may take together",
        at_least=0.1,
        group="machine",
    )
    policy_lifetime: str | None = option(
        None,
        "one policy object per 'episode' or per 'evaluation' (default: what the spec says)",
        choices=("episode", "evaluation"),
        group="machine",
    )

    def __post_init__(self) -> None:
        hints = get_type_hints(type(self))
        for f in dataclasses.fields(self):
            _check(f, hints[f.name], getattr(self, f.name))

    def as_dict(self) -> dict[str, Any]:
        """Plain values, as stored in ``run.json``."""
        return dataclasses.asdict(self)

    @property
    def concurrency(self) -> int:
        """Model calls in flight at once."""
        return self.max_concurrency or self.candidates

    @property
    def trackers(self) -> tuple[str, ...]:
        """The names in ``track``, each once."""
        return tuple(dict.fromkeys(_listed(self.track)))


#: Named sets of values; what is given explicitly wins over them.
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "paper": {
        "rounds": 10,
        "candidates": 10,
        "episodes": 5,
        "max_repairs": 10,
        "published_prompt": True,
    },
    "quick": {"rounds": 2, "candidates": 2, "episodes": 3, "test_episodes": 10},
}


def fields() -> dict[str, dataclasses.Field[Any]]:
    """The settings by name."""
    return {f.name: f for f in dataclasses.fields(RunConfig)}


def flag(name: str) -> str:
    """The command-line spelling of a setting: ``--max-env-steps``, ``--no-reflection``."""
    prefix = "--no-" if fields()[name].default is True else "--"
    return prefix + name.replace("_", "-")


def value_type(name: str) -> type:
    """The plain type of a setting, None aside: int, float, str or bool."""
    hint = get_type_hints(RunConfig)[name]
    kinds: list[type] = [t for t in get_args(hint) if t is not type(None)]
    return kinds[0] if kinds else hint


def load_toml(path: Path) -> dict[str, Any]:
    """Settings from a TOML file; keys may be spelled with dashes or underscores.

    Raises UsageError for a file that cannot be read and for a key that does not exist,
    naming the nearest one that does.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as e:
        raise UsageError(f"{path}: {e.strerror or e}; give --config a TOML file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as e:
        raise UsageError(f"{path}: not valid TOML: {e}") from None
    known = [*fields(), "preset"]
    settings = {}
    for key, value in table.items():
        name = key.replace("-", "_")
        if name not in known:
            near = difflib.get_close_matches(name, known, 1, 0.5)
            hint = f"did you mean '{near[0]}'?" if near else f"known keys: {', '.join(known)}"
            raise UsageError(f"{path}:{_line_of(path, key)}: unknown key '{key}'; {hint}")
        settings[name] = value
    return settings


def build(*layers: Mapping[str, Any], below: Mapping[str, Any] = MappingProxyType({})) -> RunConfig:
    """A RunConfig from layers of settings, later ones winning.

    A ``preset`` that a layer names stands below all of them, and ``below`` stands below that.
    """
    merged: dict[str, Any] = {}
    for layer in layers:
        merged.update({k: v for k, v in layer.items() if v is not None})
    preset = merged.pop("preset", None)
    if preset is not None:
        if preset not in PRESETS:
            raise UsageError(f"unknown preset '{preset}'; presets: {', '.join(PRESETS)}")
        merged = {**PRESETS[preset], **merged}
    return RunConfig(**{**below, **merged})


def _line_of(path: Path, key: str) -> int:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip().strip('"').startswith(key):
            return number
    return 1


def _check(f: dataclasses.Field[Any], hint: Any, value: Any) -> None:  # noqa: ANN401
    if value is None and type(None) in get_args(hint):
        return
    wanted = value_type(f.name)
    fits = isinstance(value, (int, float) if wanted is float else wanted)
    if not fits or (isinstance(value, bool) and wanted is not bool):
        raise UsageError(f"{f.name} must be {_words(wanted)}, not {value!r}")
    choices, least = f.metadata["choices"], f.metadata["at_least"]
    for word in _listed(value) if f.metadata["several"] else [value]:
        if choices and word not in choices:
            near = difflib.get_close_matches(word, choices, 1)
            hint_text = f"did you mean '{near[0]}'?" if near else f"one of: {', '.join(choices)}"
            raise UsageError(f"{f.name}: '{word}' is not known; {hint_text}")
    if least is not None and not value >= least:
        raise UsageError(f"{f.name} must be at least {least:g}, not {value!r}")


def _listed(text: str) -> list[str]:
    """The words of a comma-separated list."""
    return [word.strip() for word in text.split(",") if word.strip()]


def _words(kind: type) -> str:
    return {int: "a whole number", float: "a number", str: "a string", bool: "true or false"}[kind]
