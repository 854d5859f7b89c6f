import pytest
from written_runs import written_run

from promptpo.comparison import Comparison
from promptpo.comparison.groups import panels
from promptpo.store.run import load_run


def grouped(*folders):
    return panels([load_run(folder) for folder in folders])


def labels(*folders):
    (panel,) = grouped(*folders)
    return {group.label: len(group.runs) for group in panel.groups}


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        (  # what differs in seed and circumstances only is one group
            [{"workers": 1}, {"seed": 1, "workers": 2, "max_concurrency": 3, "call_timeout": 9.0}],
            {"promptpo, openai/a": 2},
        ),
        (  # a label says what differs and nothing else
            [{"rounds": 2, "temperature": 0.5}, {"rounds": 8, "temperature": 0.5},
             {"rounds": 8, "temperature": 0.5, "seed": 1}],
            {"2 rounds": 1, "8 rounds": 2},
        ),
        (  # several differences are all named
            [{"reflection": True},
             {"model": "ollama/b", "reflection": False, "temperature": 0.7}],
            {"openai/a, default temperature, reflection": 1,
             "ollama/b, temperature 0.7, no reflection": 1},
        ),
        (  # a replayed run is named by its last folders
            [{"model": "recorded:/very/long/path/cartpole/20260101-000000"}, {"model": "recorded"}],
            {"recorded:cartpole/20260101-000000": 1, "recorded": 1},
        ),
        (  # methods differ by name and by what both know
            [{"max_repairs": 2}, {"method": "best-of-n", "finalists": 3},
             {"method": "random-search", "model": None, "rounds": 9}],
            {"promptpo, openai/a, 5 rounds": 1, "best-of-n, openai/a, 5 rounds": 1,
             "random-search, 9 rounds": 1},
        ),
        (  # facts are a setting of specs that have some
            [{"has_facts": True}, {"has_facts": True, "facts": False}],
            {"facts": 1, "no facts": 1},
        ),
        (
            [{"has_facts": True, "facts": False, "seed": seed} for seed in (2, 3)],
            {"promptpo, openai/a, no facts": 2},
        ),
        ([{}, {"seed": 1, "facts": False}], {"promptpo, openai/a": 2}),
    ],
)  # fmt: skip
def test_groups_are_named_by_what_differs(tmp_path, runs, expected):
    assert labels(*(written_run(tmp_path, **settings) for settings in runs)) == expected


def test_each_spec_and_each_change_of_it_has_a_panel_of_its_own(tmp_path):
    folders = [written_run(tmp_path, spec=name) for name in ("toy", "other", "toy")]
    assert [(p.name, len(p.groups[0].runs)) for p in grouped(*folders)] == [
        ("toy", 2),
        ("other", 1),
    ]
    old, new = (written_run(tmp_path, sha=letter * 16) for letter in "ab")
    assert [p.name for p in grouped(old, new)] == ["toy (aaaaaa)", "toy (bbbbbb)"]


def test_success_is_a_measure_only_where_the_task_defines_it(tmp_path):
    (with_success,) = grouped(written_run(tmp_path, successes=True))
    (without,) = grouped(written_run(tmp_path / "b"))
    assert with_success.measures == ("success", "return")
    assert without.measures == ("return",)


def test_a_twin_stands_after_its_original(tmp_path):
    names = [("twin_toy", "toy"), ("other", ""), ("toy", ""), ("last", "")]
    folders = [written_run(tmp_path, spec=name, twin_of=of) for name, of in names]
    found = grouped(*folders)
    assert [panel.name for panel in found] == ["toy", "twin_toy", "other", "last"]
    assert "twin_toy, a twin of toy: held-out scores" in str(Comparison(found))
