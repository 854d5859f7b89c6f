"""What can be set: the settings of every run, and the options of the chosen method beside them.

Light to import: the command line is made of this.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from promptpo import config
from promptpo.common.values import unknown_name
from promptpo.config import RunConfig, flat
from promptpo.errors import UsageError
from promptpo.methods import (
    OWN_METHODS,
    find_method,
    fixed_settings,
    method_names,
    own_defaults,
)

#: Settings of a run that matter where its policy is played again.
PLAYING = (
    "spec",
    "published_prompt",
    "test_episodes",
    "seed",
    "policy_seed",
    "executor",
    "ray_address",
    "workers",
    "sandbox",
    "act_timeout",
    "episode_timeout",
    "env_timeout",
    "policy_lifetime",
    "evaluation_episodes",
)

#: Options that PromptPO no longer has, and the values that switched them off; None: any value did.
REMOVED: Mapping[str, Any] = {
    "without_reflection": 0,
    "critic": "off",
    "critic_shows": None,
    "critic_tokens": None,
    "pairwise": False,
}

#: Named sets of values; what is given explicitly wins over them.
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "paper": {
        "rounds": 10,
        "candidates": 10,
        "episodes": 5,
        "max_repairs": 10,
        "selection_episodes": 20,
        "published_prompt": True,
        "facts": False,
        "patience": 0,
        "early_stop": False,
        "history": "published",
        "history_tokens": 24_000,
        "probe": 0,
        "challenge": False,
        "second_line": False,
        "revise_feedback": False,
        "trace": False,
        "prepare_time": 0,
    },
    "quick": {"rounds": 2, "candidates": 2, "episodes": 3, "test_episodes": 10},
}


def fields(method: str = RunConfig.method) -> dict[str, dataclasses.Field[Any]]:
    """The settings of a run with this method, the method's own last, by name."""
    return config.fields() | config.fields(find_method(method).Options)


def kind_of(name: str, method: str) -> type:
    """The dataclass that declares a setting: RunConfig, or the options of the method."""
    return RunConfig if name in config.fields() else find_method(method).Options


def value_type(name: str, method: str = RunConfig.method) -> type:
    """The plain type of a setting, None aside: int, float, str or bool."""
    return config.value_type(kind_of(name, method), name)


def flag(name: str, method: str = RunConfig.method) -> str:
    """The command-line spelling of a setting: ``--max-env-steps``, ``--no-reflection``."""
    prefix = "--no-" if fields(method)[name].default is True else "--"
    return prefix + name.replace("_", "-")


def preset(name: object) -> Mapping[str, Any]:
    """The values of a preset. Raises UsageError, naming the nearest one, where there is none."""
    if not isinstance(name, str) or name not in PRESETS:
        raise UsageError(unknown_name("preset", name, PRESETS))
    return PRESETS[name]


def all_options() -> dict[str, type]:
    """Every setting, and every option of the methods here, with the dataclass that declares it."""
    kinds: list[type] = [RunConfig, *(find_method(name).Options for name in OWN_METHODS)]
    declared: dict[str, type] = {}
    for kind in kinds:
        declared |= {name: kind for name in config.fields(kind) if name not in declared}
    return declared


def merge(*layers: Mapping[str, Any], method: str = RunConfig.method) -> dict[str, Any]:
    """What is given in layers of settings, later ones winning; None is nothing.

    Of a layer's ``methods`` (from the tables of a TOML file) those of the chosen method count, and
    stand beside the rest; ``method`` is the one where none is named. Raises UsageError.
    """
    given = [{k: v for k, v in flat(layer).items() if v is not None} for layer in layers]
    method = next((g["method"] for g in reversed(given) if "method" in g), method)
    config.check_setting(RunConfig, "method", method)
    merged: dict[str, Any] = {}
    for each in given:
        merged.update(each.pop("methods", {}).get(method, {}))
        merged.update(each)
    return merged


def build(*layers: Mapping[str, Any], below: Mapping[str, Any] = MappingProxyType({})) -> RunConfig:
    """A RunConfig from layers of settings, merged; a method's own options stand beside them.

    A ``preset`` that a layer names stands below all of them, ``below`` stands below that, and the
    method's own defaults below ``below``; what the method does not know of these is passed over.
    To a method with defaults of its own, these are the preset ``paper``. Raises UsageError.
    """
    merged = merge(*layers, method=below.get("method", RunConfig.method))
    method = merged.setdefault("method", below.get("method", RunConfig.method))
    named = merged.pop("preset", None)
    usual, fixed = own_defaults(method), fixed_settings(method)
    values = preset(named) if named is not None else {}
    if named == "paper" and usual:  # what it says of options is of another paper
        values = {**{k: v for k, v in values.items() if k in config.fields()}, **usual}
    values = {**values, **fixed}
    known = fields(method)
    if unknown := merged.keys() - known.keys():
        raise UsageError(_not_known(min(unknown), method))
    for name, value in fixed.items():
        if merged.get(name, value) != value:
            raise UsageError(f"{name} is {value} with the method {method}; leave it out")
    lowest = {k: v for k, v in {**usual, **below, **values}.items() if k in known}
    merged = {**lowest, **merged}
    own = find_method(method).Options
    options = {name: merged.pop(name) for name in config.fields(own) if name in merged}
    for name, value in options.items():
        config.check_setting(own, name, value)
    if not find_method(method).needs_model:
        merged["model"] = None  # such as one that the environment names
    return RunConfig(**merged, options=own(**options))


def removed_from(settings: Mapping[str, Any]) -> list[str]:
    """Return the options in use in a run's settings that PromptPO no longer has."""
    used = [
        f"--{name.replace('_', '-')}"
        for name, off in REMOVED.items()
        if off is not None and settings.get(name, off) != off
    ]
    return used + ["--history optimizer"] * (settings.get("history") == "optimizer")


def without_removed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return a run's settings without those that PromptPO no longer has."""
    gone = {"history"} if settings.get("history") == "optimizer" else set()
    return {k: v for k, v in settings.items() if k not in gone and k not in REMOVED}


def owners_of(name: str) -> str:
    """The methods that have an option of this name, ``props, r2po``; empty where none has."""
    owners = []
    for method in method_names():
        with contextlib.suppress(UsageError):  # of a package that cannot be imported
            if name in config.fields(find_method(method).Options):
                owners.append(method)
    return ", ".join(owners)


def _not_known(name: str, method: str) -> str:
    if others := owners_of(name):
        return f"{name} is an option of the method {others}, not of {method}"
    return unknown_name("setting", name, fields(method))


def elsewhere(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a run, but for where it ran: its machines are not those of today."""
    where = {"executor", "ray_address"}
    if settings.get("executor") == "ray" or settings.get("ray_address"):
        where.add("workers")
    return {k: v for k, v in settings.items() if k not in where}


def played_again(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What of a run's settings holds where its policy is played again."""
    return {k: v for k, v in elsewhere(settings).items() if k in PLAYING}
