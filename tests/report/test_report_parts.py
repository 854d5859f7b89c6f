"""Diffs, colours, decimation, and the room that texts get."""

import numpy as np
import pytest
from written_runs import written_run

from promptpo.report.chart import decimated, tag
from promptpo.report.code import highlighted, side_by_side, strategy
from promptpo.report.lineage import lineage_section
from promptpo.report.overview import facts
from promptpo.report.page import share
from promptpo.store.evals import KeptEvaluation, PolicyTest
from promptpo.store.run import load_run


def test_source_lines_are_coloured_and_escaped():
    lines = highlighted('def f(x):\n    return "<b>"  # <i>\n')
    assert lines[0].startswith('<span class="k">def</span>')
    assert "&lt;b&gt;" in lines[1]
    assert '<span class="c1"># &lt;i&gt;</span>' in lines[1]
    assert len(lines) == 2


@pytest.mark.parametrize("source", ["def (:\n\x00\n'''", "", "\u2028x\r\ny", "a" * 70_000])
def test_any_text_can_be_shown_as_source(source):
    assert highlighted(source)


def test_a_diff_pairs_changed_lines_and_marks_the_changed_words():
    before = "a = 1\nb = 2\nc = 3\n"
    after = "a = 1\nb = 20\nc = 3\nd = 4\n"
    rows = side_by_side(before, after)
    assert [row.kind for row in rows] == ["same", "changed", "same", "added"]
    assert rows[1].before.html == "b = <mark>2</mark>"
    assert rows[3].after.number == 4
    assert rows[3].before is None


def test_far_unchanged_lines_are_folded_and_marks_keep_the_text_whole():
    lines = [f"x{i} = {i}" for i in range(40)]
    rows = side_by_side("\n".join(lines), "\n".join([*lines[:-1], "y = 0"]))
    assert (rows[0].kind, rows[0].skipped, len(rows)) == ("gap", 36, 5)
    rows = side_by_side("a\nb\nc\nd\ne = 1", "a\nb\nc\nd\ne = 2")
    assert [row.kind for row in rows] == ["same", "same", "same", "same", "changed"]
    rows = side_by_side("f(alpha, beta, 1)", "f(alpha, gamma * 2, 1)")
    assert rows[0].after.html.striptags() == "f(alpha, gamma * 2, 1)"
    assert side_by_side("\n" * 20_000, "\n" * 19_999 + "y") == ()  # nobody reads that


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["\n", "x ", "'", "(", "f'{", "\\\n", '"""', "# \n", "\t"])
def test_a_source_of_nothing_but_one_thing_does_not_hang(unit):
    before, after = unit * 9_000, unit * 8_999 + "y"
    assert side_by_side(before, after)


def test_decimation_keeps_ends_and_extremes():
    values = np.sin(np.linspace(0, 9, 12_345))
    values[7000], values[9000] = 5, -5
    index = decimated(values, 100)
    assert len(index) <= 102
    assert {0, 7000, 9000, 12_344} <= set(index.tolist())
    assert decimated(values[:50], 100).tolist() == list(range(50))


def test_elements_escape_what_they_hold():
    assert tag("a", "<x>", title='"&') == '<a title="&#34;&amp;">&lt;x&gt;</a>'


def test_short_texts_leave_their_room_to_long_ones():
    assert share([10, 20], 1_000_000, 0) == 20
    assert share([2_000, 90_000, 90_000], 60_000, 0) == 29_000
    assert share([90_000] * 9, 9_000, 1500) == 1500


def test_a_policy_speaks_in_its_first_paragraph():
    said = 'class Policy:\n    """Pushes\n    left.\n\n    Then rests.\n    """\n'
    assert strategy(said) == "Pushes left."
    assert strategy("def (") == ""


def test_the_distance_to_the_expert_is_paired_where_both_played_the_same_episodes(tmp_path):
    run = load_run(written_run(tmp_path, test=[60.0, 40.0]))
    (tile,) = [fact for fact in facts(run) if fact.label == "To the expert"]
    assert tile.figure == "\N{MINUS SIGN}45" and tile.note.endswith("95: not paired")
    test = PolicyTest("return", "expert", "best/policy.py", 12.0, 8.0, 15.0, 0.01, 0.01, True, 9, 9)
    run.evaluations = (KeptEvaluation("2026-01-01T00:00:00Z", 0, (), (test,)),)
    (tile,) = [fact for fact in facts(run) if fact.label == "To the expert"]
    assert tile.figure == "\N{MINUS SIGN}12"
    assert "-15 to -8" in tile.note and "paired, over 9 episodes" in tile.note


def test_lineage_has_what_was_spent_by_each_candidate_and_dollars_over_time(tmp_path):
    run = load_run(written_run(tmp_path, search=(10.0, None, 50.0)))
    section = lineage_section(run)
    (table,) = section.blocks[2].blocks
    spent = [row[table.columns.index("Cost so far")].text for row in table.rows]
    assert spent == ["$0.01", "$0.02", "$0.03"]
    figure = section.blocks[-1]
    assert figure.caption == "Cost in US dollars of search over time"
    assert [*figure.chart.lines[0].y] == pytest.approx([0.0, 0.01, 0.02, 0.03])
