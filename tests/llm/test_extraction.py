"""What counts as code in a reply, and what a rejected reply is told."""

import textwrap
import time

import pytest

from promptpo.llm import ReplyRejected, extract_code
from promptpo.llm.messages import TOO_LARGE, Reply

CLASS = "class Policy:\n    def act(self, obs):\n        return 0\n"


def code_of(text, finish_reason="stop"):
    return extract_code(Reply(text=text, model="test", finish_reason=finish_reason), "Policy")


def reason_for(text, finish_reason="stop"):
    with pytest.raises(ReplyRejected) as caught:
        code_of(text, finish_reason)
    assert "\n" not in caught.value.reason
    return caught.value.reason


DOCUMENTED = CLASS.replace(
    "    def act", '    """Use:\n\n    ```python\n    Policy()\n    ```\n    """\n\n    def act', 1
)
ABOVE = f'"""Use:\n```\nPolicy()\n```\n"""\n{CLASS}'

#: Replies, whatever fences stand around the class and in it, and the class.
FOUND = [
    (f"```python\n{CLASS}```", CLASS),
    (f"```py\n{CLASS}```\n", CLASS),
    (f"```Python title=policy.py\n{CLASS}```", CLASS),
    (f"```\n{CLASS}```", CLASS),
    (f"~~~python\n{CLASS}~~~", CLASS),
    (f"````python\n{CLASS}````", CLASS),
    (f"Here it is:\n\n```python\n{CLASS}```\n\nIt returns 0.", CLASS),
    ("1. The class:\n\n" + textwrap.indent(f"```python\n{CLASS}```", "   "), CLASS),
    (f"```python\n{CLASS}```".replace("\n", "\r\n"), CLASS),
    (f"```python\n{CLASS.rstrip()}```", CLASS),
    (f"<think>A ```python block? class Policy: x</think>\n```python\n{CLASS}```", CLASS),
    (f"I could\n```python\nclass Policy:\n    x = 1\n```\n</think>\n```python\n{CLASS}```", CLASS),
    (f"```bash\npip install numpy\n```\n```python\n{CLASS}```", CLASS),
    (f"```python\n{CLASS}```\nUse it:\n```python\nprint(Policy().act(None))\n```", CLASS),
    (CLASS, CLASS),
    (f"Here it is: ```python\n{CLASS}```\nThat is all.", CLASS),
    (f"Here it is: ```\n{CLASS}```", CLASS),
    (f"1. ```python\n{textwrap.indent(CLASS, '   ')}   ```", CLASS),
    (f"Here: ~~~python\n{CLASS}~~~\nUse:\n~~~python\nPolicy()\n~~~", CLASS),
    (f"```python\n{DOCUMENTED}```\nThat is all.", DOCUMENTED),
    (f"```python\n{ABOVE}```", ABOVE),
    (f"Here it is: ```py\n{ABOVE}```".replace("\n", "\r\n"), ABOVE),
    (f"~~~~python\n{DOCUMENTED}~~~~", DOCUMENTED),
    (f"````markdown\nThe class:\n```python\n{CLASS}```\n````", CLASS),
    (f"`````\n````md\n```python\n{CLASS}```\n````\n`````", CLASS),
    (f"```python\n{CLASS}```\n```\n", CLASS),
    (f"```python\n{CLASS}```\n```\nHope this helps!", CLASS),
    (f"Here it is: ```python\n{CLASS.rstrip()}```\nThat is all.", CLASS),
    (textwrap.indent(f'```python\n{CLASS}x = """\n', "  ") + 'y"""\n  ```',
     f'{CLASS}x = """\ny"""\n'),
]  # fmt: skip


def test_the_class_is_found():
    for text, code in FOUND:
        assert code_of(text) == code, text


def test_the_last_version_counts_with_the_helpers_that_it_needs_and_no_others():
    draft = CLASS.replace("return 0", "return 1")
    unused = "```python\ndef unused():\n    return 1\n```\n"
    assert code_of(f"{unused}```python\n{draft}```\nBetter:\n```python\n{CLASS}```") == CLASS
    helper = "def clip(x):\n    return np.clip(x, -1, 1)\n"
    policy = CLASS.replace("return 0", "return clip(obs)")
    text = f"```python\nimport numpy as np\n```\n```python\n{helper}```\n```python\n{policy}```"
    namespace = {}
    exec(code_of(text), namespace)  # noqa: S102 - the test's own code
    assert namespace["Policy"]().act(7) == 1


def test_code_that_does_not_parse_is_left_to_the_compiler():
    signs = "return 0  # \N{WOMAN}\u200d\N{PERSONAL COMPUTER} θ 東京"
    for code in (
        CLASS.replace("return 0", "return (0"),
        CLASS.replace("return 0", signs),  # joiners and signs are no control characters
        'class Policy:\n    """Format: ```text``` or so."""\n',
    ):
        assert code_of(f"```python\n{code}```") == code
    for bomb in ("-" * 90_000 + "1", "x" + "(0)" * 30_000, "(" * 10_000):
        text = f"```python\nimport math\n```\n\n```python\n{CLASS}y = {bomb}\n```"
        assert bomb in code_of(text)
    assert "no code" in reason_for("-" * 100_000 + "1")


@pytest.mark.parametrize(
    ("text", "finish_reason", "complaint"),
    [
        ("", "stop", "empty"),
        ("  \n\n", "stop", "empty"),
        ("<think>nothing to say</think>\n", "stop", "empty"),
        (f"```python\n{CLASS}```\nAnd now", "length", "cut off"),
        (f"```python\n{CLASS}```\nAnd now", "MAX_TOKENS", "cut off"),
        (f"```python\n{CLASS}", "stop", "not closed"),
        (f"```python\n{CLASS}```\nOr:\n```python\nclass Pol", "stop", "not closed"),
        ("<think>First I would ```python\nclass Policy:\n    pass\n```", "stop", "reasoning"),
        ("", "content_filter", "withheld"),
        ("I would move the arm towards the goal.", "stop", "no code found"),
        (f"Here is my policy.\n{CLASS}", "stop", "not in a fenced block"),
        ("```python\nclass Controller:\n    pass\n```", "stop", "Controller but no class Policy"),
        ("```python\nclass PolicyBase:\n    pass\n```", "stop", "no class Policy"),
        ("", TOO_LARGE, "more than 32 MiB"),
    ],
)
def test_a_reply_without_a_candidate_is_rejected_with_a_reason(text, finish_reason, complaint):
    assert complaint in reason_for(text, finish_reason)


def test_code_that_does_not_show_all_that_it_holds_is_refused_with_its_line():
    for hidden in ("\x1b", "\r", "\x00", "\u202e", "\u2066", "\u200b", "\ud800", "\u2028"):
        reason = reason_for("```python\n" + CLASS.replace("0\n", f"'a{hidden}b'\n") + "```")
        assert f"line 3: the code holds the control character U+{ord(hidden):04X}" in reason


def test_only_a_block_that_does_not_end_is_cut_off():
    for text in (f"Here it is: ```python\n{CLASS}", f"```python\n{DOCUMENTED}"):
        assert "cut off" in reason_for(text)
    too_many = (
        "I would write ```act``` first.\n```\n",
        "```\nmove left\n```\n```\nand right",
        "``` ",
    )
    for text in too_many:
        assert "cut off" not in reason_for(text)


MANY = "class B:\n    x = 1\n" * 40_000


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("x" * 3_000_000, "the reply has 3,000,000 characters"),
        (f"```python\n{CLASS}#{'x' * 100_000}\n```", "the code has 100,0"),
        ("x = 1\n" * 20_000, "no code found"),
        (f"```python\n{MANY}```", "defines B but no class Policy"),
    ],
    ids=["reply", "code", "bare", "many classes"],
)
def test_what_is_far_too_long_is_refused_in_a_short_line(text, complaint):
    reason = reason_for(text)
    assert complaint in reason
    assert len(reason) < 300


@pytest.mark.parametrize(
    "text",
    [
        "<think></think>" * 60_000,
        "```" + " " * 900_000 + "`\n",
        "".join(f"```\nimport m{i}\n```\n" for i in range(30_000)),
        "`" * 900_000 + "\n",
        "```\n'" + '\\"' * 400_000 + "\n```\n",
        '```\nx = """\n```\n' * 60_000,
        "```\n" * 200_000,
    ],
    ids=["tags", "spaces", "blocks", "backticks", "escapes", "open strings", "fences"],
)
def test_a_megabyte_before_the_class_takes_no_time(text):
    started = time.process_time()
    assert code_of(f"{text}```python\n{CLASS}```").endswith(CLASS)
    assert time.process_time() - started < 2
