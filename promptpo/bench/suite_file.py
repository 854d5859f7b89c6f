"""Suites as TOML files: those that ship with promptpo by name, all others by their path."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from promptpo.bench.known import published, scale_of
from promptpo.bench.suite import Entrant, Suite
from promptpo.common.values import shown, unknown_name
from promptpo.config import RunConfig
from promptpo.errors import PromptPOError, SpecError, UsageError
from promptpo.methods import check_tunes, find_method, fixed_settings, tunes
from promptpo.run.settings import (
    all_settings,
    build,
    check_key,
    fields,
    line_of,
    read_toml,
)
from promptpo.spec import EnvSpec, known_specs, load_spec
from promptpo.spec.catalog import split
from promptpo.sweep.plan import read_seeds

#: The settings that the keys of [budget] are.
BUDGET = {
    "steps": "max_env_steps",
    "calls": "max_calls",
    "tokens": "max_tokens",
    "cost": "max_cost",
}

_KEYS = ("name", "title", "specs", "seeds", "budget", "settings", "methods", "measure",
         "published", "absent")  # fmt: skip

#: Settings that the suite decides, or that belong to its folder.
_TAKEN = ("spec", "seed", "out", "executor", "ray_address", "workers", *BUDGET.values())

#: What a run is to do with its budget where nothing else is said: use it up.
_TO_THE_END = {"rounds": 1000, "patience": 0}

_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9 +._()=-]{0,60}(?<![ .])")

_SHIPPED = Path(__file__).with_name("suites")


@dataclass(frozen=True)
class SuiteFile:
    """A suite, and what its runs need to find: ``refs`` are specs as ``--spec`` takes them.

    Recordings that the suite names lie relative to ``folder``.
    """

    suite: Suite
    refs: Mapping[str, str]
    folder: Path


def shipped_suites() -> dict[str, str]:
    """The titles of the suites that ship, by name."""
    files = sorted(_SHIPPED.glob("*.toml"))
    return {f.stem: str(read_toml(f, "")[1].get("title", "")) for f in files}


def load_suite(name: str) -> SuiteFile:
    """The suite of a TOML file, or a shipped one by its name.

    Raises UsageError or SpecError, with file and line, for what does not fit.
    """
    path = Path(name)
    if not name.endswith(".toml") and not path.is_file():
        path = _SHIPPED / f"{name}.toml"
        if not path.is_file():
            known = unknown_name("suite", name, shipped_suites())
            raise UsageError(f"{known}; or give the path of a TOML file")
    return _Reader(path).read()


class _Reader:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.text, self.table = read_toml(path, "give the TOML file of a suite")

    def read(self) -> SuiteFile:
        for key in self.table:
            if key not in _KEYS:
                raise self.wrong(key, unknown_name("key", key, _KEYS))
        specs = self.specs("specs", self.table.get("specs"))
        names = tuple(specs)
        measure = self.table.get("measure")
        if measure not in (None, "return", "success"):
            raise self.wrong("measure", f"measure is 'return' or 'success', not {shown(measure)}")
        tables = self.strings("published", self.table.get("published", []))
        try:
            scales = {name: scale_of(spec, measure) for name, spec in specs.items()}
            rows = tuple(published(tables, names))
        except UsageError as e:
            raise UsageError(f"{self.path}: {e}") from None
        suite = Suite(
            name=self.name(),
            title=str(self.table.get("title", "")),
            specs=names,
            seeds=self.seeds("seeds", self.table.get("seeds", [0])),
            budget=self.budget(),
            entrants=self.entrants(specs),
            scales=scales,
            published=rows,
            absent={str(k): str(v) for k, v in self.of_kind("absent", dict, {}).items()},
        )
        refs = {name: spec.ref for name, spec in specs.items()}
        return SuiteFile(suite, refs, self.path.resolve().parent)

    def name(self) -> str:
        name = self.table.get("name", self.path.stem)
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][\w.-]{0,60}", name):
            words = f"name becomes a folder: letters, digits, '-', '_', not {shown(name)}"
            raise self.wrong("name", words)
        return name

    def of_kind(self, key: str, kind: type, default: Any) -> Any:  # noqa: ANN401 - of that kind
        value = self.table.get(key, default)
        if not isinstance(value, kind):
            how = f"write [{key}]" if kind is dict else f"write [[{key}]] for each of them"
            raise self.wrong(key, f"{key} is no plain value: {how}")
        return value

    def strings(self, key: str, value: object, after: int = 0) -> list[str]:
        words = [value] if isinstance(value, str) else value
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise self.wrong(key, f"{key} is a list of names, not {shown(value)}", after)
        return words

    def seeds(self, key: str, value: object, after: int = 0) -> tuple[int, ...]:
        words = value if isinstance(value, str) else ""
        if isinstance(value, list):
            words = ",".join(str(seed) for seed in value)
        try:
            return read_seeds(words)
        except UsageError:
            what = f'{key} are a list, [0, 1, 2], or "0..2", not {shown(value)}'
            raise self.wrong(key, what, after) from None

    def budget(self) -> dict[str, float]:
        found: dict[str, float] = {}
        after = self.heading("[budget]")
        for key, value in self.of_kind("budget", dict, {}).items():
            if key not in BUDGET:
                raise self.wrong(key, unknown_name("budget", key, BUDGET), after)
            check_key(self.where(key, after), BUDGET[key], fields()[BUDGET[key]], value)
            found[BUDGET[key]] = value
        if not found:
            words = f"no budget; below [budget] give one or more of {', '.join(BUDGET)}"
            raise UsageError(f"{self.path}: {words}")
        return found

    def specs(self, key: str, value: object, after: int = 0) -> dict[str, EnvSpec]:
        """Specs by name, in their order; each as often as it is meant once."""
        found: dict[str, EnvSpec] = {}
        for word in self.strings(key, value or [], after):
            try:
                for ref in _matching(word):
                    spec = load_spec(ref)
                    found[spec.name] = spec
            except SpecError as e:
                raise SpecError(f"{self.where(key, after)}: {e}") from None
        if not found:
            raise self.wrong(key, f"{key} name no spec; give names, globs, or family:", after)
        return found

    def entrants(self, specs: Mapping[str, EnvSpec]) -> tuple[Entrant, ...]:
        tables = self.of_kind("methods", list, [])
        if not tables:
            raise UsageError(f"{self.path}: no method; write [[methods]] for each")
        shared = self.of_kind("settings", dict, {})
        lines = self.headings("[[methods]]")
        found = [
            self.entrant(table, after, shared, specs)
            for table, after in zip(tables, [*lines, *[0] * len(tables)], strict=False)
        ]
        labels = [entrant.label for entrant in found]
        if twice := next((label for label in labels if labels.count(label) > 1), None):
            raise UsageError(f"{self.path}: two methods have the label '{twice}'; rename one")
        return tuple(found)

    def entrant(
        self,
        table: Mapping[str, Any],
        after: int,
        shared: Mapping[str, Any],
        specs: Mapping[str, EnvSpec],
    ) -> Entrant:
        method = table.get("method", shared.get("method", RunConfig.method))
        try:
            find_method(str(method))
        except UsageError as e:
            raise self.wrong("method", str(e), after) from None
        label = table.get("label", method)
        if not isinstance(label, str) or not _LABEL.fullmatch(label):
            words = f"a label is a folder, too: letters, digits and spaces, not {shown(label)}"
            raise self.wrong("label", words, after)
        own = {k: v for k, v in table.items() if k not in ("label", "specs", "seeds")}
        given = {
            **self.settings(shared, method, self.heading("[settings]"), all_known=False),
            **self.settings(own, method, after, all_known=True),
            "method": method,
        }
        some = table.get("specs")
        named = None if some is None else tuple(self.specs("specs", some, after))
        for name in named or ():
            if name not in specs:
                raise self.wrong("specs", f"{name} is none of the suite's specs", after)
        seeds = None if "seeds" not in table else self.seeds("seeds", table["seeds"], after)
        settings = {**_unless_replayed(given), **given}
        if "tune" not in own and not tunes(method):
            settings.pop("tune", None)  # of all methods: meant for those that can
        try:
            if build(settings).tune:
                check_tunes(method)
        except UsageError as e:
            raise self.wrong("label", f"{label}: {e}", after) from None
        return Entrant(label, settings, named, seeds)

    def settings(
        self, table: Mapping[str, Any], method: str, after: int, *, all_known: bool
    ) -> dict[str, Any]:
        """Settings of a table; unless ``all_known``, what is not for this method is passed over."""
        known, found = fields(method), dict[str, Any]()
        decided = () if all_known else fixed_settings(method)
        for key, value in table.items():
            name, where = key.replace("-", "_"), self.where(key, after)
            if name in _TAKEN:
                words = "the suite says it for all methods: in specs, seeds or [budget]"
                raise UsageError(f"{where}: {key} is not for a method; {words}")
            if name not in known and name != "preset":
                if all_known or name not in all_settings():
                    raise UsageError(f"{where}: {unknown_name('setting', key, known)}")
                continue
            check_key(where, name, known.get(name), value)
            if name not in decided:
                found[name] = value
        return found

    def wrong(self, key: str, words: str, after: int = 0) -> PromptPOError:
        return UsageError(f"{self.where(key, after)}: {words}")

    def where(self, key: str, after: int = 0) -> str:
        return f"{self.path}:{line_of(self.text, key, after)}"

    def headings(self, heading: str) -> list[int]:
        lines = enumerate(self.text.split("\n"), 1)
        return [number for number, line in lines if line.replace(" ", "").startswith(heading)]

    def heading(self, heading: str) -> int:
        return next(iter(self.headings(heading)), 0)


def _unless_replayed(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a run is given so that its budget ends it; a recording ends where it has no more."""
    replays = str(settings.get("model", "")).partition(":")[0] == "recorded"
    return {} if replays or "preset" in settings else _TO_THE_END


def _matching(word: str) -> Iterator[str]:
    """References of the specs that a word names: a name, a path, a glob, a family."""
    family, colon, pattern = word.partition(":")
    if word.endswith(":") or (colon and _is_glob(pattern)):
        found = split(word)
        members: Sequence[str] = found[0].members() if found else ()
        yield from (f"{family}:{m}" for m in members if fnmatchcase(m, pattern or "*"))
    elif _is_glob(word) and "/" not in word:
        yield from (name for name in known_specs() if fnmatchcase(name, word))
    else:
        yield word


def _is_glob(word: str) -> bool:
    return any(sign in word for sign in "*?[")
