"""What a report shows of tuning: curves, before and after, constants, failures, what goes on."""

import json
import re
from dataclasses import replace

import pytest
from report_runs import HOSTILE

from promptpo.common.blocks import Prose
from promptpo.report.chart import chart
from promptpo.report.figures import tuning_figures, tuning_lines
from promptpo.report.page import render_report
from promptpo.report.tuning import constants_table, tuning_section
from promptpo.store.codec import encode
from promptpo.store.run import load_run
from promptpo.tuning import ConstantFound, Standpoint, TuningAccount

GAIN = ConstantFound("self.gain", 9, 0.01, 100.0, 1.0, 10.0, log=True, declared=True, matters=0.4)
LIMIT = ConstantFound("LIMIT", 3, -1.0, 1.0, 0.0, 1.0, matters=0.1, at="high")
NAMED = ConstantFound(HOSTILE, 4, 0.0, 5.0, 2.0, 2.0)


def standpoint(steps, mean, error=5.0, rate=None, episodes=10):
    return Standpoint(steps, mean, error, rate, episodes)


KEPT = TuningAccount(
    kept=True,
    constants=(NAMED, LIMIT, GAIN),
    history=(standpoint(100, 20.0), standpoint(5_000, 80.0), standpoint(9_000, 100.0)),
    steps=10_000, samples=120, restarts=1, final=20, before=standpoint(10_000, 20.0),
    after=standpoint(10_000, 95.5), difference=75.5, difference_error=2.25,
    failures=((f"ValueError: {HOSTILE}", 12), ("it took too long", 1)),
)  # fmt: skip
LEFT = TuningAccount(
    kept=False, constants=(GAIN,), history=(standpoint(100, 20.0), standpoint(4_000, 21.0)),
    steps=4_000, samples=60,
)  # fmt: skip


def written(folder, *events):
    """A log with more events, put before those of the end of round 1."""
    log = folder / "events.jsonl"
    found = log.read_text().splitlines(keepends=True)
    at = next(i for i, line in enumerate(found) if '"type": "round"' in line)
    time = json.loads(found[at - 1])["time"]
    more = [json.dumps({"type": kind, "time": time, **data}) + "\n" for kind, data in events]
    log.write_text("".join([*found[:at], *more, *found[at:]]))
    return load_run(folder)


def key(candidate):
    return {"round": 1, "candidate": candidate, "attempt": 0, "role": ""}


def tuned(candidate, account):
    return "tuned", {"key": key(candidate), "budget": 10_000, **encode(account)}


def played(candidate, steps, error=None):
    one = {"returns": [1.0], "lengths": [steps], "successes": [None], "steps": steps,
           "error": error, "bound": None, "pace": None}  # fmt: skip
    return "tuning", {"key": key(candidate), "digest": f"{candidate} {steps}", "seeds": [1],
                      "runs": [one, one]}  # fmt: skip


@pytest.fixture
def run(copied):
    return written(copied, tuned(1, KEPT), tuned(2, LEFT))


def section(html):
    return re.search(r'<section class="tuning".*?</section>', html, flags=re.S)[0]


def words(html):
    shown = re.sub(r"<title>.*?</title>|<desc>.*?</desc>", " ", html, flags=re.S)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", shown))


def test_before_and_after_stand_side_by_side_and_failures_by_their_reason(run):
    html = section(render_report(run))
    assert "r01_c01 10,000 20 20 95.5 +75.5 ± 2.2 kept" in words(html)
    assert re.search(r"r01_c02 4,000 +nothing better found", words(html))
    assert "13 plays of other values failed" in html
    assert re.search("<li>12 .ValueError: &lt;/script", html.replace(" V", "V"))
    assert HOSTILE not in html


def test_what_tuning_did_not_find_stays_away(copied):
    unmoved = (replace(GAIN, after=GAIN.before, matters=None),)
    few = replace(KEPT, constants=(replace(GAIN, matters=None),))
    run = written(copied, tuned(2, replace(LEFT, constants=unmoved)))
    html = section(render_report(run))
    assert re.findall(r'<th scope="col".*?>(.*?)</th>', html) == ["Policy", "Steps", "Outcome"]
    assert "nothing better found" in html and "Constants of" not in html
    html = section(render_report(written(copied, tuned(1, few))))
    assert "too few to tell what matters" in html and "Matters</th>" not in html


def test_constants_come_by_what_they_matter_with_their_ranges():
    table = constants_table(KEPT)
    assert table.columns == ("Constant", "Line", "Before", "After", "Matters", "Range", "At")
    assert [row[0].text for row in table.rows] == ["self.gain", "LIMIT", HOSTILE]
    assert [row[4].text for row in table.rows] == ["40.0%", "10.0%", ""]
    assert [row[0].strong for row in table.rows] == [True, True, False]
    assert [row[5].text for row in table.rows] == ["0.01 to 100, logarithmic", "-1 to 1", "0 to 5"]
    assert [row[6].text for row in table.rows] == ["", "its upper end", ""]


def test_lines_hold_until_the_next_judgement(run):
    [figure] = tuning_figures(run)
    drawn = {line.name: line for line in figure.chart.lines}
    assert {n: (line.css, line.end) for n, line in drawn.items()} == {
        "r01_c01": ("lead", 10_000), "r01_c02": ("", 4_000),
    }  # fmt: skip
    first = drawn["r01_c01"].low[0]
    assert first == pytest.approx(20 - 2.2622 * 5, abs=1e-3)  # t of 9 degrees
    svg = chart(replace(figure.chart, references={"expert": 120.0, "far": 9_000.0}))
    assert svg.count("<polyline") == svg.count("<polygon") == 2
    assert ">expert</text>" in svg
    assert ">far</text>" not in svg


def test_a_line_begins_where_a_policy_got_through_and_success_has_wilsons_interval():
    def line(*history, title="Mean return"):
        account = TuningAccount(True, (), history, 90, 1)
        return tuning_lines({"r01_c01": account}, title)[0]

    rate = line(standpoint(10, 5.0, rate=1.0), title="Success rate")
    assert (rate.low, rate.high) == ([pytest.approx(0.722, abs=1e-3)], [1.0])
    failed = Standpoint(10, None, None, None, 0)
    late = line(failed, standpoint(50, 7.0, error=None))
    assert (late.x, late.y, late.low) == ((50,), (7.0,), [7.0])
    tenth = replace(standpoint(50, 7.0), worst_tenth=2.0)  # whose interval is not known
    tail = line(standpoint(10, 5.0), tenth, title="Mean of the worst tenth")
    assert (tail.x, tail.y, tail.low, tail.high) == ((50,), (2.0,), [2.0], [2.0])


def test_the_worst_tenth_is_drawn_in_place_of_the_mean_where_it_ranks(copied):
    history = tuple(replace(s, worst_tenth=s.mean_return - 9.0) for s in KEPT.history)
    run = written(copied, tuned(1, replace(KEPT, history=history)))
    assert [figure.caption for figure in tuning_figures(run)] == ["Mean of the worst tenth"]


def test_one_that_goes_on_tells_how_far_it_is(copied):
    run = written(copied, played(1, 300), played(1, 500, error="it raised"), played(2, 2_000),
                  tuned(2, LEFT))  # fmt: skip
    told = [block.text for block in tuning_section(run).blocks if isinstance(block, Prose)]
    assert "r01_c01: 1,600 steps so far, 4 plays of vectors of values, 2 of which failed." in told


def test_the_section_fits_and_can_be_read(copied, fits_and_can_be_read):
    written(copied, tuned(1, KEPT), tuned(2, LEFT))
    fits_and_can_be_read(copied, "#tuning")
