"""What the documents show is there, works, and is spelled as the program spells it."""

import re
from pathlib import Path

import numpy as np
import pytest

import promptpo
from promptpo import config
from promptpo.cli.parser import COMMANDS
from promptpo.cli.specs import is_spec
from promptpo.llm.recording import find_recording, load_recording
from promptpo.run.settings import all_settings
from promptpo.spec import Task, load_spec

ROOT = Path(promptpo.__file__).parents[1]
NAMES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "runs/README.md")
DOCUMENTS = [*(ROOT / name for name in NAMES), *sorted((ROOT / "docs").glob("*.md"))]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_options_and_commands_exist(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)", text):
        assert "://" in target or (document.parent / target).exists(), target
    helps = " ".join(command.parser().format_help() for command in COMMANDS.values())
    known = set(re.findall(r"--[a-z][a-z0-9-]+", helps))
    settings = all_settings()
    for line in re.findall(r"promptpo (?:-[^\n`]*|[a-z]+ [^\n`]*)", text):
        for option in re.findall(r"(?<=\s)--[a-z][a-z0-9-]+", line):
            assert option in known, line
        for name, value in re.findall(r"--set (\w+)=(\w+)", line):
            assert name in settings, line
            if not value.isupper():
                settings[name].read(value)
        word = line.split()[1]
        if re.search(rf"(?m)^    (?:python -m )?promptpo {word}\b", text) and word.isalpha():
            assert word in COMMANDS or is_spec(word), line


def test_the_two_commands_are_single_lines_that_ci_can_find() -> None:
    lines = [line for line in README.splitlines() if line.startswith("python3 -m venv ")]
    assert len(lines) == 2
    assert lines[0].endswith(" -m promptpo --spec env_specs/metaworld_reach.py")
    assert lines[1].endswith(" -m pytest -n auto --dist worksteal")
    assert "requirements.txt" in lines[0]
    assert "requirements-dev.txt" in lines[1]
    assert README.index(lines[0]) < 1500


def test_the_defaults_in_the_table_are_the_defaults() -> None:
    c = config.RunConfig()
    settings = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    assert f"| {c.rounds}, {c.candidates}, {c.episodes} |" in settings
    assert f"| {c.selection_episodes}, {c.test_episodes} |" in settings
    for name in re.findall(r"`--([a-z-]+)`", settings.split("| option")[1]):
        words = ("help", "config", "preset", "dry-run")
        assert name.replace("-", "_") in config.OPTIONS or name in words, name


def test_the_policy_of_the_readme_is_one_that_the_recording_holds() -> None:
    shown = re.findall(r"```python\n(class Policy.*?)```", README, re.S)[0].split()
    recording = find_recording("cartpole")
    assert recording is not None
    texts = [r.reply.text for r in load_recording(recording).replies.values()]
    for text in texts:
        words = iter(text.split())
        if all(word in words for word in shown):  # in this order
            return
    raise AssertionError("no reply holds it")


def test_the_spec_of_the_readme_is_a_working_one(tmp_path: Path) -> None:
    source = next(b for b in re.findall(r"```python\n(.*?)```", README, re.S) if "EnvSpec(" in b)
    path = tmp_path / "mountain_car.py"
    path.write_text(source, encoding="utf-8")
    spec = load_spec(path)
    assert spec.title.startswith("Mountain car")
    task = Task.open(spec)
    rocking = spec.observation()
    done, observation = False, task.reset(3)
    while not done:
        rocking.position, rocking.velocity = observation
        action = 2 if rocking.velocity >= 0 else 0
        observation, reward, terminated, truncated, success = task.step(np.array([action], float))
        assert reward == spec.reward(rocking, action, rocking)
        done = terminated or truncated
    assert success is True  # rocking with the motion gets the car out
    task.reset(4)
    for _ in range(200):
        _, _, terminated, truncated, success = task.step(np.ones(1))
    assert (terminated, truncated, success) == (False, True, False)
    task.close()
    code = next(b for b in re.findall(r"```python\n(.*?)```", README, re.S) if "optimize" in b)
    for name in set(re.findall(r"promptpo\.(\w+)\(", code)):
        assert callable(getattr(promptpo, name))


def test_changelog_and_citation_have_our_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    heading = rf"(?m)^## {re.escape(promptpo.__version__)} \((\d{{4}}-\d\d-\d\d)\)$"
    (released,) = re.findall(heading, changelog)
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {promptpo.__version__}\ndate-released: {released}\n" in citation
