"""Charts show what is to be compared; what lies far beyond is marked with its number."""

import re

import pytest

from promptpo.common.blocks import Chart, Line, Mark, Scores
from promptpo.report.axis import compared, short_range, spread, tick_label, ticks, vertical
from promptpo.report.chart import chart
from promptpo.stats import Interval

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("values", "best", "context", "seen"),
    [
        ([-60, -193, -573, -2.8e6], -193, (), (-573, -60)),  # policy, expert, random, zero action
        ([-54.4, -47.9, -47.0, -3e6], None, (-40, -573), (-54.4, -40)),  # a learning curve
        ([-60, -2.8e6, -3e6], None, (-55, -573), (-573, -55)),  # two of three candidates
        ([20, 480, 500, 9], None, (), (9, 500)),  # nothing far beyond
        ([4839, 4872, 4866, 4877, 100], 4872, (), (100, 4877)),
        ([-16_281, -15_900, -16_700, -28_480], -16_281, (), (-28_480, -15_900)),
        ([1, 2, 3, 1e9], 2, (), (1, 3)),  # a positive outlier that is not the best
        ([-7e6, -60, -573, -2.8e6], -7e6, (), (-7e6, -60)),  # the best is the catastrophe
        ([1e9, 1.1e9, 1.3e9], None, (), (1e9, 1.3e9)),
        ([5, 5, 5], None, (), (5, 5)),
        ([5], None, (), (5, 5)),
        ([NAN, INF, -INF, 3], None, (), (3, 3)),
        ([NAN], None, (7, 8), (7, 8)),
        ([], None, (), (0, 0)),
    ],
)
def test_an_axis_shows_what_is_to_be_compared(values, best, context, seen):
    assert compared(values, best, context) == seen
    low, high = spread(seen)
    assert low < seen[0] <= seen[1] < high


def test_ticks_are_round_and_within():
    assert ticks(0, 1, 5) == [0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert ticks(-283, 4386, 5) == [0, 1000, 2000, 3000, 4000]
    assert [tick_label(v) for v in (0.5, 1500, 25_000, 1.2e6)] == ["0.5", "1,500", "25k", "1.2M"]
    assert short_range([-3_114_159, -2_800_000]) == "-3.11M to -2.8M"


def drawn(svg, pattern):
    return re.findall(pattern, str(svg))


def test_candidates_and_references_beyond_a_curve_have_arrows_and_numbers():
    lines = (
        Line("others", [1, 5], [-3.1e6, NAN], css="others", tips=["r1: return -3,100,000", "r2"]),
        Line("won", [2, 6, 9], [-60, -55, -58], [-4e6, -60, -62], [-50, -50, -54], css="lead",
             tips=["a", "b", "c"]),
    )  # fmt: skip
    curve = Chart("t", "steps", lines, {"expert": -50.0, "random": -573.0}, right=10)
    svg = chart(curve)
    assert vertical(curve) == spread((-62, -50))
    assert drawn(svg, r"<title>(r1: [^<]+)</title><path") == ["r1: return -3,100,000"]
    assert len(drawn(svg, 'class="arrow"')) == 2  # the candidate's, and that of the cut interval
    assert drawn(svg, r'beyond"[^>]*>([^<]+)<') == ["-3.1M"]
    assert len(drawn(svg, 'class="reference"')) == 1
    assert "random ↓ -573" in svg and "random, beyond the axis: -573" in svg


def test_a_curve_without_tips_is_marked_where_it_leaves():
    fall = Line("b", [0, 1, 2], [-5e6, -4e6, 50], [NAN] * 3, [NAN] * 3, end=3)
    rest = Line("a", [0, 1], [40, 60], [30, 55], [50, 65], end=3)
    svg = chart(Chart("t", "steps", (fall, rest)))
    assert drawn(svg, r'beyond"[^>]*>([^<]+)<') == ["-5M to -4M"]
    assert drawn(svg, r"<title>(b: [^<]+)</title>") == ["b: -5,000,000 to -4,000,000"]


def test_rows_beyond_have_an_arrow_and_bars_that_are_cut_a_break():
    marks = (
        Mark("this policy", -193, "-193", Interval(-9e5, -150), (-180, -206, -2e6), ours=True),
        Mark("expert", -60, "-60"),
        Mark("zero action", -2.8e6, "-2,800,000"),
    )
    svg = chart(Scores("t", marks))
    assert drawn(svg, r"zero action: -2,800,000") and drawn(svg, r'value"[^>]*>(-2\.8M)<')
    assert len(drawn(svg, 'class="dot"')) == 2 and len(drawn(svg, 'class="rug"')) == 2
    assert len(drawn(svg, 'class="break"')) == 1 and drawn(svg, ">to -2M<")
    assert "95% interval -900,000 to -150" in svg


def test_rates_keep_their_axis():
    rates = Line("a", [0, 1], [0.0, 0.02], tips=["", ""])
    assert vertical(Chart("t", "", (rates,), {"expert": 1.0}, (-0.04, 1.04))) == (-0.04, 1.04)
