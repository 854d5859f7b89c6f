"""promptpo in a notebook: progress below the cell, results as tables, the stop button."""

import os
from pathlib import Path

import pytest
from notebook_kernel import kernel
from run_events import run

import promptpo
from promptpo.ui import in_notebook, progress_shown

pytestmark = pytest.mark.slow

ROOT = Path(promptpo.__file__).parents[1]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "PROMPTPO_MODEL": ""}
RUN = (
    "promptpo.optimize('cartpole', rounds=1, candidates=1, episodes=1, selection_episodes=1,"
    " test_episodes=2, workers=1, model={model!r})"
)
QUIET = f"{RUN.format(model='recorded')[:-1]}, progress=False)"


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    with kernel(tmp_path_factory.mktemp("notebook"), ENVIRONMENT) as started:
        started.run("import promptpo")
        yield started


def test_progress_is_one_output_that_is_redrawn(cells):
    cells.run(f"{RUN.format(model='recorded')};")
    (first,) = cells.of_type("display_data")
    updates = cells.of_type("update_display_data")
    assert updates
    assert {u["transient"]["display_id"] for u in updates} == {first["transient"]["display_id"]}
    last = updates[-1]["data"]
    assert "best policy  runs/cartpole/" in last["text/plain"]
    assert "round 1 of 1: r01_c01 wins" in last["text/html"]
    assert last["text/html"].startswith("<pre")
    assert "\x1b" not in last["text/plain"]


def test_progress_can_be_switched_off(cells):
    cells.run(f"{QUIET};")
    assert cells.of_type("display_data") == []


def test_results_are_tables(cells):
    assert cells.run(f"promptpo.compare({QUIET})") == "<Comparison of 1 run in 1 group: cartpole>"
    (shown,) = cells.of_type("execute_result")
    assert "<table>" in shown["data"]["text/html"]


def test_the_stop_button_ends_a_run_cleanly(cells):
    def press(message):
        shown = message["content"].get("data", {}).get("text/plain", "")
        if "now          waiting for" in shown:
            cells.manager.interrupt_kernel()

    code = f"r = {RUN.format(model='manual')}; print(r.status)"
    assert cells.run(code, meanwhile=press).endswith("interrupted\n")


def test_outside_a_notebook_nothing_is_shown_unless_asked_for(capsys):
    assert not in_notebook()
    with progress_shown(None) as view:
        assert view is None
    with progress_shown(True) as view:
        view(run("runs/x"))
    assert "no candidate has got through" in capsys.readouterr().out
