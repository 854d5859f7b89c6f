"""The pages of environments and methods, which the documentation site writes at every build."""

import sys
from pathlib import Path

import pytest

from promptpo.methods import OWN_METHODS
from promptpo.spec import load_spec

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture(scope="module", autouse=True)
def modules():
    sys.path.insert(0, str(DOCS))
    yield
    sys.path.remove(str(DOCS))


def test_what_is_shown_was_measured_by_the_commands_of_today():
    import measure
    import pages

    assert {"cartpole", "method promptpo"} <= pages.MEASURED.keys()
    for name, found in pages.MEASURED.items():
        command = measure.COMMANDS[name]
        assert found["command"] == command
        for file in command.split("recorded:")[1:]:
            assert (DOCS.parent / file.split()[0]).is_file()


def test_an_environments_page_has_commands_references_and_the_best_policy():
    import pages

    page = pages.environment_page("cartpole", load_spec("cartpole"), pictured=True)
    assert "![CartPole: keep a pole upright" in page
    assert "python -m promptpo.spec.baselines cartpole" in page
    assert "| random | 22.8 |" in page
    assert "return 500" in page
    assert "class Policy:" in page
    assert "## The best policy" not in pages.environment_page(
        "taxi", load_spec("taxi"), pictured=False
    )


def test_every_method_has_a_page_with_its_command_and_curve():
    import pages

    assert pages.TITLES.keys() == {*OWN_METHODS, "builtin"}
    page = pages.method_page("r2po")
    assert page.startswith("# R2PO\n\nR2PO (arXiv 2605.08315): a proposal as `props+` makes it")
    assert "promptpo mujoco_swimmer \\\n    --method r2po \\\n    --model recorded:" in page
    assert "promptpo cartpole --method r2po\n" in page
    assert 'class="line lead"' in page
    assert "| `threshold` |" in page


def test_names_in_tables_become_links():
    import pages

    source = "| `nim` | a game |\n\n`nim` in a sentence\n\n    `nim` as code"
    linked = pages.linked(source, {"nim": "environments/nim.md"})
    assert linked == source.replace("| `nim` |", "| [`nim`](environments/nim.md) |")
