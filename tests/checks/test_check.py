"""Every check tells a true spec from one that is wrong in the one thing that it looks at."""

import re

import pytest
from faulty_spec import write
from walk_spec import TEXT

from promptpo.cli import main


def test_a_true_spec_passes_every_check(verdicts):
    found = verdicts()
    assert [f for f in found.values() if f.failed] == []
    assert list(found) == [
        "observation", "owned", "action", "legal actions", "reward", "horizon", "termination",
        "success", "seeds", "test seeds", "prompt", "speed", "reference: random",
        "reference: zero action", "reference: expert",
    ]  # fmt: skip
    assert found["success"].detail.endswith("expert 2 of 2")
    told = found["reference: random"].detail
    assert told.startswith("the spec states no such reference; measured ")
    assert "0 of 10 test starts among 20 starts" in found["test seeds"].detail


@pytest.mark.slow
def test_an_environment_that_ends_its_process_is_a_failure_of_its_spec_only(tmp_path, capsys):
    step = "if action == 1 and self.count == 2: os._exit(3)"
    dying = write(tmp_path / "dying.py", in_step=step)
    whole = write(tmp_path / "whole.py")
    assert main(["check", "--quick", str(dying), str(whole)]) == 1
    out = capsys.readouterr().out
    assert "FAIL  environment             os._exit(3), or exit in C, was called in step\n" in out
    assert "1 of 2 specs" not in out  # the one after it has been played, too
    assert re.search("whole: Room: warm a room.\n.*  ok    observation ", out)


def published(parts):
    """What gives the spec a published form of these parts, one of which may be ``Narrow``."""
    narrow = """class Narrow:
    position: float = field(unit="m", doc="0 in the middle")
    last_step: np.ndarray = field(shape=(1,), high=0.5, doc="of the walker")


SPEC = EnvSpec("""
    return "SPEC = EnvSpec(", f"{narrow}published={{{parts}}},"


#: Check that fails | text of the walk | text in its place | words of the finding.
WRONG = """
observation | high=1.0, doc | high=0.9, doc | last_step[0] reaches 1, above
observation | , doc="of the walker" |  | last_step has no doc
observation | position: float | position: int | but holds fractions
observation | action[0]]) | np.nan]) | a value is not finite
action | in [-1, 1]: how | in [0, 2]: how | the description says [0, 2], but the bounds are [-1, 1]; write these
action | in [-1, 1]: how | in [0, 1]: -1 is impossible; how | the description says [0, 1], but the bounds are [-1, 1]
reference: zero | "zero action": | "zero": | did you mean 'zero action'?
reference: Random | "zero action": | "Random": | did you mean 'random'?
reward | return float(action[0]) | return 2.0 | largest deviation 3 on
reward | return float(action[0]) | return math.nan | not written yet
horizon | return Line() | return gymnasium.wrappers.TimeLimit(Line(), 15) | the environment cuts episodes after 15 steps, the spec states 20
seeds | self.np_random.uniform | np.random.uniform | play differently
seeds | super().reset(seed=seed) | super().reset(seed=0) | all give
seeds | horizon=20 | horizon=20, deterministic=True | but 6 of 6 differ
prompt | in the middle | without earthquake | contains 'earthquake'
prompt | go right along | make() with Line() along | contains 'Line('
reference: expert | Reference(20.0 | Reference(21.0 | but stated 21
reference: zero action | (0.0, 0.0) | (0.0, 0.9) | success 0.9 is stated
episodes | self.seen[0] + action | self.sen[0] + action | sen
"""  # noqa: E501 - a line a case
PUBLISHED = [
    ("published", published('"withheld": ("the way made",)'), "'the way made'"),
    (
        "published",
        published('"title": "W.", "observation": Narrow'),
        "last_step[0] reaches 1, above",
    ),
]


@pytest.mark.slow
def test_what_is_wrong_fails_on_its_line(verdicts):
    cases = [line.split(" | ") for line in WRONG.strip().splitlines()]
    for check, replacement, words in [*((c, (a, b), w) for c, a, b, w in cases), *PUBLISHED]:
        nan = [("import numpy as np", "import math\n\nimport numpy as np")]
        others = nan if "math" in replacement[1] else []
        found = verdicts(replacement, *others, replayed=check == "seeds")
        assert found[check].failed, replacement
        assert words in found[check].detail


def test_a_reference_of_a_name_of_its_own_is_shown_only(verdicts):
    named = "'human expert': 19.0, 'optimum': 20.0, 'random restarts': 3.0, "
    found = verdicts(("references={", f'references={{{named}"random": 0.0, '))
    assert found["reference: human expert"].verdict == "note"
    assert found["reference: human expert"].detail == (
        "stated 19; not measured, as random, zero action, expert are"
    )
    assert found["reference: random restarts"].verdict == "note"
    assert "stated 20" in found["reference: expert"].detail


def test_an_optimum_without_an_expert_is_shown_only(verdicts):
    expert = "    expert=lambda env: lambda raw: np.array([1.0]),\n"
    found = verdicts((expert, ""), ('"expert": Reference(20.0, 1.0)', '"optimum": 20.0'))
    assert found["reference: optimum"].detail == "stated 20; not measured"
    found = verdicts((expert, ""))
    assert found["reference: expert"].detail.endswith("for the spec has no expert")


def test_a_spec_that_does_not_say_what_the_task_is_fails(verdicts):
    docstring = TEXT[: TEXT.index("import gymnasium")]
    found = verdicts((docstring, ""))
    assert found["prompt"].failed
    assert "does not say what the task is; begin " in found["prompt"].detail
    told = verdicts((docstring, '"""Walk: go right along a line."""\n'))["prompt"]
    assert told.verdict == "ok"
    assert "no description but the title" in told.detail


def test_an_environment_that_cannot_be_closed_hides_no_other_failure(verdicts):
    close = "    def close(self):\n        1 / 0\n\n    def step(self, action):"
    found = verdicts(
        ("    def step(self, action):", close), ("return float(action[0])", "return 2.0")
    )
    assert found["reward"].failed
    assert not found["seeds"].failed
    assert "cannot be closed: ZeroDivisionError" in found["close"].detail


@pytest.mark.slow
def test_rare_episodes_are_allowed_for_by_the_stated_deviation(verdicts):
    stated = "Reference(-40.0, 0.0, deviation=90.0)"
    assert not verdicts(("Reference(0.0, 0.0)", stated))["reference: zero action"].failed
    lower = stated.replace("90", "9")
    assert verdicts(("Reference(0.0, 0.0)", lower))["reference: zero action"].failed


def test_the_command_prints_a_table_and_returns_1_on_failure(tmp_path, capsys):
    path = tmp_path / "walk.py"
    path.write_text(TEXT.replace("Reference(20.0", "Reference(21.0"))
    assert main(["check", "--quick", "cartpole", str(path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("cartpole: CartPole: keep a pole upright")
    assert "  ok    reward                  largest deviation 0 on" in "\n".join(lines)
    assert next(line for line in lines if line.startswith("  FAIL")).split()[1] == "reference:"
    assert lines[-1] == "1 of 2 specs are not true: walk"


def test_it_wants_specs_or_all(capsys):
    assert main(["check"]) == 2
    assert main(["check", "--all", "cartpole"]) == 2
    assert capsys.readouterr().err.count("name the specs to check, or give --all") == 2


#: What a true spec may be, though a part of it looks odd: texts replaced, check, its detail's end.
TRUE = (
    # Few starts, which search and test share.
    (
        [("self.np_random.uniform(-1, 1)", "int(self.np_random.integers(30)) / 30")],
        "test seeds",
        "starts",
    ),
    # No chance, as is said.
    (
        [("super().reset(seed=seed)", "super().reset(seed=0)"),
         ("horizon=20", "horizon=20, deterministic=True")],
        "seeds",
        "; 6 seeds give 1 different episode",
    ),
    # Chance that hangs on an action.
    (
        [("self.np_random.uniform(-1, 1)", "0.0"),
         ("self.seen[0] + action[0]", "self.seen[0] + bool(action > .5) * self.np_random.random()"),
         ("horizon=20", "horizon=1")],
        "seeds",
        "different episodes",
    ),
    # A reward in words.
    (
        [("horizon=20", "horizon=20,\n    reward_tolerance=None"), ("[0])\n", "[0]) + 1\n")],
        "reward",
        "transitions",
    ),
    # A reward of ones and zeros.
    (
        [("gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float64)", "gymnasium.spaces.MultiBinary(2)"),
         ("An array of 1 float in [-1, 1]", "An array of 2 ints, 0 or 1"),
         ("np.array([1.0])", "np.array([1, 1])")],
        "reward",
        "1e-09 allowed",
    ),
)  # fmt: skip


def test_what_is_odd_and_true_passes(verdicts):
    for replacements, check, end in TRUE:
        found = verdicts(*replacements, replayed=check == "seeds")[check]
        assert not found.failed, found
        assert found.detail.endswith(end)
