"""The last lines of a run: the policy's file, its score, what it cost, why the run ended."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from promptpo.common import text
from promptpo.common.lives import life_of, whole
from promptpo.config import AUTO
from promptpo.store.codec import score_data
from promptpo.store.run import USUAL_METHOD, Run
from promptpo.ui.progress import Progress

#: One row: a label and what stands beside it.
Row = tuple[str, str]


def opening(progress: Progress) -> list[Row]:
    """What the run is about to do."""
    record, config = progress.record, progress.record.settings
    races = config["episodes"] == AUTO
    episodes = "5 episodes or more" if races else text.plural(config["episodes"], "episode")
    search = (
        f"{text.plural(config['rounds'], 'round')} of"
        f" {text.plural(config['candidates'], 'candidate')},"
        f" {episodes} each; seed {config['seed']}"
    )
    held_out = whole(config["test_episodes"], life_of(config))
    rows = [
        ("task", f"{record.spec}: {record.title}".rstrip(": ")),
        ("method", record.method if record.method != USUAL_METHOD else ""),
        ("policy", text.near_path(record.given) if record.given else ""),
        ("model", "" if record.given else model_words(record)),
        ("facts", "withheld" if record.facts_withheld else ""),
        ("search", "" if record.given else search),
        ("tuning", _tuning(config)),
        ("score", f"{text.plural(held_out, 'held-out episode')}" if held_out else "search only"),
        ("sandbox", isolation_words(record.header.get("isolation"))),
        ("folder", text.near_path(record.header.get("folder", ""))),
    ]
    return [row for row in rows if row[1]]


def _tuning(config: Mapping[str, Any]) -> str:
    """What is tuned, and in how many steps; empty where nothing is."""
    if not config.get("tune"):
        return ""
    kinds = {"declared": "declared constants", "auto": "all constants that are found"}
    which = kinds.get(config["constants"], "declared constants, else all")
    return f"{config['tune_steps']:,} environment steps; {which}; seed {config['seed']}"


def closing(progress: Progress) -> list[Row]:
    """What came out of the run, whether or not it got to its end."""
    record = progress.record
    references = record.header.get("spec", {}).get("references") or {}
    rows = [*_result(record), *reference_rows(references), *_price(record)]
    page = _folder(record) / "report.html"
    if page.is_file():
        rows.append(("report", text.near_path(page)))
    finished = record.finished or {}
    if finished.get("reason"):
        rows.append(("ended", str(finished["reason"])))
    if finished.get("status") != "finished" and record.header:
        command = f"{text.program()} --resume {text.near_path(record.header['folder'])}"
        stopped = finished.get("status") == "stopped"
        rows.append(("resume", f"{command}  (with a higher limit)" if stopped else command))
    return rows


def _folder(record: Run) -> Path:
    return Path(str(record.header.get("folder", "")))


def model_words(record: Run) -> str:
    """The model's name; what is no model is called what it is."""
    if record.synthesized:
        return f"{record.model} (a synthesizer of standard structures; no language model)"
    if not record.replayed:
        return record.model
    return f"{record.model} (replays the replies of an earlier run; no model is called)"


def isolation_words(isolation: Mapping[str, Any] | None) -> str:
    """The level in force and what this machine lacks."""
    if not isolation:
        return ""
    missing = [k for k, v in isolation.get("protections", {}).items() if v != "on"]
    level = str(isolation.get("level", ""))
    return f"{level} isolation" + (f", without {', '.join(missing)}" if missing else "")


def cost_words(record: Run) -> str:
    """``12 calls, 34,120 (20,000 cached) + 8,200 tokens, $0.12``."""
    usage = record.usage
    if record.replayed:
        return f"{usage.calls:,} replies replayed, no tokens, {text.money(0.0)}"
    if record.synthesized:
        return f"{usage.calls:,} replies by the synthesizer, no tokens, {text.money(0.0)}"
    sent, received = usage.prompt_tokens, usage.completion_tokens
    counted = sent is not None and received is not None
    cached = f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
    tokens = f"{sent:,}{cached} + {received:,} tokens" if counted else "tokens unknown"
    return f"{text.plural(usage.calls, 'call')}, {tokens}, {text.money(usage.cost)}"


def _result(record: Run) -> list[Row]:
    best, score, test = record.best_name, record.best_score, record.test
    if best is None or score is None:
        return [("best policy", "none: no candidate has got through its episodes")]
    file = _folder(record) / "best" / "policy.py"
    shown = text.near_path(file) if file.is_file() else "not written yet"
    rows = [("best policy", f"{shown}  ({best})")]
    if test is None:
        words = text.score(score_data(score))
        rows.append(("search", f"{words}  (no held-out episodes played)"))
    else:
        rows += text.held_out_rows(test)
    return rows


def reference_rows(references: Mapping[str, Any]) -> list[Row]:
    """The spec's reference values, on the scales of the held-out score."""
    rates = {k: v["success_rate"] for k, v in references.items() if v["success_rate"] is not None}
    scales = [
        ("success", [f"{name} {rate:.2f}" for name, rate in rates.items()]),
        ("return", [f"{k} {text.number(v['mean_return'])}" for k, v in references.items()]),
    ]
    rows = [f"{scale}: {', '.join(parts)}" for scale, parts in scales if parts]
    return [("compare" if i == 0 else "", row) for i, row in enumerate(rows)]


def _price(record: Run) -> list[Row]:
    if record.reported_usage is None:  # it ended before it could spend anything
        return []
    asked = record.asks_model and not record.given
    cost = [("cost", cost_words(record))] if asked else []
    return [
        *cost,
        ("env steps", text.steps(record.usage.steps)),
        *_preparing(record),
        *_tables(record),
    ]


def _preparing(record: Run) -> list[Row]:
    """What all that policies computed before they acted took."""
    if not record.preparations:
        return []
    names = {key.name for key in record.prepared_by.values()}
    took = sum(done.seconds for done in record.preparations.values())
    return [("prepare", f"{text.plural(len(names), 'candidate')}, {took:.3g} s of computing")]


def _tables(record: Run) -> list[Row]:
    """Return a row for each table of the method's own that has a summary."""
    latest = [by_round[max(by_round)] for by_round in record.tables.values()]
    return [(table.title.lower(), table.text) for table in latest if table.text]
