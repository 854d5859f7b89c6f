"""Whatever text comes: the compile step returns checked code or a CompileError, nothing else."""

import ast
import dis
import types

from hypothesis import given, settings
from hypothesis import strategies as st
from restricted import programs

from sandbox import CompileError
from sandbox.language import compile_source, importable, names

OFFER = importable()
CORPUS = [*programs("policies").values(), *programs("constructs").values()]
CORPUS += programs("escapes").values()
WORDS = sorted({word for text in CORPUS for word in text.replace("(", " ( ").split(" ")})
SPELLED = ("__class__", "gi_frame", "_x", "__builtins__", "\u01c0import", "obj", "format", "eval")


def compiled(source):
    """The code object, or None where the source is refused."""
    try:
        code = compile_source(source, OFFER).code
    except CompileError as error:
        assert error.message
        assert error.line is None or error.line >= 0
        return None
    assert isinstance(code, types.CodeType)
    return code


#: What the compiler itself writes into class bodies.
CLASS_BODY = {"__name__", "__module__", "__qualname__", "__doc__", "__annotations__"}
CLASS_BODY |= {"__classcell__", "__slots__", "__static_attributes__", "__firstlineno__"}


def instructions_in(code):
    """All instructions, those of nested functions and classes included."""
    yield from dis.get_instructions(code)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from instructions_in(constant)


def assert_only_allowed_names(source):
    """It is refused, or its code uses no others."""
    code = compiled(source)
    for step in instructions_in(code) if code is not None else ():
        name = step.argval
        if not isinstance(name, str) or not step.opname.endswith(("_ATTR", "_METHOD", "_NAME")):
            continue
        plain = not name.startswith("_") or name in names.KEPT
        assert plain or name in CLASS_BODY or name in names.READABLE
        if not step.opname.endswith("_NAME"):
            assert name not in names.REFUSED_ATTRIBUTES
            assert name not in CLASS_BODY or name in names.READABLE


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200) | st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join))
def test_any_text_and_any_words(source):
    assert_only_allowed_names(source)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(CORPUS), st.data())
def test_any_mutation_of_a_program(source, data):
    start = data.draw(st.integers(0, len(source)))
    end = data.draw(st.integers(start, min(len(source), start + 30)))
    insert = data.draw(st.one_of(st.sampled_from(SPELLED), st.text(max_size=5)))

    assert_only_allowed_names(source[:start] + insert + source[end:])


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(CORPUS), st.sampled_from(SPELLED), st.data())
def test_a_refused_name_in_any_place_is_refused_or_renamed(source, name, data):
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return
    places = [n for n in ast.walk(tree) if isinstance(n, ast.Name | ast.Attribute | ast.arg)]
    if not places:
        return
    node = data.draw(st.sampled_from(places))
    field = {ast.Name: "id", ast.Attribute: "attr", ast.arg: "arg"}[type(node)]
    setattr(node, field, name)

    assert_only_allowed_names(ast.unparse(tree))
