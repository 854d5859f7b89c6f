"""What a page shows of a policy's inner state, and of how often its lines ran."""

import json
from dataclasses import replace

import numpy as np
import pytest
from report_runs import HOSTILE

from promptpo.policies import CoverageRun
from promptpo.report.code import Source
from promptpo.report.page import render_report
from promptpo.report.traces import MOST_LEVELS, traced
from promptpo.store.codec import encode
from promptpo.store.folder import pack_episodes, read_episodes
from promptpo.store.run import load_run
from promptpo.types import Trajectory


def episode(**trace):
    steps = max(map(len, trace.values()), default=1)
    arrays = np.zeros((steps + 1, 1)), np.zeros((steps, 1)), np.zeros(steps)
    return Trajectory(*arrays, 1, True, False, None, trace)


def test_texts_get_levels_in_the_order_of_their_appearance_and_what_is_absent_is_a_gap():
    (phase,) = traced([episode(phase=("reach", None, "push")), episode(phase=("hold", "reach", 2))])
    assert phase.levels == ("reach", "push", "hold", "2")
    first, second = phase.lines
    assert np.array_equal(first, [0, np.nan, 1], equal_nan=True)
    assert second.tolist() == [2, 0, 3]
    (number,) = traced([episode(), episode(n=(1, True, None, 2.5))])
    assert number.levels == () and np.isnan(number.lines[0]).all()
    assert np.array_equal(number.lines[1], [1, 1, np.nan, 2.5], equal_nan=True)
    (many,) = traced([episode(n=tuple(f"s{i}" for i in range(MOST_LEVELS + 1)))])
    assert len(many.levels) == MOST_LEVELS and np.isnan(many.lines[0][-1])


def test_an_episode_that_explodes_flattens_no_plot_and_is_told():
    calm, wild = (0.0, 1.0, -1.0), (0.0, 3.0, -2.8e6)
    (number,) = traced([episode(n=calm), episode(n=wild)])
    assert (number.ends, number.beyond) == (("-1", "3"), "beyond: -2.8M")
    assert "from -1 to 3, beyond: -2.8M" in number.svg(["best", "worst"], 100)


def test_a_plot_has_gaps_and_upright_steps():
    both = traced([episode(n=(0, 1, None, 1), phase=("a", "a", "b", "b"))])
    number, phase = (v.svg(["only"], 500) for v in both)
    assert number.count("M") == 2
    assert " 0l" not in number
    assert "from the lowest to the highest a, b" in phase
    steps = phase.split("l", 3)[-1]
    assert "0 -90" in steps  # upright, by one of two levels


@pytest.mark.parametrize("points", [4, 40])
def test_a_line_of_many_gaps_keeps_to_its_budget(points):
    (number,) = traced([episode(n=tuple(i % 2 or None for i in range(1000)))])
    assert len(number.svg(["only"], points)) < 500 + 20 * points


SOURCE = """class Policy:
    def act(self, obs):
        if obs:
            return 1
        return 0"""


def shown(counts, steps=200, error=None):
    return Source.of(SOURCE, counted=CoverageRun(tuple(counts), steps, error))


@pytest.mark.parametrize(
    ("counts", "lines", "unreached"),
    [
        ([(1, 0), (2, 0), (3, 200), (4, 1), (5, 199)],
         ["", "100% most", "100% most", "<1% few", "99% most"], ()),
        ([(1, 0), (2, 0), (3, 200), (5, 100)],
         ["", "100% most", "100% most", "never never", "50% some"],
         ("the branch at line 3 (`if obs`) never ran",)),
        ([(1, 0), (3, 10**9), (4, -5), (99, 1)],  # counts that cannot be
         ["", None, "100% most", "start start", None], None),
    ],
)  # fmt: skip
def test_each_line_says_how_often_it_ran(counts, lines, unreached):
    source = shown(counts)
    for line, expected in zip(source.lines, lines, strict=True):
        assert expected is None or f"{line.ran} {line.level}".strip() == expected
    assert source.steps == 200
    if unreached is not None:
        assert (source.unreached, source.whole) == (unreached, not unreached)


def test_where_nothing_could_be_counted_nothing_is_shown():
    for steps, error in ((0, None), (200, "it failed")):
        source = shown([], steps, error)
        assert source.steps == 0
        assert {line.level for line in source.lines} == {""}


def test_a_page_shows_traces_and_counts_and_nothing_of_them_is_markup(copied):
    winner = load_run(copied).rounds[1].winner
    where = copied / "candidates" / winner.name / "episodes.npz"
    texts = ("<b>", "</svg>")
    episodes = [
        replace(e, trace={"phase": (*texts, *(None,) * (len(e.rewards) - 2))})
        for e in read_episodes(where)
    ]
    where.write_bytes(pack_episodes(episodes))
    key = encode(winner.key)
    event = {"type": "coverage", "key": key, "digest": "x", "lines": [1, 2], "hits": [0, 7],
             "steps": 10, "error": None, "time": 0.0}  # fmt: skip
    with (copied / "events.jsonl").open("a") as log:
        log.write(json.dumps(event) + "\n")

    html = render_report(load_run(copied))

    assert "What the policy traced of itself" in html
    assert "<li>&lt;/svg&gt;</li><li>&lt;b&gt;</li>" in html
    assert '<span class="ran">never</span>' in html
    assert "Never reached in these steps" in html
    assert HOSTILE not in html


def test_a_page_without_either_says_nothing_of_them(copied):
    log = copied / "events.jsonl"
    lines = log.read_text().splitlines(keepends=True)
    kept = [line for line in lines if json.loads(line)["type"] != "coverage"]
    assert len(kept) < len(lines)
    log.write_text("".join(kept))
    html = render_report(load_run(copied))
    assert "traced of itself" not in html
    assert 'class="ran' not in html
