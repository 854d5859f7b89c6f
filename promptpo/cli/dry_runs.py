"""``--dry-run``: what a run, or a sweep, may take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from promptpo.common import text
from promptpo.common.terminal import say
from promptpo.config import RunConfig
from promptpo.llm.messages import BUILTIN
from promptpo.llm.providers import Price, price_of
from promptpo.matrix.plan import Plan, limits_of
from promptpo.methods import Demand, find_method


def of_run(settings: RunConfig, folder: Path | None) -> int:
    """Print what one run may take: a new one, or the one that is to go on in a folder."""
    from promptpo.export.folder import spec_of_run
    from promptpo.run.phases import forecast

    if folder is not None:
        settings = replace(settings, spec=spec_of_run(folder, settings.spec)[0])
    expected = forecast(settings)
    search = expected.search or Demand()
    calls = f"{search.calls:,}; {search.max_calls:,} at most, if every candidate needs all repairs"
    tokens = (
        f"about {round(search.prompt_tokens, -3):,} in and {round(search.completion_tokens, -3):,}"
        " out, without repairs"
    )
    asked = [
        ("model", settings.model or "none is configured yet"),
        ("calls", calls if search.max_calls > search.calls else f"{search.calls:,}"),
        ("tokens", _free_words(settings) or tokens),
        ("cost", _cost_words(settings, search)),
    ]
    if expected.search is None:
        rows = [("search", "not known: the method does not forecast what it asks for")]
    else:
        rows = [
            *(asked if search.max_calls else [("model", "none is asked")]),
            ("env steps", f"{expected.steps:,} at most, if no episode ends early"),
            ("  search", f"{search.search_steps:,}"),
        ]
    rows = [
        ("task", settings.spec),
        ("method", settings.method),
        *rows,
        ("  selection", f"{expected.selection_steps:,}"),
        ("  held-out", f"{expected.test_steps:,}"),
    ]
    for label, words in rows:
        say(f"{label:11}  {words}")
    return 0


def _cost_words(settings: RunConfig, expected: Demand) -> str:
    cost = _cost(settings, expected)
    if cost is None:
        return f"unknown: {_why_unknown(settings)}"
    if _is_free(settings):
        return text.money(cost)
    limit = settings.max_cost
    stop = f"; --max-cost stops it at ${limit:g}" if limit is not None else ""
    return f"about {text.money(cost)}, without repairs{stop}"


def _cost(settings: RunConfig, expected: Demand) -> float | None:
    """US dollars; None where the price is not known."""
    if _is_free(settings) or not expected.max_calls:
        return 0.0
    price = _price(settings)
    return price.of(expected.prompt_tokens, expected.completion_tokens) if price else None


def _price(settings: RunConfig) -> Price | None:
    return price_of(settings.model or "") if settings.api_base is None else None


def _why_unknown(settings: RunConfig) -> str:
    if settings.model is None:
        return "no model is configured yet"
    if settings.model == "manual":
        return "replies come by hand"
    if settings.api_base is not None:
        return "the server of --api-base has prices of its own"
    return f"litellm has no price for {settings.model}"


def _is_free(settings: RunConfig) -> bool:
    return bool(_free_words(settings))


def _free_words(settings: RunConfig) -> str:
    """Why no model is paid; empty where one may be."""
    if settings.model == BUILTIN:
        return "none: no language model is asked"
    replays = (settings.model or "").partition(":")[0] == "recorded"
    return "none: replies are replayed" if replays else ""


def of_sweep(
    specs: Sequence[str], seeds: Sequence[int], layers: Sequence[Mapping[str, Any]]
) -> int:
    """Print what the runs of a sweep may take together, a line a spec."""
    from promptpo.cli.sweep import settings_of_runs
    from promptpo.run.phases import forecast

    runs = settings_of_runs(specs, seeds, layers, needs_model=False)
    by_spec: dict[str, list[RunConfig]] = {}
    for run in Plan.of(runs, {}).runs:
        by_spec.setdefault(run.name, []).append(runs[run])
    lines = []
    for name, several in by_spec.items():
        settings, expected = several[0], forecast(several[0])  # the seed makes no difference
        ask = expected.search or Demand()
        tokens = (0, 0) if _is_free(settings) else (ask.prompt_tokens, ask.completion_tokens)
        one: tuple[float | None, ...] = (
            1, ask.calls, *tokens, expected.steps, _cost(settings, ask),
        )  # fmt: skip
        if expected.search is None:  # the method does not say
            one = (1, None, None, None, None, None)
        lines.append((name, *(None if n is None else n * len(several) for n in one)))
    columns = list(zip(*lines, strict=True))[1:]
    total = ("together", *(None if None in column else sum(column) for column in columns))
    header = ("spec", "runs", "calls", "tokens in", "out", "env steps", "cost")
    rows = [header, *(_line(line) for line in [*lines, total])]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, *numbers in rows:
        cells = [number.rjust(w) for number, w in zip(numbers, widths[1:], strict=True)]
        say("  ".join([name.ljust(widths[0]), *cells]))
    say()
    for note in _notes([settings for several in by_spec.values() for settings in several]):
        say(note)
    return 0


def _line(values: Sequence[Any]) -> tuple[str, ...]:
    name, runs, calls, prompt, completion, steps, cost = values
    about = [n if n is None else round(n, -3) for n in (prompt, completion)]
    counts = ["unknown" if n is None else f"{n:,}" for n in (runs, calls, *about, steps)]
    return (name, *counts, "unknown" if cost is None else text.money(cost))


def _notes(runs: Sequence[RunConfig]) -> list[str]:
    """What must be known to read the table, each thing once."""
    asking = [r for r in runs if find_method(r.method).needs_model and not _is_free(r)]
    unknown = [_why_unknown(r) for r in asking if _price(r) is None]
    limits = limits_of(runs[0].as_dict())
    return [
        "Calls, tokens and cost are without repairs; steps are the most if no episode ends early.",
        *(f"The cost is unknown: {why}." for why in dict.fromkeys(unknown)),
        *([f"Limits hold for each run: {limits}."] if limits else []),
    ]
