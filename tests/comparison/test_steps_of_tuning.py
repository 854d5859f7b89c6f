"""Steps of tuning: a stream of their own in every account, and part of what a search has taken."""

import pytest
from written_runs import written_run

from promptpo.common import text
from promptpo.comparison import Comparison
from promptpo.comparison.groups import panels
from promptpo.comparison.page import Row, runs_table
from promptpo.comparison.tables import tables
from promptpo.config import RunConfig
from promptpo.errors import LimitReached
from promptpo.report.overview import facts
from promptpo.run.limits import Ledger
from promptpo.store.codec import encode
from promptpo.store.events import Event, read_log
from promptpo.store.run import load_run
from promptpo.store.summary import Summary
from promptpo.store.trials import Usage
from promptpo.trackers.feed import Feed
from promptpo.ui.status import RunStatus


@pytest.fixture
def run(tmp_path):
    """Two rounds of 100 search steps each, 400 of tuning before them; 200 held-out ones."""
    return load_run(written_run(tmp_path, test=[60.0, 40.0], tuning=400))


def test_every_account_has_them_and_a_curve_rises_over_both(run):
    assert text.steps(run.usage.steps) == "search 200, tuning 800, test 200"
    [tile] = [fact for fact in facts(run) if fact.label == "Environment steps"]
    assert (tile.figure, tile.note) == ("1,200", "search 200, tuning 800, held-out 200")
    assert RunStatus.of(run).steps == 1200
    assert [point.steps for point in run.points] == [500, 1000]
    [panel] = panels([run])
    scores, runs = tables(panel)
    assert scores.rows[0][5].text == runs.rows[0][5].text == "1,000"
    [row] = runs_table([Row(Summary.of(run), "run")], "runs").rows
    assert "1,000" in [cell.text for cell in row]
    [record] = Comparison(panels([run])).scores
    steps = {name: record[f"{name}_steps"] for name in ("search", "tuning", "selection", "test")}
    assert steps == {"search": 200, "tuning": 800, "selection": 0, "test": 200}


def test_the_axis_of_trackers_is_steps_of_both(run):
    feed = Feed()
    usage = {"steps": {"search": 200, "tuning": 800, "selection": 0, "test": 0}}
    feed.apply(Event("usage", {**encode(Usage()), **usage}))
    [*_, last] = [d for e in read_log(run.folder / "events.jsonl").events
                  if e.type == "round" for d in feed.apply(e)]  # fmt: skip
    assert (last.step, last.values["steps/tuning"]) == (1000, 800)


def test_a_limit_of_the_search_sees_both():
    ledger = Ledger(RunConfig(max_env_steps=5000), horizon=100)
    ledger.count_steps("search", 200, new=True)
    ledger.count_steps("tuning", 4700, new=True)
    with pytest.raises(LimitReached, match="no room for 200 more"):
        ledger.check_tuning(200)
