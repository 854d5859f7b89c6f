"""Whole runs of ProPS, ProPS+ and R2PO against a server that answers with parameters."""

import json
import random
import re

import pytest
from llm_server import Answer, ScriptedServer
from scripted import data_of, run_small

from promptpo.errors import UsageError
from promptpo.store.run import load_run

#: Each method with numbers of both kinds, real and whole, and each kind of space.
RUNS = [
    ("props", "cartpole"),
    ("props", "noise_world_board_0"),
    ("props+", "mountain_car_continuous"),
    ("props+", "frozen_lake"),
    ("r2po", "cartpole"),
    ("r2po", "mountain_car_continuous"),
    ("r2po", "frozen_lake"),
]
SMALL = {"model": "openai/scripted", "rounds": 2, "warm_up": 2}


def parameters(request):
    """As many as are asked for, drawn by the name of the call; the first reply has none."""
    if request.call == "r01_c01_search":
        return Answer(text="Let me think about that.")
    text = request.body["messages"][-1]["content"]
    count = int(re.search(r"holds all (\d+)", text)[1])
    generator = random.Random(request.call)
    whole = "whole number" in json.dumps(request.body)
    drawn = [generator.randrange(4) if whole else generator.gauss(0, 4) for _ in range(count)]
    return Answer(
        text=f"I try these.\n{', '.join(f'params[{i}]: {x}' for i, x in enumerate(drawn))}"
    )


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    with ScriptedServer(parameters) as running:
        yield running


@pytest.mark.slow
@pytest.mark.parametrize(("method", "spec"), RUNS)
def test_it_runs_to_its_end(tmp_path, server, method, spec):
    result, events = run_small(tmp_path, spec, method=method, api_base=server.url, **SMALL)
    assert (result.status, result.reason) == ("finished", "all rounds are done")
    assert result.test is not None
    assert len(result.rounds) == 2
    calls = [r.call for r in server.requests]
    role = "critic" if method == "r2po" else "search"
    assert calls[:2] == ["r01_c01_search", "r01_c01_search1"]
    assert calls[-1].endswith(role)
    assert len(calls) == (5 if method == "r2po" else 3)
    candidates = [c for c in data_of(events, "candidate") if c["key"]["round"]]
    assert all(c["notes"][0]["title"] == "Parameters" for c in candidates)
    assert all(c["error"] is None for c in candidates)
    told = load_run(result.folder).trials["r01_c01"].candidate
    assert told.notes[0].text.startswith("params = [")
    page = (result.folder / "report.html").read_text()
    assert told.notes[0].text in page
    assert "Warm-up" in page
    assert "class Policy" in (result.folder / "best" / "policy.py").read_text()


def test_the_builtin_synthesizer_is_no_model_for_them(tmp_path):
    with pytest.raises(UsageError, match="builtin writes policies, and --method props asks"):
        run_small(tmp_path, method="props", model="builtin")
