"""Suites: methods x specs x seeds at one budget, as TOML files say them.

Those that ship lie in ``suites`` beside this module. ``best_known.toml`` and ``published.toml``
hold what scores are held against, each number with its source.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from promptpo.common.plaintext import shown, unknown_name
from promptpo.comparison.scores import TENTH, Measure
from promptpo.config import RunConfig
from promptpo.errors import PromptPOError, SpecError, UsageError
from promptpo.matrix.plan import read_seeds
from promptpo.methods import check_tunes, find_method
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
_DECIDED = ("spec", "seed", "out", "executor", "ray_address", "workers", *BUDGET.values())

#: Default settings of a run: it uses up its budget.
_TO_THE_END = {"rounds": 1000, "patience": 0}

_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,60}")
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9 +._()=-]{0,60}(?<![ .])")

_SHIPPED = Path(__file__).with_name("suites")


@dataclass(frozen=True)
class Entrant:
    """A method as it takes part.

    Attributes:
        label: its name in the comparison.
        settings: settings of its runs beside the budget: ``method``, ``model``, options.
        specs: those that it runs on; None: all of the suite.
        seeds: those of its runs; None: all of the suite.
    """

    label: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    specs: tuple[str, ...] | None = None
    seeds: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Published:
    """A published number, which no run of ours stands behind.

    Attributes:
        spec: name of the spec here that is its task.
        method: as the source calls it.
        value: in the units of ``measure``.
        measure: success or return.
        source: e.g. ``arXiv 2605.08315``.
        what: kind of number, e.g. the best of 100 means of 20 episodes, mean of 10 runs.
        spread: its standard deviation over runs, where the source states one.
        note: differences of tasks or budgets; may be empty.
    """

    spec: str
    method: str
    value: float
    measure: Measure
    source: str
    what: str = ""
    spread: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Scale:
    """Scores that are 0 (random actions) and 1 (the best known) when normalized; None: unknown.

    ``source`` says where ``best`` comes from; ``random`` is the spec's own reference value.
    """

    measure: Measure
    random: float | None
    best: float | None
    source: str = ""

    def normalize(self, score: float) -> float | None:
        """Return a score on this scale, not clipped; None where an end is unknown."""
        if self.random is None or self.best is None or self.best == self.random:
            return None
        return (score - self.random) / (self.best - self.random)


@dataclass(frozen=True)
class Suite:
    """Contents of a suite's file.

    Attributes:
        name: that of its folder.
        title: one line.
        specs: their names, in the order in which they are shown.
        seeds: of the runs of each method on each spec.
        budget: limits of every run, by the names of settings (``max_env_steps`` counts the steps of
            search, ``max_calls``, ``max_tokens``, ``max_cost``).
        entrants: the methods, in the order in which they are shown.
        scales: by spec.
        published: reference rows, on these specs only.
        absent: tasks that the suite would have and that no spec here is, and why.
        refs: values of ``--spec`` for the specs.
        folder: folder of the file; recordings that it names are relative to it.
    """

    name: str
    title: str
    specs: tuple[str, ...]
    seeds: tuple[int, ...]
    budget: Mapping[str, float]
    entrants: tuple[Entrant, ...]
    scales: Mapping[str, Scale] = field(default_factory=dict)
    published: tuple[Published, ...] = ()
    absent: Mapping[str, str] = field(default_factory=dict)
    refs: Mapping[str, str] = field(default_factory=dict)
    folder: Path = Path()

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the methods."""
        return tuple(entrant.label for entrant in self.entrants)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, without those that hold on this machine only."""
        return {k: v for k, v in asdict(self).items() if k not in ("refs", "folder")}


def shipped_suites() -> dict[str, str]:
    """Return the titles of the suites that ship, by name."""
    files = sorted(_SHIPPED.glob("*.toml"))
    return {f.stem: str(read_toml(f, "")[1].get("title", "")) for f in files}


def load_suite(name: str) -> Suite:
    """Return the suite of a TOML file, or a shipped one by its name.

    Raises UsageError or SpecError, with file and line, for what does not fit.
    """
    path = Path(name)
    if not name.endswith(".toml") and not path.is_file():
        path = _SHIPPED / f"{name}.toml"
        if not path.is_file():
            unknown = unknown_name("suite", name, shipped_suites())
            raise UsageError(f"{unknown}; or give the path of a TOML file")
    return _Reader(path).suite()


class _Reader:
    """Checks and converts the tables of a suite's file; ``after`` is the line above a table."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text, self.table = read_toml(path, "give the TOML file of a suite")

    def suite(self) -> Suite:
        for key in self.table:
            if key not in _KEYS:
                raise self.wrong(key, unknown_name("key", key, _KEYS))
        specs = self.specs("specs", self.table.get("specs"))
        measure = self.table.get("measure")
        if measure not in (None, "return", "success"):
            raise self.wrong("measure", f"measure is 'return' or 'success', not {shown(measure)}")
        name = self.table.get("name", self.path.stem)
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            words = f"name becomes a folder: letters, digits, '-', '_', not {shown(name)}"
            raise self.wrong("name", words)
        tables = self.strings("published", self.table.get("published", []))
        try:
            scales = {name: scale_of(spec, measure) for name, spec in specs.items()}
            rows = published(tables, specs)
        except UsageError as e:
            raise UsageError(f"{self.path}: {e}") from None
        return Suite(
            name=name,
            title=str(self.table.get("title", "")),
            specs=tuple(specs),
            seeds=self.seeds("seeds", self.table.get("seeds", [0])),
            budget=self.budget(),
            entrants=self.entrants(specs),
            scales=scales,
            published=tuple(rows),
            absent={str(k): str(v) for k, v in self.nested("absent", {}).items()},
            refs={name: spec.ref for name, spec in specs.items()},
            folder=self.path.resolve().parent,
        )

    def nested(self, key: str, default: Any) -> Any:  # noqa: ANN401 - of the default's type
        value = self.table.get(key, default)
        if not isinstance(value, type(default)):
            how = f"write [{key}]" if default == {} else f"write [[{key}]] for each of them"
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
        limits: dict[str, float] = {}
        (after,) = self.headings("[budget]")[:1] or [0]
        for key, value in self.nested("budget", {}).items():
            if key not in BUDGET:
                raise self.wrong(key, unknown_name("budget", key, BUDGET), after)
            check_key(self.where(key, after), BUDGET[key], fields()[BUDGET[key]], value)
            limits[BUDGET[key]] = value
        if not limits:
            words = f"no budget; below [budget] give one or more of {', '.join(BUDGET)}"
            raise UsageError(f"{self.path}: {words}")
        return limits

    def specs(self, key: str, value: object, after: int = 0) -> dict[str, EnvSpec]:
        """Return specs by name, each once, in their order."""
        specs: dict[str, EnvSpec] = {}
        for word in self.strings(key, value or [], after):
            try:
                for ref in _matching(word):
                    spec = load_spec(ref)
                    specs[spec.name] = spec
            except SpecError as e:
                raise SpecError(f"{self.where(key, after)}: {e}") from None
        if not specs:
            raise self.wrong(key, f"{key} name no spec; give names, globs, or family:", after)
        return specs

    def entrants(self, specs: Mapping[str, EnvSpec]) -> tuple[Entrant, ...]:
        tables = self.nested("methods", [])
        if not tables:
            raise UsageError(f"{self.path}: no method; write [[methods]] for each")
        lines = self.headings("[[methods]]") + [0] * len(tables)
        entrants = [self.entrant(*each, specs) for each in zip(tables, lines, strict=False)]
        labels = [entrant.label for entrant in entrants]
        if twice := next((label for label in labels if labels.count(label) > 1), None):
            raise UsageError(f"{self.path}: two methods have the label '{twice}'; rename one")
        return tuple(entrants)

    def entrant(
        self, table: Mapping[str, Any], after: int, specs: Mapping[str, EnvSpec]
    ) -> Entrant:
        shared = self.nested("settings", {})
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
        (above,) = self.headings("[settings]")[:1] or [0]
        settings = {
            **self.settings(shared, method, above, of_all=True),
            **self.settings(own, method, after, of_all=False),
            "method": method,
        }
        if str(settings.get("model")).partition(":")[0] != "recorded" and "preset" not in settings:
            settings = {**_TO_THE_END, **settings}
        if "tune" not in own and not find_method(method).tunes:
            settings.pop("tune", None)  # of all methods: for those that can
        try:
            if build(settings).tune:
                check_tunes(method)
        except UsageError as e:
            raise self.wrong("label", f"{label}: {e}", after) from None
        some = None if (s := table.get("specs")) is None else self.specs("specs", s, after)
        if other := next((name for name in some or () if name not in specs), None):
            raise self.wrong("specs", f"{other} is none of the suite's specs", after)
        seeds = self.seeds("seeds", table["seeds"], after) if "seeds" in table else None
        return Entrant(label, settings, None if some is None else tuple(some), seeds)

    def settings(
        self, table: Mapping[str, Any], method: str, after: int, *, of_all: bool
    ) -> dict[str, Any]:
        """Return the settings of a table; those ``of_all`` may be for other methods than this."""
        declared, settings = fields(method), dict[str, Any]()
        for key, value in table.items():
            name, where = key.replace("-", "_"), self.where(key, after)
            if name in _DECIDED:
                words = "the suite says it for all methods: in specs, seeds or [budget]"
                raise UsageError(f"{where}: {key} is not for a method; {words}")
            if name not in declared and name != "preset":
                if not of_all or name not in all_settings():
                    raise UsageError(f"{where}: {unknown_name('setting', key, declared)}")
                continue
            check_key(where, name, declared.get(name), value)
            if not (of_all and name in find_method(method).fixed):
                settings[name] = value
        return settings

    def wrong(self, key: str, words: str, after: int = 0) -> PromptPOError:
        return UsageError(f"{self.where(key, after)}: {words}")

    def where(self, key: str, after: int = 0) -> str:
        return f"{self.path}:{line_of(self.text, key, after)}"

    def headings(self, heading: str) -> list[int]:
        lines = enumerate(self.text.split("\n"), 1)
        return [number for number, line in lines if line.replace(" ", "").startswith(heading)]


def _matching(word: str) -> Iterator[str]:
    """Yield references of the specs that a word names: a name, a path, a glob, a family."""
    family, colon, pattern = word.partition(":")
    is_glob = any(sign in (pattern if colon else word) for sign in "*?[")
    if colon and (is_glob or not pattern):
        entry = split(word)
        members: Sequence[str] = entry[0].members() if entry else ()
        yield from (f"{family}:{m}" for m in members if fnmatchcase(m, pattern or "*"))
    elif is_glob and "/" not in word:
        yield from (name for name in known_specs() if fnmatchcase(name, word))
    else:
        yield word


def scale_of(spec: EnvSpec, measure: Measure | None = None) -> Scale:
    """Return the scores of random actions and of the best known policy of a spec.

    The measure is what ranks policies, success where the task defines it, unless one is given.
    Raises UsageError for success where it does not.
    """
    references = spec.reference_scores
    random = references.get("random")
    limits = [(name, references[name]) for name in ("optimum", "expert") if name in references]
    ranks = TENTH if spec.objective == "cvar10" else "return"
    measure = measure or ("success" if spec.defines_success else ranks)
    if measure == "success" and not spec.defines_success:
        raise UsageError(f"{spec.name} defines no success; measure its return")
    if measure == "success":
        rates = [(r.success_rate, name) for name, r in limits if r.success_rate is not None]
        best, name = rates[0] if rates else (1.0, "")
        source = f"the spec's {name}" if name else "the most that is possible"
        return Scale(measure, random.success_rate if random else None, best, source)
    returns = {
        name: r.worst_tenth if measure == TENTH else r.mean_return for name, r in references.items()
    }
    lowest = returns.get("random")
    known = [(name, most) for name, _ in limits if (most := returns[name]) is not None]
    if measure == "return" and (row := _data("best_known.toml").get(spec.name)):
        return Scale(measure, lowest, float(row["best"]), str(row["source"]))
    if not known:
        return Scale(measure, lowest, None)
    name, most = known[0]
    return Scale(measure, lowest, most, f"the spec's {name}")


def published(tables: Iterable[str], specs: Iterable[str]) -> list[Published]:
    """Return the rows of some tables of ``published.toml`` on some specs, in the order of both.

    Raises UsageError, naming the nearest, for a table that does not exist.
    """
    data, names, rows = _data("published.toml"), list(specs), list[Published]()
    for name in tables:
        if name not in data:
            raise UsageError(unknown_name("published table", name, data))
        table = data[name]
        about = {key: table.get(key, "") for key in ("source", "what", "note", "measure")}
        for spec in names:
            for method, numbers in table["values"].get(spec, {}).items():
                value, *spread = map(float, numbers)
                deviation = spread[0] if spread else None
                rows.append(Published(spec, method, value, spread=deviation, **about))
    return rows


@functools.cache
def _data(name: str) -> Mapping[str, Mapping[str, Any]]:
    return tomllib.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))
