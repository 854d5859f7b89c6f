"""Attempts to reach the interpreter's internals: which of them the language refuses.

The title of each attempt tells what holds:

    compiling   the source is refused
    running     a guard refuses, or what was looked for is not there
    process     the language lets it through; the locked-down process holds it

That none of them has an effect, the language or not, is shown in ``test_raw_programs.py``.
"""

import re
from pathlib import Path

import pytest
from restricted import programs

import sandbox
from sandbox import Box, CompileError, Interface, Limits, PolicyError
from sandbox.language import compile_source, importable

ESCAPES = programs("escapes")
POLICY = """
class Policy:
    def act(self, obs):
        self.found = attack()
        return 0.5
"""
INTERFACE = Interface(1, None, Box((1,)))
LIMITS = Limits(act_seconds=0.3, init_seconds=0.5, memory_mb=256)


def held_by(layer):
    return [title for title in ESCAPES if title.endswith(f" | {layer}")]


@pytest.mark.parametrize("title", held_by("compiling"))
def test_the_source_is_refused_with_its_line(title):
    with pytest.raises(CompileError) as caught:
        compile_source(ESCAPES[title] + POLICY, importable())

    assert 1 <= caught.value.line <= ESCAPES[title].count("\n") + 1


@pytest.mark.parametrize("title", held_by("running"))
def test_running_it_is_an_ordinary_exception(host, title):
    with (
        host.policy(ESCAPES[title] + POLICY, INTERFACE, limits=LIMITS) as policy,
        pytest.raises(PolicyError) as caught,
    ):
        policy.begin(0)
        policy.act([0.0])

    assert "PermissionError" not in caught.value.message


def test_every_attempt_is_sorted():
    titles = [*held_by("compiling"), *held_by("running"), *held_by("process")]
    assert sorted(titles) == sorted(ESCAPES)


def test_the_readme_says_how_many_there_are():
    text = "".join(path.read_text() for path in Path(sandbox.__file__).parent.glob("*.md"))
    said = re.findall(r"^\| `(\w+)\.txt` \| (\d+) \|", text, re.MULTILINE)
    corpora = ("escapes", "raw", "raw_mapped", "raw_programs", "abuse", "prepare_abuse", "writes")
    corpora += ("carry_over", "carry_over_more", "carry_over_raw")
    held = (len(held_by(layer)) for layer in ("compiling", "running", "process"))

    assert {name: int(count) for name, count in said} == {n: len(programs(n)) for n in corpora}
    assert (
        "{} are refused when compiling, {} by a guard when running, and {} run".format(*held)
        in text
    )
