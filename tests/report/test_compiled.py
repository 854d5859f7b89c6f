"""Templates that are compiled once."""

import sys

import jinja2
import pytest

from promptpo.report.compiled import CompiledTemplates


@pytest.fixture(autouse=True)
def writes_bytecode(monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)


def rendered(folder, text="Hello {{ name }}"):
    """A page, and how often a template was compiled for it."""
    compiled = []

    class Counting(jinja2.Environment):
        def _generate(self, *args, **options):
            compiled.append(args)
            return super()._generate(*args, **options)

    environment = Counting(
        loader=jinja2.DictLoader({"page": text}), bytecode_cache=CompiledTemplates(folder)
    )
    return environment.get_template("page").render(name="you"), len(compiled)


def test_a_second_process_compiles_nothing(tmp_path):
    assert rendered(tmp_path / "kept") == ("Hello you", 1)
    assert rendered(tmp_path / "kept") == ("Hello you", 0)


def test_another_text_is_compiled_anew(tmp_path):
    rendered(tmp_path)
    assert rendered(tmp_path, "Good day {{ name }}") == ("Good day you", 1)


@pytest.mark.parametrize("content", [b"", b"no bytecode", b"cut off"])
def test_what_is_damaged_is_compiled_anew(tmp_path, content):
    rendered(tmp_path)
    for path in tmp_path.iterdir():
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 9] if content == b"cut off" else content)
    assert rendered(tmp_path) == ("Hello you", 1)
    assert rendered(tmp_path) == ("Hello you", 0)


def test_it_is_left_out_where_nothing_can_be_written(tmp_path):
    (tmp_path / "file").write_text("no folder")
    assert rendered(tmp_path / "file") == ("Hello you", 1)
    assert rendered(tmp_path / "file") == ("Hello you", 1)


def test_python_may_be_told_to_keep_none(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    rendered(tmp_path)
    assert not list(tmp_path.iterdir())
