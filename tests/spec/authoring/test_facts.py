"""The machine's data sheet: a section of every prompt, unless a run withholds it."""

import pytest
from scripted import replies, run
from walk_spec import TEXT

from promptpo.cli import main
from promptpo.errors import SpecError
from promptpo.report.overview import settings
from promptpo.spec import load_spec
from promptpo.store.run import load_run

SECTION = "## Facts of the body\n\nThe walker weighs 3 kg.\n\n## Reward of one step"
POLICY = "class Policy:\n    def act(self, obs):\n        return [1.0]\n"
FEEDBACK = """
class Feedback:
    def summarize_trajectory(self, traj):
        return "went"
"""


@pytest.fixture
def walk(tmp_path):
    path = tmp_path / "walk.py"
    path.write_text(TEXT.replace("make=make,", "make=make, facts='The walker weighs 3 kg.',"))
    return path


def prompts(capsys, *options):
    assert main(["prompt", *map(str, options)]) == 0
    return capsys.readouterr().out


def test_facts_stand_in_every_stage_between_action_and_reward(capsys, walk):
    printed = prompts(capsys, walk)
    assert printed.count(SECTION) == printed.count("## What the policy does") == 6


@pytest.mark.parametrize("options", [["--set", "facts=false"], ["--preset", "paper"]])
def test_they_can_be_withheld_from_every_stage(capsys, walk, options):
    told = prompts(capsys, walk, *options, "--set", "facts=true")
    printed = prompts(capsys, walk, *options)
    assert "3 kg" not in printed
    assert printed == told.replace(SECTION, "## Reward of one step")


def test_the_paper_preset_can_be_told_them_again(capsys, walk):
    assert SECTION in prompts(capsys, walk, "--preset", "paper", "--set", "facts=true")


@pytest.mark.slow
@pytest.mark.parametrize("told", [True, False])
def test_a_run_says_whether_they_were_told(tmp_path, walk, told):
    script = replies((POLICY,), feedback=FEEDBACK)
    result, _ = run(tmp_path, script, spec=str(walk), facts=told)
    sent = [path.read_text() for path in (result.folder / "prompts").rglob("*.md")]
    assert any("3 kg" in text for text in sent) == told
    ((_, lines), *_) = settings(load_run(result.folder))
    assert ("facts", "yes" if told else "no") in lines


@pytest.mark.slow
def test_a_spec_without_facts_has_no_such_setting(tmp_path):
    walk = tmp_path / "walk.py"
    walk.write_text(TEXT)
    result, _ = run(tmp_path, replies((POLICY,), feedback=FEEDBACK), spec=str(walk))
    ((_, lines), *_) = settings(load_run(result.folder))
    assert "facts" not in dict(lines)


def test_facts_that_are_no_text_are_an_error_of_one_line(walk):
    walk.write_text(walk.read_text().replace("'The walker weighs 3 kg.'", "3"))
    with pytest.raises(SpecError, match=rf"^{walk}:\d+: facts must be a text, not int 3$"):
        load_spec(walk)
