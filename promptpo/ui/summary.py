"""The last lines of a run: the policy's file, its score, what it cost, why the run ended."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from promptpo.ui import text
from promptpo.ui.progress import Progress

#: One row: a label and what stands beside it.
Row = tuple[str, str]


def opening(progress: Progress) -> list[Row]:
    """What the run is about to do."""
    spec, config = progress.run.get("spec", {}), progress.config
    search = (
        f"{text.plural(config['rounds'], 'round')} of"
        f" {text.plural(config['candidates'], 'candidate')},"
        f" {text.plural(config['episodes'], 'episode')} each; seed {config['seed']}"
    )
    held_out = config["test_episodes"]
    rows = [
        ("task", f"{spec.get('name', '')}: {spec.get('title', '')}".rstrip(": ")),
        ("model", model_words(progress)),
        ("search", search),
        ("score", f"{text.plural(held_out, 'held-out episode')}" if held_out else "search only"),
        ("sandbox", isolation_words(progress.run.get("isolation"))),
        ("folder", text.near_path(progress.run.get("folder", ""))),
    ]
    return [row for row in rows if row[1]]


def closing(progress: Progress) -> list[Row]:
    """What came out of the run, whether or not it got to its end."""
    references = progress.run.get("spec", {}).get("references") or {}
    rows = [*_result(progress), *reference_rows(references), *_price(progress)]
    page = Path(str(progress.run.get("folder", ""))) / "report.html"
    if page.is_file():
        rows.append(("report", text.near_path(page)))
    finished = progress.finished or {}
    if finished.get("reason"):
        rows.append(("ended", str(finished["reason"])))
    if finished.get("status") != "finished" and progress.run:
        command = f"{text.program()} --resume {text.near_path(progress.run['folder'])}"
        stopped = finished.get("status") == "stopped"
        rows.append(("resume", f"{command}  (with a higher limit)" if stopped else command))
    return rows


def model_words(progress: Progress) -> str:
    """The model's name; a replay is called a replay."""
    name = str(progress.run.get("model") or progress.config.get("model") or "")
    if not is_replay(progress):
        return name
    return f"{name} (replays the replies of an earlier run; no model is called)"


def is_replay(progress: Progress) -> bool:
    """Whether replies come from a recording."""
    name = str(progress.config.get("model") or progress.run.get("model") or "")
    return name == "recorded" or name.startswith("recorded:")


def isolation_words(isolation: Mapping[str, Any] | None) -> str:
    """The level in force and what this machine lacks."""
    if not isolation:
        return ""
    missing = [k for k, v in isolation.get("protections", {}).items() if v != "on"]
    level = str(isolation.get("level", ""))
    return f"{level} isolation" + (f", without {', '.join(missing)}" if missing else "")


def cost_words(progress: Progress) -> str:
    """``12 calls, 34,120 + 8,200 tokens, $0.12``."""
    usage = progress.usage
    calls = usage.get("calls", 0)
    if is_replay(progress):
        return f"{calls:,} replies replayed, no tokens, {text.money(0.0)}"
    sent, received = usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)
    counted = sent is not None and received is not None
    tokens = f"{sent:,} + {received:,} tokens" if counted else "tokens unknown"
    return f"{text.plural(calls, 'call')}, {tokens}, {text.money(usage.get('cost', 0.0))}"


def steps_words(progress: Progress) -> str:
    """Environment steps by stream, those of size 0 left out."""
    steps = progress.usage.get("steps", {})
    parts = [f"{name} {count:,}" for name, count in steps.items() if count]
    return ", ".join(parts) or "none"


def _result(progress: Progress) -> list[Row]:
    best, test = progress.best, progress.test
    if best is None:
        return [("best policy", "none: no candidate has got through its episodes")]
    file = Path(str(progress.run.get("folder", ""))) / "best" / "policy.py"
    shown = text.near_path(file) if file.is_file() else "not written yet"
    rows = [("best policy", f"{shown}  ({progress.chosen})")]
    if test is None:
        rows.append(("search", f"{text.score(best['score'])}  (no held-out episodes played)"))
    else:
        rows += _held_out(test)
    proof = progress.proofs.get(progress.chosen)
    return [*rows, *proof_rows(proof)] if proof else rows


def _held_out(test: Mapping[str, Any]) -> list[Row]:
    if test.get("error"):
        return [("held-out", f"failed: {text.gist(test['error'])}")]
    words = [text.success_words(test.get("successes", ())), text.return_words(test["returns"])]
    return [("held-out" if i == 0 else "", w) for i, w in enumerate(filter(None, words))]


def proof_rows(proof: Mapping[str, Any]) -> list[Row]:
    """What playing episodes alone has shown, and what that means for the score."""
    if not proof["differing"]:
        return [("proof", text.proof(proof))]
    return [
        ("marked", f"{proof['verdict']}: {text.proof(proof)}"),
        ("", text.scored_alone(proof)),
    ]


def reference_rows(references: Mapping[str, Any]) -> list[Row]:
    """The spec's reference values, on the scales of the held-out score."""
    rates = {k: v["success_rate"] for k, v in references.items() if v["success_rate"] is not None}
    scales = [
        ("success", [f"{name} {rate:.2f}" for name, rate in rates.items()]),
        ("return", [f"{k} {text.number(v['mean_return'])}" for k, v in references.items()]),
    ]
    rows = [f"{scale}: {', '.join(parts)}" for scale, parts in scales if parts]
    return [("compare" if i == 0 else "", row) for i, row in enumerate(rows)]


def _price(progress: Progress) -> list[Row]:
    if not progress.usage:
        return []
    return [("cost", cost_words(progress)), ("env steps", steps_words(progress))]
