from written_runs import written_run

from promptpo.comparison import Comparison
from promptpo.comparison.groups import panels
from promptpo.store.run import load_run


def grouped(*folders):
    return panels([load_run(folder) for folder in folders])


def labels(*folders):
    (panel,) = grouped(*folders)
    return {group.label: len(group.runs) for group in panel.groups}


def test_runs_that_differ_in_seed_and_circumstances_are_one_group(tmp_path):
    folders = [
        written_run(tmp_path, seed=0, workers=1),
        written_run(tmp_path, seed=1, workers=2, max_concurrency=3, call_timeout=9.0),
    ]
    assert labels(*folders) == {"promptpo, openai/a": 2}


def test_a_label_says_what_differs_and_nothing_else(tmp_path):
    a = written_run(tmp_path, rounds=2, temperature=0.5)
    b = written_run(tmp_path, rounds=8, temperature=0.5)
    c = written_run(tmp_path, rounds=8, temperature=0.5, seed=1)
    assert labels(a, b, c) == {"2 rounds": 1, "8 rounds": 2}


def test_several_differences_are_all_named(tmp_path):
    a = written_run(tmp_path, model="openai/a", reflection=True)
    b = written_run(tmp_path, model="ollama/b", reflection=False, temperature=0.7)
    assert labels(a, b) == {
        "openai/a, default temperature, reflection": 1,
        "ollama/b, temperature 0.7, no reflection": 1,
    }


def test_a_replayed_run_is_named_by_its_last_folders(tmp_path):
    a = written_run(tmp_path, model="recorded:/very/long/path/cartpole/20260101-000000")
    b = written_run(tmp_path, model="recorded")
    assert labels(a, b) == {"recorded:cartpole/20260101-000000": 1, "recorded": 1}


def test_methods_differ_by_name_and_by_what_both_know(tmp_path):
    a = written_run(tmp_path, max_repairs=2)
    b = written_run(tmp_path, method="best-of-n", finalists=3)
    c = written_run(tmp_path, method="random-search", model=None, rounds=9)
    assert labels(a, b, c) == {
        "promptpo, openai/a, 5 rounds": 1,
        "best-of-n, openai/a, 5 rounds": 1,
        "random-search, 9 rounds": 1,
    }


def test_each_spec_has_a_panel_of_its_own(tmp_path):
    folders = [written_run(tmp_path, spec=name) for name in ("toy", "other", "toy")]
    assert [(p.name, len(p.groups[0].runs)) for p in grouped(*folders)] == [
        ("toy", 2),
        ("other", 1),
    ]


def test_a_spec_that_changed_between_runs_is_another_task(tmp_path):
    old, new = written_run(tmp_path, sha="a" * 16), written_run(tmp_path, sha="b" * 16)
    assert [p.name for p in grouped(old, new)] == ["toy (aaaaaa)", "toy (bbbbbb)"]


def test_success_is_a_measure_only_where_the_task_defines_it(tmp_path):
    (with_success,) = grouped(written_run(tmp_path, successes=True))
    (without,) = grouped(written_run(tmp_path / "b"))
    assert with_success.measures == ("success", "return")
    assert without.measures == ("return",)


def test_facts_are_a_setting_of_specs_that_have_some(tmp_path):
    def run(**settings):
        return written_run(tmp_path, **settings)

    told, untold = run(has_facts=True), run(has_facts=True, facts=False)
    assert labels(told, untold) == {"facts": 1, "no facts": 1}
    both = [run(has_facts=True, facts=False, seed=seed) for seed in (2, 3)]
    assert labels(*both) == {"promptpo, openai/a, no facts": 2}
    assert labels(run(), run(seed=1, facts=False)) == {"promptpo, openai/a": 2}


def test_a_twin_stands_after_its_original(tmp_path):
    names = [("twin_toy", "toy"), ("other", ""), ("toy", ""), ("last", "")]
    folders = [written_run(tmp_path, spec=name, twin_of=of) for name, of in names]
    found = grouped(*folders)
    assert [panel.name for panel in found] == ["toy", "twin_toy", "other", "last"]
    assert "twin_toy, a twin of toy: held-out scores" in str(Comparison(found))
