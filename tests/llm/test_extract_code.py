"""What counts as code in a reply, and what a rejected reply is told."""

import textwrap

import pytest

from promptpo.llm import ReplyRejected, extract_code
from promptpo.types import Reply

CLASS = "class Policy:\n    def act(self, obs):\n        return 0\n"


def code_of(text, finish_reason="stop"):
    return extract_code(Reply(text=text, model="test", finish_reason=finish_reason), "Policy")


def reason_for(text, finish_reason="stop"):
    with pytest.raises(ReplyRejected) as caught:
        code_of(text, finish_reason)
    assert "\n" not in caught.value.reason
    return caught.value.reason


@pytest.mark.parametrize(
    "text",
    [
        f"```python\n{CLASS}```",
        f"```py\n{CLASS}```\n",
        f"```Python title=policy.py\n{CLASS}```",
        f"```\n{CLASS}```",
        f"~~~python\n{CLASS}~~~",
        f"````python\n{CLASS}````",
        f"Here it is:\n\n```python\n{CLASS}```\n\nIt returns 0.",
        "1. The class:\n\n" + textwrap.indent(f"```python\n{CLASS}```", "   "),
        f"```python\n{CLASS}```".replace("\n", "\r\n"),
        f"```python\n{CLASS.rstrip()}```",
        f"<think>A ```python block? class Policy: x</think>\n```python\n{CLASS}```",
        f"I could do\n```python\nclass Policy:\n    x = 1\n```\n</think>\n```python\n{CLASS}```",
        f"```bash\npip install numpy\n```\n```python\n{CLASS}```",
        f"```python\n{CLASS}```\nUse it:\n```python\nprint(Policy().act(None))\n```",
        CLASS,
    ],
    ids=[
        "python", "py", "info string", "no language", "tildes", "long fence", "prose", "indented",
        "crlf", "glued fence", "reasoning", "reasoning without its opening tag", "shell first",
        "usage after", "bare",
    ],
)  # fmt: skip
def test_the_class_is_found(text):
    assert code_of(text) == CLASS


def test_the_last_of_two_versions_counts():
    draft = CLASS.replace("return 0", "return 1")
    assert code_of(f"```python\n{draft}```\nBetter:\n```python\n{CLASS}```") == CLASS


def test_imports_and_helpers_in_blocks_of_their_own_are_joined():
    helper = "def clip(x):\n    return np.clip(x, -1, 1)\n"
    policy = CLASS.replace("return 0", "return clip(obs)")
    text = f"```python\nimport numpy as np\n```\n```python\n{helper}```\n```python\n{policy}```"
    namespace = {}
    exec(code_of(text), namespace)  # noqa: S102 - the test's own code
    assert namespace["Policy"]().act(7) == 1


def test_blocks_that_are_not_needed_stay_out():
    text = f"```python\ndef unused():\n    return 1\n```\n```python\n{CLASS}```"
    assert "unused" not in code_of(text)


def test_code_that_does_not_parse_is_left_to_the_compiler():
    broken = CLASS.replace("return 0", "return (0")
    assert code_of(f"```python\n{broken}```") == broken


def test_a_fence_inside_the_code_does_not_end_it():
    code = 'class Policy:\n    """Format: ```text``` or so."""\n'
    assert code_of(f"```python\n{code}```") == code


@pytest.mark.parametrize("text", ["", "  \n\n", "<think>nothing to say</think>\n"])
def test_an_empty_reply_is_rejected_as_empty(text):
    assert "empty" in reason_for(text)


@pytest.mark.parametrize("finish_reason", ["length", "max_tokens", "MAX_TOKENS"])
def test_a_reply_at_the_token_limit_is_cut_off_even_with_a_whole_block(finish_reason):
    assert "cut off" in reason_for(f"```python\n{CLASS}```\nAnd now", finish_reason)


@pytest.mark.parametrize(
    "text", [f"```python\n{CLASS}", f"```python\n{CLASS}```\nOr:\n```python\nclass Pol"]
)
def test_an_open_fence_is_cut_off(text):
    assert "not closed" in reason_for(text)


def test_open_reasoning_is_cut_off():
    assert "reasoning" in reason_for("<think>First I would ```python\nclass Policy:\n    pass\n```")


def test_a_filtered_reply_says_so():
    assert "withheld" in reason_for("", "content_filter")


def test_prose_alone_has_no_code():
    assert "no code found" in reason_for("I would move the arm towards the goal.")


def test_bare_code_within_prose_is_asked_to_be_fenced():
    assert "not in a fenced block" in reason_for(f"Here is my policy.\n{CLASS}")


def test_code_without_the_class_names_what_was_found():
    reason = reason_for("```python\nclass Controller:\n    pass\n```")
    assert "Controller" in reason
    assert "no class Policy" in reason


def test_a_class_whose_name_only_begins_alike_does_not_count():
    assert "no class Policy" in reason_for("```python\nclass PolicyBase:\n    pass\n```")


@pytest.mark.parametrize("bomb", ["-" * 100_000 + "1", "x" + "(0)" * 50_000, "(" * 10_000])
def test_code_that_breaks_the_parser_is_left_to_the_sandbox(bomb):
    assert bomb in code_of(f"```python\nimport math\n```\n\n```python\n{CLASS}y = {bomb}\n```")


def test_text_that_breaks_the_parser_is_no_code():
    assert "no code" in reason_for("-" * 100_000 + "1")
