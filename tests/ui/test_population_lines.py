"""What the views tell of a run whose policies are written under instructions."""

import io
import json
from dataclasses import replace
from typing import Any

import pytest
from run_events import START, candidate, digest, rollout, round_end, run, usage

from promptpo.store.codec import encode
from promptpo.store.events import Event
from promptpo.store.shapes import check_event
from promptpo.types import Draw, Instruction, Population
from promptpo.ui import summary
from promptpo.ui.plain import PlainView
from promptpo.ui.progress import Progress
from promptpo.ui.status import JsonView

FIRST = Population(
    1, (Instruction("i01", "Plan.", weight=0.3, written=1), Instruction("i02", "Wait.")),
    (Draw("r01_c01", "i01", 0.5, 1.0),),
)  # fmt: skip
SECOND = Population(
    2,
    (
        replace(FIRST.instructions[0], state="pruned"),
        FIRST.instructions[1],
        Instruction("i03", "Swing.", since=2),
        Instruction("i04", "Fall.", "rejected", since=2),
    ),
    (Draw("r02_c01", "i03", None, 0.0),),
    ("i03",),
)


def told(population: Population) -> Event:
    return Event("population", encode(population), START + population.round)


def status(*events: Event) -> list[dict[str, Any]]:
    stream = io.StringIO()
    with JsonView(stream) as view:
        for event in (run("runs/x"), *events):
            view(event)
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_an_event_of_a_population_has_its_shape() -> None:
    data = {"type": "population", "time": 1.0, **encode(SECOND)}
    check_event(data)
    with pytest.raises(ValueError, match=r"`text` - at `\$.instructions\[0\]`"):
        check_event({**data, "instructions": [{"name": "i01"}]})


def test_json_tells_of_each_round_once_it_has_ended() -> None:
    assert status()[-1]["population"] is None
    first, second = status(told(FIRST), told(SECOND))[-2:]
    assert first["population"] == {
        "round": 1,
        "weights": {"i01": 0.3, "i02": 0.0},
        "draws": [{"candidate": "r01_c01", "instruction": "i01", "chance": 0.5, "score": 1.0}],
        "new": {"i01": "Plan.", "i02": "Wait."},
        "admitted": [],
        "rejected": [],
        "pruned": [],
        "failed": "",
    }
    of = second["population"]
    assert (of["weights"], of["new"]) == (
        {"i02": 0.0, "i03": 0.0}, {"i03": "Swing.", "i04": "Fall."},
    )  # fmt: skip
    assert (of["admitted"], of["rejected"], of["pruned"]) == (["i03"], ["i04"], ["i01"])


def test_the_closing_lines_count_instructions() -> None:
    progress = Progress()
    for event in (run("runs/x"), usage(1), told(FIRST), told(SECOND)):
        progress.apply(event)
    words = dict(summary.closing(progress))["population"]
    assert words == "2 active instructions, 1 admitted, 1 rejected, 1 pruned"


def test_a_policy_that_was_played_after_a_first_reply_without_one_has_one_line() -> None:
    stream = io.StringIO()
    failed = replace(candidate(1, 1, 3, "no code found"))
    failed = replace(failed, data={**failed.data, "rollout": None})
    later = candidate(1, 1, 5, of=digest(1, 1))
    with PlainView(stream) as view:
        for event in (run("runs/x"), failed, rollout(1, 1, [500.0], 4), later,
                      round_end(1, "r01_c01", "r01_c01", 6)):  # fmt: skip
            view(event)
    lines = [line for line in stream.getvalue().splitlines() if "r01_c01  " in line]
    assert len(lines) == 2
    assert "failed: no code found" in lines[0]
    assert "return       500" in lines[1]
