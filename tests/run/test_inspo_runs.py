"""Runs of INSPO against a server that answers in its format, and what is shown of them."""

import json
import re

import pytest
from llm_server import Answer, ScriptedServer
from scripted import BAD, FEEDBACK, GOOD, data_of, fenced, policy, run_small

from promptpo.report.page import render_report
from promptpo.store.run import load_run
from promptpo.ui.status import RunStatus

WAY = "Look at how fast it turns, whatever came of the others in {}."

#: A policy that does badly and one that does better, for each spec.
SPECS = {
    "cartpole": (BAD, GOOD),
    "noise_world_board_1": (policy("return 0"), policy("return 1")),
    "mountain_car_continuous": (
        policy("return [0.0]"),
        policy("return [1.0 if obs.velocity > 0 else -1.0]"),
    ),
}


def script_of(spec):
    """A server's answers: what is written under a new instruction is the better policy."""
    bad, good = SPECS[spec]

    def answer(request):
        last = request.body["messages"][-1]["content"]
        if request.call == "r02_reflection":
            return Answer("I know of none.")
        if "reflection" in request.call:
            text = WAY.format(request.call)
            return Answer(f"They stand still.\n\n```instruction\n{text}\n```")
        if "feedback" in request.call:
            return Answer(fenced(FEEDBACK.replace("last.pole_angle", "1.0")))
        if request.call == "r01_c02_policy":
            return Answer("I would rather not.")
        return Answer(fenced(good if "Look at how fast it turns, whatever" in last else bad))

    return answer


@pytest.fixture
def started(tmp_path, monkeypatch):
    """Starts a small run of a spec; its result, its events, and the calls that were made."""
    monkeypatch.setenv("OPENAI_API_KEY", "test")

    def start(spec="cartpole", **settings):
        small = {"rounds": 2, "candidates": 3, "max_repairs": 1, "probe": 0, "policy_seed": 1}
        with ScriptedServer(script_of(spec)) as server:
            result, events = run_small(
                tmp_path, spec, method="inspo", model="openai/scripted", api_base=server.url,
                target=10**6, **{**small, "selection_episodes": 0, "test_episodes": 1, **settings},
            )  # fmt: skip
        return result, events, [request.call for request in server.requests]

    return start


@pytest.mark.slow
@pytest.mark.parametrize("spec", list(SPECS))
def test_a_new_instruction_is_asked_for_tried_and_admitted(spec, started):
    result, events, asked = started(spec)
    assert (result.status, result.reason) == ("finished", "all rounds are done")
    assert asked[0] == "r00_feedback"
    assert sorted(asked[1:5]) == [
        "r01_c01_policy", "r01_c02_policy", "r01_c02_repair1", "r01_c03_policy",
    ]  # fmt: skip
    assert asked[5:7] == ["r02_reflection", "r02_reflection1"]
    tried = result.rounds[1].candidates[2]
    assert "Look at" in (result.folder / "prompts" / "r02_c03_policy.prompt.md").read_text()
    assert tried.error is None
    assert tried.source.strip() == SPECS[spec][1].strip()
    tables = data_of(events, "table")
    assert [(t["round"], t["title"]) for t in tables] == [
        (number, title)
        for number in (1, 2)
        for title in ("Instructions", "Weights of instructions", "Policies by instruction")
    ]
    assert [len(t["rows"]) for t in tables] == [5, 1, 3, 6, 1, 3]
    assert tables[4]["rows"][0][-1] == "i06 admitted"
    assert list(tables[5]["rows"][-1][:3]) == ["r02_c03", "i06", None]


@pytest.mark.slow
def test_it_is_shown_on_the_page_and_in_json(started):
    result, _, _ = started(rounds=3)
    record = load_run(result.folder)

    page = (result.folder / "report.html").read_text()
    section = page[page.index('id="method"') :].partition("</section>")[0]
    assert WAY.format("r02_reflection1") in section
    assert "i06 admitted" in section
    assert 'href="#r01_c01"' in section
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(re.findall(r' id="([^"]+)"', page))

    table = json.loads(json.dumps(RunStatus.of(record).tables))["Policies by instruction"]
    assert table["round"] == 3
    assert [row[0] for row in table["rows"]] == ["r03_c01", "r03_c02", "r03_c03"]


@pytest.mark.slow
def test_a_page_of_a_run_without_instructions_says_nothing_of_them(tmp_path):
    result, _ = run_small(tmp_path, method="random-search", rounds=1, candidates=1)
    record = load_run(result.folder)
    assert RunStatus.of(record).tables == {}
    assert 'id="method"' not in render_report(record)
