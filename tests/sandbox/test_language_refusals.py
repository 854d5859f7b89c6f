"""What is refused, with which line, and that the message says what to write instead.

A title of the corpus tells the line that is refused, or that it is refused when it runs, and words
of the message.
"""

import pytest
from restricted import programs, run_restricted

from sandbox import CompileError

REFUSALS = programs("refusals")


@pytest.mark.parametrize("title", REFUSALS)
def test_a_refusal_tells_the_line_and_what_to_write_instead(title):
    _, line, words = title.split(" | ")
    running = AttributeError, TypeError, RuntimeError
    with pytest.raises(running if line == "running" else CompileError) as caught:
        run_restricted(REFUSALS[title])

    assert words in str(caught.value)
    assert line == "running" or caught.value.line == int(line)


def test_all_refusals_of_a_source_are_reported_with_their_lines():
    with pytest.raises(CompileError) as caught:
        run_restricted("import os\nx = 1\nimport sys\nopen('f')\n")

    assert [f"line {n}:" in caught.value.message for n in (1, 3, 4)] == [True] * 3
    assert "    import sys" in caught.value.message


def test_what_cannot_be_parsed_is_a_compile_error():
    for source in ("x = " + "-" * 100_000 + "1", "x = " + "(" * 5000, "x = " + "1+" * 50_000 + "1"):
        with pytest.raises(CompileError):
            run_restricted(source)
    with pytest.raises(CompileError, match="null") as caught:
        run_restricted("x = 1\0\n")
    assert caught.value.line == 1


def test_long_else_if_chains_and_sums_compile():
    chain = "x = 5\nif x == 0:\n    y = 0\n"
    chain += "".join(f"elif x == {i}:\n    y = {i}\n" for i in range(1, 150))

    namespace, _ = run_restricted(chain + "z = " + "+".join(["1"] * 400))

    assert (namespace["y"], namespace["z"]) == (5, 400)


def test_print_is_captured_and_cut_with_a_note():
    _, printer = run_restricted("print('a', 1, sep='-', end='!\\n')\nprint('x' * 5000)")

    assert printer.text.startswith("a-1!\nxxx")
    assert printer.text.endswith("more characters]")
    assert len(printer.text) < 4100


def test_hidden_names_are_not_shown():
    source = "names = dir([])\nclass _P: pass\nprint(type(_P()).__name__, dir(_P()))"
    namespace, printer = run_restricted(source)

    assert "\u01c0" not in printer.text
    assert "append" in namespace["names"]
    assert not [name for name in namespace["names"] if name.startswith("_")]
