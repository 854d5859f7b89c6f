"""Files that are no plain UTF-8, and statements that end or hold up the process that imports."""

import codecs

import pytest

from promptpo.errors import SpecError, UsageError
from promptpo.export.policy_file import PolicyFile
from promptpo.spec import load_spec, prompt_parts, spec_text

ACCENT = "\n# caf\u00e9\n"


def failure(path, **how):
    with pytest.raises(SpecError) as caught:
        load_spec(path, **how)
    message = str(caught.value)
    assert "\n" not in message
    return message.removeprefix(str(path.parent) + "/")


@pytest.mark.parametrize("how", ["mark", "windows", "coding line"])
def test_files_that_python_reads_are_read(write_spec, how):
    path = write_spec()
    text = path.read_text()
    expected = prompt_parts(load_spec(path))
    path.write_bytes(
        {
            "mark": codecs.BOM_UTF8 + text.encode(),
            "windows": text.replace("\n", "\r\n").encode(),
            "coding line": ("# coding: latin-1\n" + text + ACCENT).encode("latin-1"),
        }[how]
    )
    spec = load_spec(path)
    assert prompt_parts(spec) == expected
    assert spec_text(spec).endswith(ACCENT if how == "coding line" else ")\n")


NO_TEXT = {
    "latin-1": (lambda t: (t + ACCENT).encode("latin-1"), "43: the byte 0xe9 is not UTF-8 (is the"),
    "utf-16": (lambda t: t.encode("utf-16"), "1: the file is UTF-16; save it as UTF-8"),
    "utf-16 without mark": (lambda t: t.encode("utf-16-le"), "1: a NUL byte; is this a text file"),
    "nul": (lambda t: t.encode() + b"\0", "42: a NUL byte"),
    "coding": (lambda t: b"# coding: klingon\n" + t.encode(), "1: unknown encoding: klingon; save"),
    "wrong coding": (
        lambda t: b"# coding: ascii\n" + (t + ACCENT).encode(),
        "44: the byte 0xc3 is not ascii, which the file says it is; save it as UTF-8",
    ),
}


@pytest.mark.parametrize("case", NO_TEXT)
def test_a_file_that_is_no_text_is_told_with_its_line(write_spec, case):
    make, words = NO_TEXT[case]
    path = write_spec()
    path.write_bytes(make(path.read_text()))
    assert failure(path).startswith(f"slide.py:{words}")
    with pytest.raises(UsageError, match=r"slide\.py:"):  # a policy's file is read alike
        PolicyFile.read(path)


def test_a_helper_that_is_no_text_is_named(write_spec):
    path = write_spec(("import numpy", "from . import helper\nimport numpy"))
    (path.parent / "helper.py").write_bytes(b"x = 1\ny = 2\0\n")
    assert failure(path).startswith("helper.py:2: a NUL byte")


ENDINGS = {
    "os._exit": ("import os; os._exit(3)", "os._exit(3) was called"),
    "by name": ("from os import _exit; _exit(3)", "os._exit(3) was called"),
    "sys.exit": ("import sys; sys.exit(3)", "sys.exit(3) was called"),
    "interrupt": ("raise KeyboardInterrupt", "KeyboardInterrupt was raised"),
    "unprintable": (
        "E = type('E', (BaseException,), {'__str__': lambda self: 1 / 0}); raise E",
        "E",
    ),
    "sleep": (
        "import time; time.sleep(100)",
        "the import took longer than 0.3 s; import what is heavy inside make()",
    ),
}


@pytest.mark.parametrize("case", ENDINGS)
def test_an_import_that_ends_or_holds_up_the_process_is_told(write_spec, case):
    statement, words = ENDINGS[case]
    path = write_spec(("ACTION = ", f"{statement}\nACTION = "))
    assert failure(path, limit=0.3).endswith(f": {words}")


def test_an_exit_that_was_imported_by_name_ends_the_process_later(write_spec, monkeypatch):
    monkeypatch.setattr("os._exit", lambda status: 1 / 0)
    path = write_spec(("ACTION = ", "from os import _exit as later\nACTION = "))
    load_spec(path)
    module = __import__("sys").modules[load_spec(path).make.__module__]
    with pytest.raises(ZeroDivisionError):
        module.later(3)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('unit="m", low=-1.0', "unit=5, low=-1.0", "unit must be a text, not int 5"),
        ('doc="0 in the middle"', "doc=None", "doc must be a text, not NoneType None"),
        ("low=-1.0", "low=float('nan')", "low is no number; leave it out"),
        ("horizon=50", "horizon=10**30", "horizon must be 1000000000 at most"),
        ("horizon=50", "horizon=50, name='../up'", "name must be letters, digits"),
        ("horizon=50", "horizon=50, title=5", "title must be a text, or left out"),
        ("import numpy", "__doc__ = 5\nimport numpy", "__doc__ is a int"),
    ],
)
def test_parts_of_wrong_types(write_spec, old, new, words):
    assert words in failure(write_spec((old, new)))
